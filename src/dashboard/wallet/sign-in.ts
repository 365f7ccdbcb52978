// Signs in with a wallet of the browser.
import { ask, type Reply, ServiceError } from '../api.ts';
import { sessions } from '../queries.ts';
import { errorCodeOf, type Wallet, WalletError, walletErrorOf } from './wallets.ts';

export type SignInStep = 'connecting' | 'signing' | 'verifying';

type Provider = Pick<Wallet['provider'], 'request'>;

/**
 * Signs in with a wallet (ERC-4361). Rejects with a WalletError that says what happened and what to do, or with the
 * service's refusal. `signal` ends the wait for a wallet that does not answer.
 */
export async function signIn(
  wallet: Wallet,
  onStep: (step: SignInStep) => void,
  signal: AbortSignal,
): Promise<Reply<'POST /api/auth/verify'>> {
  const provider = cancelable(wallet.provider, signal);
  onStep('connecting');
  const address = await connect(provider);
  const chainId = Number(await provider.request({ method: 'eth_chainId' }));
  const { message } = await ask('POST /api/auth/challenge', { body: { address, chainId } });
  const age = startWatch();
  onStep('signing');
  const signature = await sign(provider, address, message);
  onStep('verifying');
  await refuseSwitch(provider, address);
  if (age() > lifetimeOf(message)) {
    throw new WalletError(
      'The message to sign has expired: it is good for ten minutes. Start again.',
    );
  }
  try {
    const reply = await ask('POST /api/auth/verify', { body: { address, signature, message } });
    sessions.postMessage(reply.wallet);
    return reply;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'invalid_signature') {
      throw new WalletError(
        `The signature is not from ${short(address)}, or its message is no longer open. The wallet may have signed with another account: select ${short(address)} in it, and try again.`,
      );
    }
    throw error;
  }
}

type Purpose = 'export_account' | 'delete_account';

/** What the wallet signs again to export or delete its account. Rejects as `signIn`. */
export async function signAgain(wallet: Wallet | undefined, owner: string, purpose: Purpose) {
  const { provider, address } = await ownerWallet(wallet, owner);
  const { message } = await ask('POST /api/auth/challenge', { body: { address, purpose } });
  return { message, signature: await sign(provider, address, message) };
}

/** The signature of the account's wallet. Rejects as `signIn`. */
export async function signText(wallet: Wallet | undefined, owner: string, text: string) {
  const { provider, address } = await ownerWallet(wallet, owner);
  return sign(provider, address, text);
}

async function ownerWallet(wallet: Wallet | undefined, owner: string) {
  if (wallet === undefined) throw new WalletError('No wallet of this browser signed in here.');
  const { provider } = wallet;
  const address = await connect(provider);
  if (address.toLowerCase() !== owner.toLowerCase()) {
    throw new WalletError(`Select ${short(owner)} in the wallet, and try again.`);
  }
  return { provider, address };
}

/** The provider, whose requests are rejected when `signal` aborts. The wallet may still show them. */
function cancelable(provider: Provider, signal: AbortSignal): Provider {
  const canceled = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () =>
      reject(new WalletError('You canceled the sign-in. Nothing was signed in.')),
    );
  });
  canceled.catch(() => {});
  const request = (asked: Parameters<Provider['request']>[0]) =>
    signal.aborted ? canceled : Promise.race([provider.request(asked as never), canceled]);
  return { request: request as unknown as Provider['request'] };
}

async function connect(provider: Provider): Promise<`0x${string}`> {
  const [address] = await unlessRejected(
    provider.request({ method: 'eth_requestAccounts' }),
    'The wallet was not connected: its request was closed. Nothing was signed.',
  );
  if (address !== undefined) return address;
  throw new WalletError('The wallet shares no account. Unlock it, and try again.');
}

async function sign(provider: Provider, address: `0x${string}`, message: string) {
  const bytes = new TextEncoder().encode(message);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return unlessRejected(
    provider.request({ method: 'personal_sign', params: [`0x${hex}`, address] }),
    'The signature was rejected in the wallet. Signing is free and sends no transaction; try again when ready.',
  );
}

async function refuseSwitch(provider: Provider, address: string): Promise<void> {
  const [now] = await provider.request({ method: 'eth_accounts' });
  if (now === undefined || now.toLowerCase() === address.toLowerCase()) return;
  const message = `The wallet switched from ${short(address)} to ${short(now)} while it was signing. Select the account that you want, and try again.`;
  throw new WalletError(message);
}

/** What the error codes of EIP-1193 and of MetaMask mean here. */
const refusals = new Map([
  [-32002, 'The wallet has a request open already. Open the wallet and answer it.'],
  [4100, 'The wallet does not let this account sign here. Connect it, and try again.'],
]);

/** The answer of a wallet. `rejected`: the sentence for a request that the person refused. */
async function unlessRejected<Answer>(answer: Promise<Answer>, rejected: string): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    const refusal = refusals.get(errorCodeOf(error) ?? 0);
    throw refusal === undefined ? walletErrorOf(error, rejected) : new WalletError(refusal);
  }
}

/** Returns the ms since now. The first clock stops while the computer sleeps; the second can be set back. */
function startWatch(): () => number {
  const [steady, wall] = [performance.now(), Date.now()];
  return () => Math.max(performance.now() - steady, Date.now() - wall);
}

/** Lifetime in ms by the message's own times, so that this computer's clock does not matter. */
function lifetimeOf(message: string): number {
  const at = (name: string) =>
    Date.parse(new RegExp(`^${name}: (.+)$`, 'm').exec(message)?.[1] ?? '');
  const lifetime = at('Expiration Time') - at('Issued At');
  return Number.isNaN(lifetime) ? Number.POSITIVE_INFINITY : lifetime;
}

const short = (address: string) => `${address.slice(0, 6)}…${address.slice(-4)}`;

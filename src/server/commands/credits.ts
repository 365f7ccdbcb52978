// `svc-server credits`: grants credits to an account, and shows its balance.
import { validate } from 'uuid';
import { newId } from '../../base/new-id.ts';
import { SvcError } from '../../base/svc-error.ts';
import { checksumAddress } from '../../chain/chain.ts';
import type { Balance } from '../ports/account.ts';
import { withStore } from './database.ts';

export interface GrantOptions {
  anchors: number;
  gasWei: bigint;
  note: string;
  id?: string;
  json?: boolean;
}

/** `svc-server credits grant`: grants credits, also while the server runs. */
export async function grantCredits(
  environment: NodeJS.ProcessEnv,
  address: string,
  options: GrantOptions,
): Promise<void> {
  const id = options.id?.toLowerCase() ?? newId();
  if (!validate(id)) throw new SvcError('usage', '--id must be a UUID.');
  const wallet = walletOf(address);
  const { anchors, gasWei, note } = options;
  if (anchors === 0 && gasWei === 0n) {
    throw new SvcError('usage', 'Say what to grant: --anchors, --gas-wei, or both.');
  }
  const { outcome, balance } = await withStore(environment, options, (store) =>
    store
      .grantCredits({ id, wallet, anchors, gasWei, note, now: Date.now() })
      .catch((error: unknown) => {
        throw withRetryHint(error, id);
      }),
  );
  if (!options.json) {
    process.stderr.write(
      outcome === 'repeated'
        ? `Grant ${id} was made before; nothing was added.\n`
        : `Granted as ${id}.\n`,
    );
  }
  print(balance, { ...(options.json ? { json: true } : {}), more: { id, outcome } });
}

/** `svc-server credits show`: prints the balance of an account. */
export async function showCredits(
  environment: NodeJS.ProcessEnv,
  address: string,
  options: { json?: boolean },
): Promise<void> {
  const wallet = walletOf(address);
  const balance = await withStore(environment, options, (store) => store.getBalance(wallet));
  if (balance === null) {
    throw new SvcError('not_found', `No account of ${wallet} here.`, {
      hint: 'An account opens at the first sign-in, or with credits grant.',
    });
  }
  print(balance, { ...options, more: {} });
}

/** The error of a grant whose outcome is unknown, with a hint to retry under the same id. */
function withRetryHint(error: unknown, id: string): unknown {
  if (!(error instanceof SvcError) || error.code !== 'storage_unavailable') return error;
  return new SvcError(error.code, error.message, {
    hint: `Run it again with --id ${id}: what was granted is not granted twice.`,
    retryable: error.retryable,
    cause: error,
  });
}

function walletOf(address: string): string {
  const wallet = checksumAddress(address);
  if (wallet === null) throw new SvcError('usage', `${address} is not a wallet address.`);
  return wallet;
}

function print(
  { wallet, anchorQuota, gasCreditWei }: Balance,
  { json, more }: { json?: boolean; more: Record<string, unknown> },
): void {
  const fields = { wallet, anchor_quota: anchorQuota, gas_credit_wei: String(gasCreditWei) };
  process.stdout.write(
    json
      ? `${JSON.stringify({ ...more, ...fields })}\n`
      : Object.entries(fields)
          .map(([name, value]) => `${name.padEnd(14)}  ${value}\n`)
          .join(''),
  );
}

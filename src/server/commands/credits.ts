// `svc-server credits`: grants credits to an account, and shows its balance.
import { v7 as newId, validate } from 'uuid';
import { SvcError } from '../../base/svc-error.ts';
import { checksumAddress, etherText } from '../../chain/chain.ts';
import { operator, viewBalance } from '../core/account.ts';
import type { Balance } from '../ports/account.ts';
import { withStore } from './database.ts';
import { linesOf, type Output, print } from './print.ts';

interface GrantOptions extends Output {
  anchors: number;
  gasWei: bigint;
  /** In wei. */
  gasEth?: bigint;
  note: string;
  id?: string;
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
  const { anchors, note, gasWei: inWei, gasEth: gasWei = inWei } = options;
  if (anchors === 0 && gasWei === 0n) {
    throw new SvcError('usage', 'A grant needs --anchors, --gas-wei or --gas-eth above 0.');
  }
  const grant = { id, wallet, anchors, gasWei, note, now: Date.now() };
  const { outcome, balance } = await withStore(environment, options, (store) =>
    store
      .grantCredits(grant, operator('credits grant'))
      .catch((error) => Promise.reject(withRetryHint(error, id))),
  );
  if (!options.json) {
    process.stderr.write(
      outcome === 'repeated'
        ? `Grant ${id} already exists; nothing was added.\n`
        : `Created grant ${id}.\n`,
    );
  }
  printBalance(balance, options, { id, outcome });
}

/** `svc-server credits show`: prints the balance of an account. */
export async function showCredits(
  environment: NodeJS.ProcessEnv,
  address: string,
  options: Output,
): Promise<void> {
  const wallet = walletOf(address);
  const balance = await withStore(environment, options, (store) => store.getBalance(wallet));
  if (balance === null) {
    throw new SvcError('not_found', `The wallet ${wallet} has no account.`, {
      hint: 'Sign in with the wallet, or run `svc-server credits grant` to create its account.',
    });
  }
  printBalance(balance, options);
}

/** The error of a grant whose outcome is unknown, with a hint to retry under the same id. */
function withRetryHint(error: unknown, id: string): unknown {
  if (!(error instanceof SvcError) || error.code !== 'storage_unavailable') return error;
  return new SvcError(error.code, error.message, {
    hint: `Run the command again with --id ${id}, which never grants twice.`,
    retryable: error.retryable,
    cause: error,
  });
}

/** Throws `usage`. */
export function walletOf(address: string): string {
  const wallet = checksumAddress(address);
  if (wallet === null) {
    throw new SvcError('usage', '<wallet> must be an address: 0x and 40 hex digits.');
  }
  return wallet;
}

function printBalance(balance: Balance, options: Output, more: object = {}): void {
  const fields = viewBalance(balance);
  const wei = `${balance.gasCreditWei} (${etherText(balance.gasCreditWei)})`;
  print({ ...more, ...fields }, linesOf({ ...fields, gas_credit_wei: wei }), options);
}

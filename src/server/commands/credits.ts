// `svc-server credits`: grants credits to an account, takes them back, and shows its balance.
import { v7 as newId, validate } from 'uuid';
import type { Field } from '../../base/output/fields.ts';
import { SvcError } from '../../base/svc-error.ts';
import { checksumAddress, etherText, inEther } from '../../chain/chain.ts';
import { operator, viewBalance } from '../core/account.ts';
import type { Balance } from '../ports/account.ts';
import { withStore } from './database.ts';
import { type Output, outputOf } from './print.ts';

interface GrantOptions extends Output {
  anchors: number;
  gasWei: bigint;
  /** In wei. */
  gasEth?: bigint;
  note: string;
  id?: string;
  /** The wallet may have no account. */
  new?: boolean;
}

/** `svc-server credits grant`: grants credits, also while the server runs. */
export const grantCredits = changeBy('grant');

/** `svc-server credits revoke`: takes credits back, also while the server runs. */
export const revokeCredits = changeBy('revoke');

function changeBy(command: 'grant' | 'revoke') {
  return async (
    environment: NodeJS.ProcessEnv,
    address: string,
    { anchors, gasWei: inWei, gasEth: gasWei = inWei, ...options }: GrantOptions,
  ): Promise<void> => {
    const id = options.id?.toLowerCase() ?? newId();
    if (!validate(id)) throw new SvcError('usage', '--id must be a UUID.');
    const wallet = walletOf(address);
    if (anchors === 0 && gasWei === 0n) {
      throw new SvcError('usage', 'Name an amount above 0: --anchors, --gas-wei or --gas-eth.');
    }
    const grant = { id, wallet, anchors, gasWei, note: options.note, now: Date.now() };
    const { outcome, balance } = await withStore(environment, options, async (store) => {
      if (!options.new && (await store.getBalance(wallet)) === null) throw unknown(wallet, command);
      return store[`${command}Credits`](grant, operator(`credits ${command}`)).catch((error) =>
        Promise.reject(withRetryHint(error, id)),
      );
    });
    if (!options.json) {
      const done = command === 'grant' ? `Created grant ${id}.` : `Revoked credits, id ${id}.`;
      const repeated = `The id ${id} was already used for this ${command}; nothing was changed.`;
      process.stderr.write(`${outcome === 'repeated' ? repeated : done}\n`);
    }
    await printBalance(balance, options, { id, outcome });
  };
}

function unknown(wallet: string, command: 'grant' | 'revoke' | 'show'): SvcError {
  return new SvcError('not_found', `The wallet ${wallet} has no account.`, {
    hint:
      command === 'grant'
        ? 'Check the address. To create an account for this wallet, add --new.'
        : 'Check the address: svc-server accounts list prints all accounts.',
  });
}

/** `svc-server credits show`: prints the balance of an account. */
export async function showCredits(
  environment: NodeJS.ProcessEnv,
  address: string,
  options: Output,
): Promise<void> {
  const wallet = walletOf(address);
  const balance = await withStore(environment, options, (store) => store.getBalance(wallet));
  if (balance === null) throw unknown(wallet, 'show');
  await printBalance(balance, options);
}

/** The error of a change: with amounts also in ETH, and, if its outcome is unknown, a hint to retry under the same id. */
function withRetryHint(error: unknown, id: string): unknown {
  if (!(error instanceof SvcError)) return error;
  if (error.code !== 'storage_unavailable') {
    error.message = error.message.replace(
      /(\d+) wei/,
      (all, wei) => `${all} (${inEther(BigInt(wei))})`,
    );
    return error;
  }
  return new SvcError(error.code, error.message, {
    hint: `Run the command again with --id ${id}, which changes nothing twice.`,
    retryable: error.retryable,
    cause: error,
  });
}

/** Throws `usage`. */
export function walletOf(address: string): string {
  const wallet = checksumAddress(address);
  if (wallet === null) {
    throw new SvcError('usage', '<wallet> must be an address: 0x and 40 hex digits.', {
      hint: 'Upper and lower case are a checksum: check the address for typing errors.',
    });
  }
  return wallet;
}

async function printBalance(balance: Balance, options: Output, more: object = {}): Promise<void> {
  const fields = viewBalance(balance);
  await printRecord({ ...more, ...fields }, fields, options);
}

/** Prints a record; on a terminal, its amounts also in ETH. `answer`: the object of --json. */
export async function printRecord(
  answer: object,
  fields: Readonly<Record<string, Field[1]>>,
  options: Output,
): Promise<void> {
  const output = outputOf(options);
  const shown = Object.entries(fields).map(([name, value]): Field => {
    const isAmount = output.isTerminal && /_wei(_|$)/.test(name);
    return [name, isAmount ? `${value} (${etherText(BigInt(value ?? 0))})` : value];
  });
  await output.record(answer, shown);
}

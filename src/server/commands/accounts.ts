// `svc-server accounts`: lists accounts; shows, suspends, resumes, exports and deletes one.
import type { Column } from '../../base/output/output.ts';
import { SvcError } from '../../base/svc-error.ts';
import { inEther } from '../../chain/chain.ts';
import type { AccountUsage, Refusals } from '../../protocol/operator-api.ts';
import { readConfig } from '../config.ts';
import {
  deleteAccount,
  listAccounts,
  operator,
  showAccount,
  suspendAccount,
} from '../core/account.ts';
import { readOperatorToken } from '../http/operator-api.ts';
import { printRecord, walletOf } from './credits.ts';
import { withStore } from './database.ts';
import { type Output, print, printTable } from './print.ts';

/** What `accounts top` sorts by: figures of the database, and `refusals` of the running server. */
const figures = {
  bytes: 'stored_bytes',
  queue: 'queued_proofs',
  anchors: 'anchors_30_days',
  returned: 'returned_30_days',
  uncovered: 'uncovered_wei_30_days',
} as const;

type Figure = keyof typeof figures | 'refusals';

const TOP = 20;

const columns: readonly Column<AccountUsage>[] = [
  { title: 'wallet', value: ({ wallet }) => wallet },
  { title: 'quota', value: (account) => account.anchor_quota },
  {
    title: 'gas',
    value: ({ gas_credit_wei: wei }) => wei,
    shown: (one) => inEther(BigInt(one.gas_credit_wei)),
  },
  { title: 'robots', value: ({ robots }) => robots },
  { title: 'bytes', value: (account) => account.stored_bytes },
  { title: 'queued', value: (account) => account.queued_proofs },
  { title: 'anchors', value: (account) => account.anchors_30_days },
  { title: 'returned', value: (account) => account.returned_30_days },
  {
    title: 'uncovered',
    value: (account) => account.uncovered_wei_30_days,
    shown: (account) => inEther(BigInt(account.uncovered_wei_30_days)),
  },
  { title: 'suspended', value: (account) => account.suspended_at, isTime: true },
  { title: 'reason', value: (account) => account.suspension_reason, shrinks: true },
];

const refusalColumns: readonly Column<Refusals['items'][number]>[] = [
  { title: 'caller', value: ({ caller }) => caller },
  { title: 'refused', value: ({ refused }) => refused },
];

/** `svc-server accounts list`: prints every account, in the order of wallets. */
export async function list(environment: NodeJS.ProcessEnv, options: Output): Promise<void> {
  await printTable(await readAll(environment, options), columns, options);
}

/** `svc-server accounts top`: prints the largest accounts by one figure. */
export async function top(
  environment: NodeJS.ProcessEnv,
  { by, ...options }: Output & { by: Figure },
): Promise<void> {
  if (by === 'refusals') {
    return printTable((await readRefusals(environment)).items, refusalColumns, options);
  }
  const figure = figures[by];
  const accounts = (await readAll(environment, options)).filter((one) => Number(one[figure]) > 0);
  accounts.sort((a, b) => Number(b[figure]) - Number(a[figure]));
  await printTable(accounts.slice(0, TOP), columns, options);
}

/** `svc-server accounts show`. */
export async function show(environment: NodeJS.ProcessEnv, address: string, options: Output) {
  const wallet = walletOf(address);
  const account = await withStore(environment, options, (store, clock) =>
    showAccount(store, wallet, clock.now()),
  );
  await printRecord(account, account, options);
}

/** `svc-server accounts suspend`, also while servers run. */
export const suspend = changeTo(true, 'accounts suspend');

/** `svc-server accounts resume`, also while servers run. */
export const resume = changeTo(false, 'accounts resume');

function changeTo(isSuspended: boolean, command: string) {
  return async (
    environment: NodeJS.ProcessEnv,
    address: string,
    { reason = null, ...options }: Output & { reason?: string | null },
  ): Promise<void> => {
    const change = { isSuspended, reason, by: operator(command) };
    const wallet = walletOf(address);
    const account = await withStore(environment, options, (store) =>
      suspendAccount(store, wallet, change),
    );
    await printRecord(account, account, options);
  };
}

/** `svc-server accounts export`: prints JSON lines, as `svc account export`. */
export async function exportLines(environment: NodeJS.ProcessEnv, address: string): Promise<void> {
  const wallet = walletOf(address);
  const { exportOf } = await import('./export-account.ts');
  await withStore(environment, { json: true }, async (store, clock) => {
    await showAccount(store, wallet, clock.now());
    const lines = exportOf(readConfig(environment), store, wallet);
    for await (const line of lines) process.stdout.write(line);
  });
}

/** `svc-server accounts delete`, also while servers run. */
export async function remove(environment: NodeJS.ProcessEnv, address: string, options: Output) {
  const wallet = walletOf(address);
  await withStore(environment, options, async (store, clock) => {
    await deleteAccount({ store, clock }, wallet);
    while (await store.deleteTraces(wallet, TRACES_PER_COMMIT)) {}
  });
  print({ wallet, deleted: true }, [`The data of ${wallet} is deleted.`], options);
}

const TRACES_PER_COMMIT = 500;

function readAll(environment: NodeJS.ProcessEnv, options: Output): Promise<AccountUsage[]> {
  return withStore(environment, options, async (store, clock) => {
    return (await listAccounts(store, clock.now(), { limit: String(2 ** 31) })).items;
  });
}

/** Asks the operator API of the running server, which alone knows them. */
async function readRefusals(environment: NodeJS.ProcessEnv): Promise<Refusals> {
  const { operator: api } = readConfig(environment);
  if (api === null) {
    throw new SvcError('usage', 'Only the running server knows the refusals.', {
      hint: 'Set SVC_OPERATOR_LISTEN and SVC_OPERATOR_TOKEN_FILE, for the server and for this command.',
    });
  }
  const token = await readOperatorToken(api.tokenFile);
  const { Agent, request } = await import('undici');
  const isSocket = api.address.startsWith('/');
  const dispatcher = new Agent(isSocket ? { connect: { socketPath: api.address } } : {});
  try {
    const reply = await request(`http://${isSocket ? 'localhost' : api.address}/refusals`, {
      headers: { authorization: `Bearer ${token}` },
      dispatcher,
    }).catch((cause: unknown) => {
      throw new SvcError('server_unreachable', `No server answers at ${api.address}.`, { cause });
    });
    if (reply.statusCode === 200) return (await reply.body.json()) as Refusals;
    throw new SvcError('server_unreachable', `The server answered ${reply.statusCode}.`);
  } finally {
    await dispatcher.destroy();
  }
}

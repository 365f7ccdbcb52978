/** Kills of the server during grants, suspensions, exports and deletions of accounts; afterwards nothing is half done. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { type Client, createClient } from '../../../src/client/client.ts';
import type { AccountUsage } from '../../../src/protocol/operator-api.ts';
import type { Answer } from '../../../src/protocol/routes.ts';
import { freePort } from '../../support/free-port.ts';
import { startPostgres } from '../../support/postgres.ts';
import { run } from '../../support/programs.ts';
import {
  prepareServer,
  robotClient,
  type StartingServer,
  type WaitingServer,
} from '../../support/server-process.ts';
import { createDatabase } from '../../support/temporary-database.ts';
import { waitFor } from '../../support/wait-for.ts';
import { type Random, randomOf } from '../random.ts';

export const operations = ['grant', 'suspend', 'export', 'delete'] as const;
export type Operation = (typeof operations)[number];

export interface OperatorReport {
  store: string;
  kills: Record<Operation, number>;
  /** Operations that had ended when the server was killed, or whose call was repeated. */
  ended: number;
  repeated: number;
  violations: string[];
}

/** Where nothing listens: the campaign anchors nothing. */
const NO_CHAIN = 'http://127.0.0.1:9';
const TOKEN = 'token-of-the-operator-campaign';

/** Calls of the store that an operation makes, and how often at most. */
const points: Record<Operation, Readonly<Record<string, number>>> = {
  grant: { 'grantCredits:before': 1, 'grantCredits:after': 1 },
  suspend: { 'suspendAccount:before': 1, 'suspendAccount:after': 1 },
  export: {
    'spendChallenge:after': 1,
    'listRobots:after': 1,
    'listTasks:before': 1,
    'getTask:after': 6,
    'listLedger:after': 1,
    'recordExport:before': 1,
    'recordExport:after': 1,
  },
  delete: {
    'beginDeletion:before': 1,
    'beginDeletion:after': 1,
    'deleteRobot:before': 2,
    'deleteRobot:after': 2,
    'deleteFleet:after': 1,
    'endDeletion:before': 1,
    'endDeletion:after': 1,
  },
};

/** Longest wait before a kill at an instant, in ms: about as long as the operation takes. */
const INSTANT_MS: Record<Operation, number> = { grant: 12, suspend: 12, export: 60, delete: 90 };

const ROBOTS = 2;
const TASKS = 3;

type ExportLine = Answer<'exportAccount'>['body'];

interface Account {
  wallet: string;
  owner: Client;
  apiKey: string;
  sign: (message: string) => Promise<`0x${string}`>;
}

/** Kills the server `kills` times during each operation: half at a call of the store, half at any instant. */
export async function performOperator(
  store: 'sqlite' | 'postgres',
  kills: number,
  seed: string,
  onRound: (report: OperatorReport) => void = () => {},
): Promise<OperatorReport> {
  const site = await openSite(store);
  const random = randomOf(`${seed} ${store}`);
  const report = { kills: { grant: 0, suspend: 0, export: 0, delete: 0 }, ended: 0, repeated: 0 };
  const violations: string[] = [];
  try {
    for (let i = 0; i < kills; i += 1) {
      for (const operation of random.shuffled(operations)) {
        const context = { site, random, violations: [] as string[] };
        const ended = await perform[operation](context, `${operation} ${i}`);
        report.kills[operation] += 1;
        if (ended) report.ended += 1;
        else report.repeated += 1;
        violations.push(...context.violations);
      }
      onRound({ store, ...report, violations });
    }
    await site.end();
    const { stdout, stderr, exitCode } = await site.run('check');
    if (exitCode !== 0) violations.push(`check: ${stdout}${stderr}`);
  } finally {
    await site.close();
  }
  return { store, ...report, violations };
}

interface Context {
  site: Site;
  random: Random;
  violations: string[];
}

/** Each resolves with whether the operation ended before the kill. Then everything has been checked. */
const perform: Record<Operation, (context: Context, name: string) => Promise<boolean>> = {
  async grant({ site, violations, random }, name) {
    const kill = await prepareKill('grant', site, random);
    const { wallet, owner } = await site.makeAccount();
    const grant = { id: randomUUID(), anchors: random.between(1, 99), note: name };
    const give = () => site.ask('POST', `/accounts/${wallet}/grants`, grant);

    const ended = await kill(give);

    await site.insist(give);
    const { anchor_quota: quota } = await site.accountOf(wallet);
    if (quota !== grant.anchors) violations.push(`${name}: ${quota} of ${grant.anchors} anchors`);
    expectEntries(await kindsOf(owner), { credits_granted: 1 }, name, violations);
    return ended;
  },

  async suspend({ site, violations, random }, name) {
    const kill = await prepareKill('suspend', site, random);
    const { wallet, owner, apiKey } = await site.makeAccount();
    const suspend = () => site.ask('POST', `/accounts/${wallet}/suspend`, { reason: name });

    const ended = await kill(suspend);

    await site.insist(suspend);
    const claim = robotClient(site.url(), apiKey).call('createTask', { body: { title: 'More' } });
    const code = await claim.then(
      () => 'claimed',
      (error) => error.code,
    );
    if (code !== 'account_suspended') violations.push(`${name}: a claim got ${code}`);
    expectEntries(await kindsOf(owner), { account_suspended: 1 }, name, violations);
    return ended;
  },

  async export({ site, violations, random }, name) {
    const kill = await prepareKill('export', site, random);
    const account = await site.makeAccount();
    const archives: ExportLine[][] = [];
    const read = async () => archives.push(await linesOf(account));

    const ended = await kill(read);

    await read();
    for (const lines of archives) expectWhole(lines, name, violations);
    const exported = (await kindsOf(account.owner)).filter((kind) => kind === 'account_exported');
    // The server may die between the entry and the end of the answer.
    if (exported.length < archives.length) violations.push(`${name}: an export is not recorded`);
    return ended;
  },

  async delete({ site, violations, random }, name) {
    const kill = await prepareKill('delete', site, random);
    const account = await site.makeAccount();
    const remove = () => site.requestDeletion(account);

    const ended = await kill(remove);

    const hasBegun = await account.owner.call('getAccount').then(
      () => false,
      () => true,
    );
    if (!hasBegun) {
      expectWhole(await linesOf(account), name, violations);
      await remove();
    }
    const signIn = () => site.signIn(account.wallet, account.sign).catch(() => null);
    const again = await waitFor('the deletion to end', signIn, 60_000);
    const lines = await linesOf({ ...account, owner: again });
    const kinds = countOf(lines.map(({ kind }) => kind));
    // The account itself, and the sign-in.
    const isEmpty =
      kinds.get('account') === 1 && kinds.get('audit_entry') === 1 && kinds.size === 2;
    if (!isEmpty) violations.push(`${name}: left ${JSON.stringify([...kinds])}`);
    const { robots } = await site.accountOf(account.wallet);
    if (robots !== 0) violations.push(`${name}: ${robots} robots are left`);
    return ended;
  },
};

/** Starts a server that dies during the operation; the function that it resolves with waits for another one. */
async function prepareKill(operation: Operation, site: Site, random: Random) {
  const atPoint = random.chance(0.5);
  const at = random.pick(Object.keys(points[operation]));
  const count = random.between(1, points[operation][at] ?? 1);
  if (atPoint) await site.restart({ at, count });
  return async (call: () => Promise<unknown>): Promise<boolean> => {
    const called = call().then(
      () => true,
      () => false,
    );
    if (atPoint) await Promise.race([site.ended(), called.then(() => sleep(500))]);
    else await sleep(random.fraction() * INSTANT_MS[operation]);
    await site.restart();
    return called;
  };
}

type Site = Awaited<ReturnType<typeof openSite>>;

async function openSite(store: 'sqlite' | 'postgres') {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-operator-campaign-'));
  const tokenFile = path.join(folder, 'token');
  await writeFile(tokenFile, TOKEN, { mode: 0o600 });
  const postgres = store === 'postgres' ? await startPostgres() : null;
  const database = postgres && (await createDatabase(postgres.url));
  const listen = `127.0.0.1:${await freePort()}`;
  const environment = {
    SVC_CHAIN_ID: '31337',
    SVC_SIGNUP_ANCHORS: '0',
    SVC_SIGNUP_GAS_WEI: '0',
    SVC_OPERATOR_LISTEN: listen,
    SVC_OPERATOR_TOKEN_FILE: tokenFile,
    SVC_LOG_LEVEL: 'silent',
    ...(database && { SVC_DATABASE_URL: database.url }),
  };
  const dataDir = path.join(folder, 'data');
  let next: WaitingServer = prepareServer();
  let server: StartingServer | null = null;
  let url = '';

  async function restart(crash?: { at: string; count: number }): Promise<void> {
    await server?.kill('SIGKILL');
    const options = { dataDir, rpcUrl: NO_CHAIN, environment };
    server = next.start({ ...options, ...(crash && { crash }) });
    next = prepareServer();
    url = await server.url;
  }

  async function ask(method: string, target: string, body?: object): Promise<unknown> {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    const reply = await fetch(`http://${listen}${target}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!reply.ok) throw new Error(`${method} ${target}: ${reply.status}`);
    return reply.json();
  }

  async function signIn(address: string, sign: Account['sign']): Promise<Client> {
    const guest = createClient({ baseUrl: url, fetch });
    const { body } = await guest.call('createChallenge', { body: { address } });
    const signature = await sign(body.message);
    const { headers } = await guest.call('verifySignature', { body: { address, signature } });
    const session = /svc_session=([^;]+)/.exec(headers.getSetCookie().join('\n'))?.[1] ?? '';
    // The address of the service changes with each start.
    const at = () => createClient({ baseUrl: url, fetch, credential: { session } });
    return {
      ...at(),
      call: (...input) => at().call(...input),
      exportAccount: (body) => at().exportAccount(body),
    };
  }

  /** An account with robots, tasks, samples, events, a fleet and an alert rule. */
  async function makeAccount(): Promise<Account> {
    const key = privateKeyToAccount(generatePrivateKey());
    const sign = (message: string) => key.signMessage({ message });
    const owner = await signIn(key.address, sign);
    let apiKey = '';
    for (let i = 0; i < ROBOTS; i += 1) {
      const made = await owner.call('createRobot', { body: { name: `arm ${i}` } });
      apiKey = made.body.api_key ?? '';
      const robot = robotClient(url, apiKey);
      for (let j = 0; j < TASKS; j += 1) {
        await robot.call('createTask', { body: { title: `Sort ${j}` } });
      }
      await robot.call('recordSamples', { body: { battery_pct: 50 } });
      await robot.call('createEvent', { body: { event_type: 'info' } });
    }
    await owner.call('createFleet', { body: { name: 'Hall' } });
    await owner.call('saveAlertRule', { body: { kind: 'battery_low', threshold: 20 } });
    return { wallet: key.address, owner, apiKey, sign };
  }

  await restart();
  return {
    restart,
    ask,
    signIn,
    makeAccount,
    url: () => url,
    ended: () => server?.ended,
    end: () => server?.kill('SIGKILL'),
    accountOf: (wallet: string) => ask('GET', `/accounts/${wallet}`) as Promise<AccountUsage>,
    /** Repeats a call until it succeeds. */
    insist: (call: () => Promise<unknown>) =>
      waitFor('the repeated call', () =>
        call().then(
          () => true,
          () => false,
        ),
      ),
    async requestDeletion(account: Account): Promise<void> {
      const body = await signAgain(account, 'delete_account');
      await account.owner.call('deleteAccount', { body });
    },
    run: (command: string) =>
      run('svc-server', [command], {
        env: { ...environment, SVC_DATA_DIR: dataDir, SVC_CHAIN_RPC_URL: NO_CHAIN },
      }),
    async close(): Promise<void> {
      await server?.kill('SIGKILL');
      await next.discard();
      await database?.drop();
      await postgres?.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function signAgain(
  { wallet: address, owner, sign }: Account,
  purpose: 'export_account' | 'delete_account',
) {
  const { body } = await owner.call('createChallenge', { body: { address, purpose } });
  return { message: body.message, signature: await sign(body.message) };
}

async function linesOf(account: Account): Promise<ExportLine[]> {
  const lines = [];
  const signed = await signAgain(account, 'export_account');
  for await (const line of account.owner.exportAccount(signed)) lines.push(line);
  return lines;
}

async function kindsOf(owner: Client): Promise<string[]> {
  const { body } = await owner.call('listAuditLog', { query: { limit: '200' } });
  return body.items.map(({ kind }) => kind);
}

function countOf(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

function expectEntries(
  kinds: readonly string[],
  expected: Record<string, number>,
  name: string,
  violations: string[],
): void {
  const counts = countOf(kinds);
  for (const [kind, count] of Object.entries(expected)) {
    const found = counts.get(kind) ?? 0;
    if (found !== count) violations.push(`${name}: ${found} entries ${kind}`);
  }
}

/** Everything that `makeAccount` made, each once. */
function expectWhole(lines: readonly ExportLine[], name: string, violations: string[]): void {
  const expected = {
    account: 1,
    robot: ROBOTS,
    sample: ROBOTS,
    task: ROBOTS * TASKS,
    fleet: 1,
    event: ROBOTS,
    alert_rule: 1,
  };
  expectEntries(
    lines.map(({ kind }) => kind),
    expected,
    name,
    violations,
  );
  const ids = lines.flatMap(({ record }) => (record as { id?: string }).id ?? []);
  if (new Set(ids).size !== ids.length) violations.push(`${name}: a record came twice`);
}

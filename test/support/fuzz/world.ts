import { randomUUID } from 'node:crypto';
import { limits } from '../../../src/protocol/limits.ts';
import type { Owner, TestRobot, TestService } from '../service.ts';
import type { Reply, Send } from '../wire.ts';
import type { Caller, Plan } from './requests.ts';

interface Account {
  owner: Owner;
  robots: TestRobot[];
  /** What answers named, by kind, the latest last. */
  known: Map<string, string[]>;
  endedSession: string;
  endedKey: string;
  /** Secret of the latest account token. */
  token: string;
}

/** Two robots at least, so that one is left when one is deleted. */
const ROBOTS = 2;
const KEPT = 20;

/** Kind of an `id` in an answer, by the last word of the path. */
const kinds: Readonly<Record<string, string>> = {
  robots: 'robots',
  robot: 'robots',
  bulk: 'robots',
  'rotate-key': 'robots',
  key: 'robots',
  fleets: 'fleets',
  reorder: 'fleets',
  tasks: 'tasks',
  sessions: 'sessions',
  tokens: 'tokens',
  'audit-log': 'entries',
  telemetry: 'telemetry',
  events: 'events',
};

/** Other members of answers that a later request may name. */
const members: Readonly<Record<string, string>> = {
  robot_id: 'robots',
  fleet_id: 'fleets',
  task_id: 'tasks',
  proof_hash: 'hashes',
  tx_hash: 'transactions',
  user_code: 'userCodes',
  device_code: 'deviceCodes',
};

export type World = Awaited<ReturnType<typeof createWorld>>;

/** Accounts with robots, and what the answers said of their things. */
export async function createWorld(service: TestService, size: number) {
  const accounts: Account[] = [];
  for (let i = 0; i < size; i += 1) accounts.push(await createAccount(service));
  const accountOf = (number: number): Account => {
    const account = accounts[number % accounts.length];
    if (account === undefined) throw new Error('There are no accounts.');
    return account;
  };
  return {
    /** The request with what its texts stand for. */
    requestOf(plan: Plan): { target: string; sent: Send } {
      const account = accountOf(plan.account);
      const fill = filler(service, accountOf(plan.thingsOf).known);
      const { content } = plan;
      const origin = plan.headers.origin;
      return {
        target: fill(plan.target),
        sent: {
          ...(content !== null && { raw: typeof content === 'string' ? fill(content) : content }),
          headers: { ...plan.headers, ...(origin !== undefined && { origin: fill(origin) }) },
          ...credentials(plan, account),
        },
      };
    },
    /** Keeps what the answer reports, and creates again what a call has ended. */
    async learn(plan: Plan, sent: Send, reply: Reply): Promise<void> {
      const account = accountOf(plan.account);
      if (reply.status < 300 && plan.operation !== null) {
        keep(account, plan.operation.id, plan.operation.path, reply.body);
      }
      const { error } = reply.body ?? {};
      if (error === 'invalid_session' && sent.session === account.owner.session) {
        account.endedSession = sent.session;
        account.owner = await signInAgain(service, account.owner);
      }
      if (error === 'invalid_api_key' && sent.apiKey !== undefined) {
        account.robots = account.robots.filter(({ apiKey }) => apiKey !== sent.apiKey);
        account.endedKey = sent.apiKey;
      }
      if (error === 'invalid_token' && sent.apiKey === account.token) {
        account.token = await makeToken(service, account.owner);
      }
    },
    /** Before a request: a robot for each account whose robots are gone. */
    async provide(plan: Plan): Promise<void> {
      const account = accountOf(plan.account);
      while (account.robots.length < ROBOTS) {
        const { body, status } = await service.call('POST', '/api/v1/robots', {
          session: account.owner.session,
          body: { name: 'arm' },
        });
        if (status !== 201) return;
        keep(account, 'createRobot', '/api/v1/robots', body);
      }
    },
  };
}

async function createAccount(service: TestService): Promise<Account> {
  const owner = await service.signIn();
  const gone = await service.makeRobot(owner);
  const past = await service.signIn(owner.account);
  await service.call('DELETE', `/api/v1/robots/${gone.id}`, { session: owner.session });
  await service.call('POST', '/api/auth/logout', { session: past.session });
  const ended = { endedSession: past.session, endedKey: gone.apiKey };
  const token = await makeToken(service, owner);
  return { owner, robots: [], known: new Map(), ...ended, token };
}

async function makeToken(service: TestService, { session }: Owner): Promise<string> {
  const body = { name: 'fuzz', scope: 'write' };
  return (await service.call('POST', '/api/v1/tokens', { session, body })).body.secret ?? 'svct_';
}

/** A fast machine ends more sessions than one wallet may open in a minute: then the ended one is used for longer. */
async function signInAgain(service: TestService, owner: Owner): Promise<Owner> {
  return service.signIn(owner.account).catch((error) => {
    if (error.cause?.error !== 'rate_limited') throw error;
    return owner;
  });
}

function credentials({ operation, caller, account: number }: Plan, account: Account): Send {
  const robot = account.robots[number % 3 === 0 ? number % account.robots.length : 0];
  const apiKey = robot?.apiKey ?? account.endedKey;
  const { session } = account.owner;
  const needed = operation?.security ?? [];
  const right = needed.includes('robotKey') && (needed.length === 1 || number % 2 === 0);
  const sent: Record<Caller, Send> = {
    right: right ? { apiKey } : { session },
    anonymous: {},
    robot: { apiKey },
    session: { session },
    token: { apiKey: account.token },
    both: { apiKey, session },
    ended: right ? { apiKey: account.endedKey } : { session: account.endedSession },
    garbage: right
      ? { apiKey: `svc_${number}` }
      : { cookie: `svc_session="${number}; =; svc_challenge=%` },
  };
  return sent[caller];
}

function keep(account: Account, operation: string, path: string, body: unknown): void {
  const { robot, api_key } = body as { robot?: { id: string }; api_key?: string };
  if (robot !== undefined && api_key !== undefined) {
    const place = account.robots.findIndex(({ id }) => id === robot.id);
    const robots = account.robots.filter(({ id }) => id !== robot.id);
    robots.splice(place < 0 ? robots.length : place, 0, { id: robot.id, apiKey: api_key });
    account.robots = robots;
  }
  const word =
    path
      .replace(/\/\{\w+\}$/, '')
      .split('/')
      .at(-1) ?? '';
  walk(body, (name, value) => {
    const kind =
      name === 'id' ? kinds[word] : name === 'next_cursor' ? `cursors.${operation}` : members[name];
    if (kind === undefined) return;
    const earlier = (account.known.get(kind) ?? []).filter((one) => one !== value);
    account.known.set(kind, [...earlier.slice(1 - KEPT), value]);
  });
}

function walk(value: unknown, each: (name: string, value: string) => void): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    if (typeof member === 'string') each(name, member);
    else walk(member, each);
  }
}

function filler(service: TestService, known: ReadonlyMap<string, string[]>) {
  const make: Record<string, (number: number) => string> = {
    origin: () => service.url,
    minutesAgo: (minutes) => new Date(Date.now() - minutes * 60_000).toISOString(),
    hashes: () => `0x${'0'.repeat(64)}`,
    transactions: () => `0x${'0'.repeat(64)}`,
    deviceCodes: () => 'A'.repeat(43),
  };
  return (text: string): string =>
    text.replace(/\{\{([\w.]+):(\d+)\}\}/g, (_, kind: string, digits: string) => {
      const things = known.get(kind) ?? [];
      const number = Number(digits);
      return things[number % things.length] ?? make[kind]?.(number) ?? randomUUID();
    });
}

/** How many accounts keep this many requests, nearly all counted, within a window of the limits. */
export function accountsFor(requests: number): number {
  return Math.ceil(requests / limits.accountMutationsPerWindow / 2);
}

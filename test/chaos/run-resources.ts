import { createHash } from 'node:crypto';
import { createWriteStream, type WriteStream } from 'node:fs';
import { appendFile, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import type { Client } from '../../src/client/client.ts';
import type { Hex } from '../../src/proof/bytes.ts';
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts';
import { type ServerOptions, signInAt } from '../support/server-process.ts';
import { createDatabase } from '../support/temporary-database.ts';
import { type MinedChain, startMinedChain } from './mined-chain.ts';
import { type Random, randomOf } from './random.ts';
import { openSite, type Site } from './server-series.ts';

/** Anchors granted to the account. */
export const GRANTED = 100_000;
/** 10 000 ether. */
const FUNDS = `0x${(10n ** 22n).toString(16)}`;
/** Blocks after the account was funded that are never replaced. */
const FOUNDATION = 8;

/** What one run works with: a chain, providers, accounts and a folder of its own. */
export interface Stage {
  readonly chain: MinedChain;
  readonly proxies: readonly RpcProxy[];
  /** Of the accounts that anchor; the server need not have all of them at any time but the last. */
  readonly accounts: readonly PrivateKeyAccount[];
  readonly privateKeys: readonly Hex[];
  /** Blocks up to here are never replaced. */
  readonly foundation: number;
  readonly site: Site;
  readonly server: ServerOptions;
  /** For the operator's commands: where the database is. */
  readonly database: Readonly<Record<string, string>>;
  readonly folder: string;
  readonly random: Random;
  /** Lets no server wait for the leases of one that was killed. */
  endLeases(): Promise<void>;
  /** With `keep`, what the folder has not of the database is written there. */
  close(keep: boolean): Promise<void>;
}

export interface StagePlan {
  readonly providers: number;
  readonly environment: Record<string, string>;
  /** The server of PostgreSQL that databases are made on; null for SQLite. */
  readonly postgresUrl: string | null;
}

export async function setStage(
  seed: string,
  { providers, environment, postgresUrl }: StagePlan,
): Promise<Stage> {
  const random = randomOf(seed);
  const chain = await startMinedChain(random.pick([100, 200, 500]));
  const privateKeys = Array.from({ length: random.between(1, 2) }, (_, i) => keyOf(`${seed}/${i}`));
  const accounts = privateKeys.map((privateKey) => privateKeyToAccount(privateKey));
  for (const { address } of accounts) await chain.rpc('anvil_setBalance', [address, FUNDS]);
  await chain.rpc('anvil_mine', [`0x${FOUNDATION.toString(16)}`]);
  const foundation = Number(await chain.rpc<string>('eth_blockNumber'));
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-chaos-'));
  const log = createWriteStream(path.join(folder, 'server.log'));
  const proxies = await Promise.all(
    Array.from({ length: providers }, () => startRpcProxy(chain.url)),
  );
  const site = openSite();
  const postgres = postgresUrl === null ? null : await createDatabase(postgresUrl);
  const database = postgres === null ? {} : { SVC_DATABASE_URL: postgres.url };
  const server = {
    dataDir: folder,
    rpcUrl: proxies.map(({ url }) => url).join(),
    environment: { ...environmentOf(privateKeys, random), ...environment, ...database },
    log,
  };
  return {
    chain,
    proxies,
    accounts,
    privateKeys,
    foundation,
    site,
    server,
    database: { SVC_DATA_DIR: folder, ...database },
    folder,
    random,
    // On SQLite the next server does it.
    endLeases: async () => postgres?.execute('UPDATE leases SET holder = NULL, expires_at = 0'),
    async close(keep) {
      await site.close();
      await Promise.all([...proxies.map((proxy) => proxy.close()), chain.close(), ended(log)]);
      if (postgres === null) return;
      if (keep) await writeTables(postgres.url, path.join(folder, 'tables.jsonl'));
      await postgres.drop();
    },
  };
}

function keyOf(seed: string): Hex {
  return `0x${createHash('sha256').update(seed).digest('hex')}`;
}

/** Settings that a crash must not depend on. */
function environmentOf(privateKeys: readonly Hex[], random: Random): Record<string, string> {
  return {
    SVC_ANCHOR_PRIVATE_KEY: privateKeys.join(),
    SVC_SIGNUP_ANCHORS: String(GRANTED),
    SVC_LOG_LEVEL: 'info',
    SVC_ANCHOR_TIMEOUT_MS: String(random.pick([0, 500, 3_000])),
    SVC_ANCHOR_LINGER_MS: String(random.pick([0, 50, 200])),
    SVC_ANCHOR_MAX_IN_FLIGHT: String(random.between(1, 4)),
    SVC_ANCHOR_BUMP_AFTER_MS: '1000',
  };
}

/** Every row of every table, one a line. */
async function writeTables(url: string, file: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows: tables } = await client.query(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace
       AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY 1`,
  );
  for (const { name } of tables) {
    const { rows } = await client.query(`SELECT to_jsonb(t)::text AS row FROM ${name} t`);
    await appendFile(file, rows.map(({ row }) => `${name} ${row}\n`).join(''));
  }
  await client.end();
}

function ended(log: WriteStream): Promise<void> {
  return new Promise((resolve) => log.end(resolve));
}

/** Signs in and registers robots; answers the session and their keys. */
export async function register(
  url: string,
  robots: number,
): Promise<{ session: string; apiKeys: string[] }> {
  const { owner, session } = await signInAt(url);
  const apiKeys = await Promise.all(
    Array.from({ length: robots }, async (_, i) => String((await registerRobot(owner, i)).api_key)),
  );
  return { session, apiKeys };
}

async function registerRobot(owner: Client, index: number) {
  return (await owner.call('createRobot', { body: { name: `arm-${index}` } })).body;
}

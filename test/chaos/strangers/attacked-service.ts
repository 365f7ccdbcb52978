import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Client } from '../../../src/client/client.ts';
import { completeTask, receiptOf } from '../../support/one-robot.ts';
import { startPostgres } from '../../support/postgres.ts';
import { run } from '../../support/programs.ts';
import {
  robotClient,
  type ServerProcess,
  signInAt,
  spawnServer,
} from '../../support/server-process.ts';
import { createDatabase } from '../../support/temporary-database.ts';
import { startMinedChain } from '../mined-chain.ts';
import type { Target } from './attacks.ts';

export interface PayingRobot {
  id: string;
  client: Client;
  owner: Client;
}

/** A service under attack. */
export interface Site {
  /** What attacks of one instance know. */
  target(instance: number): Promise<Target>;
  /** A robot of an account that the operator granted credits, with calls to one instance, or through a proxy. */
  payingRobot(instance: number, proxy?: string): Promise<PayingRobot>;
  /** Resident memory of each instance in MB. */
  memory(): Promise<number[]>;
  /** Ends the instances and runs `svc-server check`; resolves with what is wrong. */
  endAndCheck(): Promise<string[]>;
  close(): Promise<void>;
}

/** Small, so that an attack meets the quota within seconds. */
const POOL_MB = '256';

/** Opens instances on one PostgreSQL; for 0, one on SQLite. */
export async function openSite(instances: number): Promise<Site> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'svc-strangers-'));
  const postgres = instances === 0 ? null : await startPostgres();
  const database = postgres === null ? null : await createDatabase(postgres.url);
  const chain = await startMinedChain(250);
  const environment: Record<string, string> = {
    SVC_STORAGE_POOL_MB: POOL_MB,
    SVC_SIGNUP_ANCHORS: '1000000',
    SVC_TRUST_PROXY: '127.0.0.1',
    ...(database && { SVC_DATABASE_URL: database.url }),
  };
  const commands = { SVC_DATA_DIR: dataDir, ...(database && { SVC_DATABASE_URL: database.url }) };
  const servers: ServerProcess[] = [];
  for (let i = 0; i < Math.max(1, instances); i += 1) {
    servers.push(await spawnServer({ dataDir, rpcUrl: chain.url, environment }));
  }
  const urlOf = (instance: number) => servers[instance]?.url ?? '';

  async function newRobot(url: string) {
    const { owner, session, wallet } = await signInAt(url);
    const { body } = await owner.call('createRobot', { body: { name: 'arm' } });
    const client = robotClient(url, String(body.api_key));
    return { id: body.robot.id, apiKey: String(body.api_key), client, owner, session, wallet };
  }

  return {
    async target(instance) {
      const url = new URL(urlOf(instance));
      const free = await Promise.all(Array.from({ length: 12 }, () => newRobot(url.origin)));
      const [first] = free;
      if (first === undefined) throw new Error('There is no free account');
      const { proof_hash: proofHash } = await receiptOf(
        first.client,
        await completeTask(first.client),
      );
      return {
        host: url.hostname,
        port: Number(url.port),
        robots: free.map(({ id, apiKey, session }) => ({ id, apiKey, session })),
        proofHash,
      };
    },

    async payingRobot(instance, proxy) {
      const robot = await newRobot(urlOf(instance));
      const credits = ['--note', 'paid', '--anchors', '100000', '--gas-wei', '1000000000000000000'];
      const { exitCode, stderr } = await run(
        'svc-server',
        ['credits', 'grant', robot.wallet, ...credits],
        { env: commands },
      );
      if (exitCode !== 0) throw new Error(stderr);
      return proxy === undefined ? robot : { ...robot, client: robotClient(proxy, robot.apiKey) };
    },

    memory: () =>
      Promise.all(
        servers.map(async ({ url }) => {
          const text = await (await fetch(`${url}/metrics`)).text();
          const bytes = /^process_resident_memory_bytes (\S+)/m.exec(text)?.[1];
          return Math.round(Number(bytes) / 1024 / 1024);
        }),
      ),

    async endAndCheck() {
      const ends = await Promise.all(servers.map((server) => server.kill('SIGTERM')));
      const { exitCode, stdout, stderr } = await run('svc-server', ['check'], { env: commands });
      return [
        ...ends.filter((end) => end !== '0').map((end) => `an instance ended with ${end}`),
        ...(exitCode === 0 ? [] : [`svc-server check: ${stdout}${stderr}`]),
      ];
    },

    async close() {
      await Promise.all(servers.map((server) => server.kill('SIGKILL')));
      await chain.close();
      await postgres?.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Client } from '../../../src/client/client.ts';
import { completeTask, receiptOf } from '../../support/one-robot.ts';
import { robotClient, signInAt, spawnServer } from '../../support/server-process.ts';
import { startMinedChain } from '../mined-chain.ts';
import { attacks, type Target } from './attacks.ts';

const attacker = fileURLToPath(new URL('attacker.ts', import.meta.url));
const typescript = fileURLToPath(new URL('../../support/typescript.js', import.meta.url));

/** Latencies of a paying robot's calls, in ms. */
export interface Latencies {
  calls: number;
  failed: number;
  p50: number;
  p99: number;
  worst: number;
}

export interface AttackReport {
  attack: string;
  /** While the attacker's bytes go to a server that throws them away. */
  control: Latencies;
  attacked: Latencies;
  passed: boolean;
}

/** The bound of the p99 under attack, as a multiple of the control's. Below it in ms, the ratio says nothing. */
const MOST_RATIO = 4;
const NOISE_MS = 25;

/**
 * Runs each attack against a server with a paying robot at work, and, as a control, against a server that reads and
 * discards. In both runs attacker, victim and server share the machine.
 */
export async function runStrangersCampaign(
  names: readonly string[],
  seconds: number,
  onAttack: (report: AttackReport) => void,
): Promise<AttackReport[]> {
  const reports: AttackReport[] = [];
  for (const attack of names) {
    const report = await runAttack(attack, seconds);
    onAttack(report);
    reports.push(report);
  }
  return reports;
}

export const attackNames = Object.keys(attacks);

async function runAttack(attack: string, seconds: number): Promise<AttackReport> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'svc-strangers-'));
  const chain = await startMinedChain(250);
  const server = await spawnServer({ dataDir, rpcUrl: chain.url });
  const sink = await startSink();
  try {
    const victim = await newRobot(server.url);
    const id = await completeTask(victim.client);
    const { proof_hash: proofHash } = await receiptOf(victim.client, id);
    const free = await Promise.all(Array.from({ length: 12 }, () => newRobot(server.url)));
    const apiKeys = free.map(({ apiKey }) => apiKey);
    const at = (url: URL): Target => ({
      host: url.hostname,
      port: Number(url.port),
      apiKeys,
      proofHash,
    });
    const { port } = sink.address() as AddressInfo;
    const control = await whileAttacked(attack, at(new URL(`http://127.0.0.1:${port}`)), () =>
      measure(victim.client, seconds),
    );
    const attacked = await whileAttacked(attack, at(new URL(server.url)), () =>
      measure(victim.client, seconds),
    );
    const bound = Math.max(NOISE_MS, control.p99) * MOST_RATIO;
    return { attack, control, attacked, passed: attacked.failed === 0 && attacked.p99 < bound };
  } finally {
    sink.close();
    await server.kill('SIGKILL');
    await chain.close();
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function newRobot(url: string): Promise<{ apiKey: string; client: Client }> {
  const { owner } = await signInAt(url);
  const { body } = await owner.call('createRobot', { body: { name: 'arm' } });
  return { apiKey: String(body.api_key), client: robotClient(url, String(body.api_key)) };
}

async function whileAttacked<T>(
  attack: string,
  target: Target,
  work: () => Promise<T>,
): Promise<T> {
  const child: ChildProcess = spawn(
    process.execPath,
    ['--import', typescript, attacker, attack, JSON.stringify(target)],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  const ended = once(child, 'close');
  try {
    // The attack is in full swing.
    await sleep(3000);
    return await work();
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
}

/** Ten samples a second, one call each, and a small and a large body by turns. */
async function measure(robot: Client, seconds: number): Promise<Latencies> {
  const took: number[] = [];
  let failed = 0;
  for (let i = 0; i < seconds * 10; i += 1) {
    const startedAt = performance.now();
    const metrics = i % 5 === 0 ? { note: 'x'.repeat(10_000) } : { speed: i };
    const samples = Array.from({ length: i % 5 === 0 ? 4 : 1 }, (_, n) => ({
      recorded_at: new Date(Date.now() - n).toISOString(),
      metrics,
    }));
    try {
      await robot.call('recordSamples', { body: { samples } });
    } catch {
      failed += 1;
    }
    const ms = performance.now() - startedAt;
    took.push(ms);
    await sleep(Math.max(0, 100 - ms));
  }
  took.sort((a, b) => a - b);
  const at = (share: number) => Math.round((took[Math.floor(share * took.length)] ?? 0) * 10) / 10;
  return { calls: took.length, failed, p50: at(0.5), p99: at(0.99), worst: at(0.9999) };
}

/** Reads and discards; never answers. */
async function startSink(): Promise<Server> {
  const sink = createServer((socket) => {
    socket.on('error', () => {}).resume();
  });
  sink.listen(0, '127.0.0.1');
  await once(sink, 'listening');
  return sink;
}

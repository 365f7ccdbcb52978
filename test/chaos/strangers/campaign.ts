import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Client } from '../../../src/client/client.ts';
import type { Balancer } from '../../support/balancer.ts';
import { startNginx } from '../../support/nginx.ts';
import { receiptOf } from '../../support/one-robot.ts';
import { openSite } from './attacked-service.ts';
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

/** Attacks on nginx. They need it with its module for streams. */
export const throughNginx: readonly string[] = ['heads'];

async function runAttack(attack: string, seconds: number): Promise<AttackReport> {
  const site = await openSite(0);
  const sink = await startSink();
  let nginx: Balancer | null = null;
  try {
    const direct = await site.target(0);
    const ports = [direct.port, direct.port, direct.port];
    if (throughNginx.includes(attack)) nginx = await startNginx(ports);
    const victim = await site.payingRobot(0, nginx?.url);
    const { port } = sink.address() as AddressInfo;
    const nowhere = { ...direct, host: '127.0.0.1', port };
    const work = attack === 'deletions' ? measureCompletions : measureSamples;
    const control = await whileAttacked(attack, nowhere, () => work(victim.client, seconds));
    const target = await site.target(0);
    if (nginx !== null) target.port = Number(new URL(nginx.url).port);
    const attacked = await whileAttacked(attack, target, () => work(victim.client, seconds));
    const bound = Math.max(NOISE_MS, control.p99) * MOST_RATIO;
    return { attack, control, attacked, passed: attacked.failed === 0 && attacked.p99 < bound };
  } finally {
    sink.close();
    await nginx?.close();
    await site.close();
  }
}

export async function whileAttacked<T>(
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

/** Ten samples a second, one call each, with small and large bodies interleaved. */
export function measureSamples(
  robot: Client,
  seconds: number,
  onStored: (samples: number) => void = () => {},
): Promise<Latencies> {
  return measure(seconds, 100, async (i) => {
    const metrics = i % 5 === 0 ? { note: 'x'.repeat(10_000) } : { speed: i };
    const samples = Array.from({ length: i % 5 === 0 ? 4 : 1 }, (_, n) => ({
      recorded_at: new Date(Date.now() - n).toISOString(),
      metrics,
    }));
    await robot.call('recordSamples', { body: { samples } });
    onStored(samples.length);
  });
}

/** A task every second, measured until its receipt. */
export function measureCompletions(
  robot: Client,
  seconds: number,
  onTaken: (taskId: string) => void = () => {},
): Promise<Latencies> {
  return measure(seconds, 1000, async () => {
    const { body } = await robot.call('createTask', { body: { title: 'Sort' } });
    const { id } = body.task;
    const proof = { id };
    await robot.call('completeTask', { params: { id }, body: { proof } }).catch((error) => {
      if (error.code !== 'anchor_queued') throw error;
    });
    onTaken(id);
    await receiptOf(robot, id);
  });
}

/** One call after the other for this time, each `everyMs` after the one before or later. */
async function measure(
  seconds: number,
  everyMs: number,
  call: (i: number) => Promise<void>,
): Promise<Latencies> {
  const took: number[] = [];
  let failed = 0;
  const end = performance.now() + seconds * 1000;
  for (let i = 0; performance.now() < end; i += 1) {
    const startedAt = performance.now();
    try {
      await call(i);
    } catch (error) {
      failed += 1;
      process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    }
    const ms = performance.now() - startedAt;
    took.push(ms);
    await sleep(Math.max(0, everyMs - ms));
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

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { SvcError } from '../../src/base/svc-error.ts';
import type { Client } from '../../src/client/client.ts';
import { robotClient } from '../support/server-process.ts';
import { Counts } from './counts.ts';

export interface Sampler {
  readonly robotId: string;
  readonly apiKey: string;
  /** Ids of samples that the service took. */
  readonly taken: Set<string>;
}

export interface Samplers {
  readonly samplers: readonly Sampler[];
  readonly answers: Counts;
  /** No new samples. Resolves once each that was sent is taken. */
  finish(): Promise<void>;
}

const SAMPLES_PER_REQUEST = 20;
const REST_MS = 150;

/** Robots that send samples, and send them again with the same ids until they are taken. */
export function startSamplers(
  url: string,
  robots: readonly { id: string; apiKey: string }[],
): Samplers {
  const answers = new Counts();
  const samplers = robots.map(({ id, apiKey }) => ({
    robotId: id,
    apiKey,
    taken: new Set<string>(),
  }));
  let finishing = false;
  const work = async (sampler: Sampler) => {
    while (!finishing) {
      const samples = Array.from({ length: SAMPLES_PER_REQUEST }, (_, i) => ({
        id: randomUUID(),
        recorded_at: new Date(Date.now() - i).toISOString(),
        battery_pct: 50,
        metrics: { i },
      }));
      while (!(await isTaken(robotClient(url, sampler.apiKey), samples, answers))) await sleep(100);
      for (const { id } of samples) sampler.taken.add(id);
      await sleep(REST_MS);
    }
  };
  const working = Promise.all(samplers.map(work));
  working.catch(() => {});
  return {
    samplers,
    answers,
    async finish() {
      finishing = true;
      await working;
    },
  };
}

async function isTaken(robot: Client, samples: object[], answers: Counts): Promise<boolean> {
  try {
    const { status } = await robot.call('recordSamples', { body: { samples } });
    answers.add(`recordSamples ${status}`);
    return true;
  } catch (error) {
    if (!(error instanceof SvcError)) throw error;
    answers.add(`recordSamples ${error.code}`);
    return false;
  }
}

/** What was taken and is not there, and what is there twice or was never taken. */
export async function sampleViolations(
  owner: Client,
  samplers: readonly Sampler[],
): Promise<string[]> {
  const found = await Promise.all(samplers.map(({ robotId }) => storedIds(owner, robotId)));
  return samplers.flatMap(({ robotId, taken }, i) => {
    const ids = found[i] ?? [];
    const stored = new Set(ids);
    const lost = [...taken].filter((id) => !stored.has(id)).length;
    return [
      ...(lost === 0 ? [] : [`robot ${robotId}: ${lost} samples were taken and are not there`]),
      ...(stored.size === ids.length ? [] : [`robot ${robotId}: a sample is there twice`]),
      ...(stored.size === taken.size
        ? []
        : [`robot ${robotId}: ${stored.size} samples are there, ${taken.size} were taken`]),
    ];
  });
}

async function storedIds(owner: Client, robotId: string): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const { body } = await owner.call('readTelemetry', {
      params: { id: robotId },
      query: { limit: '200', ...(cursor === undefined ? {} : { cursor }) },
    });
    if (!('items' in body)) throw new Error('Samples were asked for, a series came');
    ids.push(...body.items.map(({ id }) => id));
    cursor = body.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return ids;
}

import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../support/wait-for.ts';
import { settleAndCheck } from './final-check.ts';
import { startRobots, unexpectedAnswers } from './robots.ts';
import { register, setStage } from './run-resources.ts';

export interface OutageReport {
  readonly seconds: number;
  readonly proofs: number;
  /** Those that robots handed in while no provider answered. */
  readonly proofs_in_outage: number;
  /** From the end of the outage until every proof had its receipt. */
  readonly recovery_ms: number;
  readonly answers: Record<string, number>;
  readonly violations: readonly string[];
  readonly folder: string;
}

/** No provider answers for so long, half of the time refusing connections and half of it silent. */
export async function performOutage({
  seed,
  seconds,
  postgresUrl,
}: {
  seed: string;
  seconds: number;
  postgresUrl: string | null;
}): Promise<OutageReport> {
  const stage = await setStage(`${seed}/outage`, {
    providers: 2,
    postgresUrl,
    environment: { SVC_ANCHOR_TIMEOUT_MS: '2000' },
  });
  const over = new AbortController();
  let isSound = false;
  try {
    const server = stage.site.start(stage.server);
    const { session, apiKeys } = await register(await server.url, 20);
    const robots = startRobots({
      site: stage.site.url,
      apiKeys,
      lanes: 3,
      most: 50_000,
      restMs: 100,
      isHasty: true,
      random: stage.random,
      signal: over.signal,
    });
    await waitFor('the first receipts', () =>
      robots.errands.some(({ receipt }) => receipt !== null),
    );
    const before = robots.errands.length;
    for (const proxy of stage.proxies) proxy.cut();
    await sleep((seconds * 1000) / 2);
    for (const proxy of stage.proxies) proxy.hang();
    await sleep((seconds * 1000) / 2);
    for (const proxy of stage.proxies) {
      proxy.restore();
      proxy.drop();
    }
    const mendedAt = performance.now();
    const during = robots.errands.length - before;
    await robots.finish();
    const recoveryMs = Math.round(performance.now() - mendedAt);
    const violations = [
      ...(await settleAndCheck(stage, { server, robots, session }, false)),
      ...unexpectedAnswers(robots.answers, { isKilled: false }),
    ];
    isSound = violations.length === 0;
    return {
      seconds,
      proofs: robots.errands.length,
      proofs_in_outage: during,
      recovery_ms: recoveryMs,
      answers: Object.fromEntries(robots.answers),
      violations,
      folder: stage.folder,
    };
  } finally {
    over.abort();
    await stage.close(!isSound);
    if (isSound) await rm(stage.folder, { recursive: true });
  }
}

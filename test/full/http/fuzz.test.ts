import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Operation, operationsOf } from '../../support/fuzz/operations.ts';
import { type Plan, requestsOf } from '../../support/fuzz/requests.ts';
import { accountsFor, createWorld, type World } from '../../support/fuzz/world.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import type { Reply } from '../../support/wire.ts';

/** The few show that every route is sound; the many also reach every outcome. */
const [FEW, MANY] = [200, 20_000];
const IN_FLIGHT = 64;
/** About a minute where nothing else runs. */
vi.setConfig({ testTimeout: 400_000 });

/** Another one by the environment; the same seed generates the same requests. */
const SEED = Number(process.env.FUZZ_SEED ?? 20261120);

/**
 * No answer of 500 and above is taken, documented or not: the chain is there, mines every second, and a
 * completion waits until it is anchored. Real time and many accounts keep most calls within the rate limits.
 */
for (const requests of [FEW, MANY]) {
  describe(`${requests} generated requests over all routes`, () => {
    let service: TestService;
    let world: World;
    let operations: Operation[];
    beforeAll(async () => {
      service = await startTestService({ chain: 'mining', settings: { anchorTimeoutMs: 60_000 } });
      world = await createWorld(service, accountsFor(requests));
      const document = await service.call('GET', '/openapi.json');
      operations = operationsOf(document.body);
    });
    afterAll(() => service.close());

    it(`get documented responses below 500, and the service keeps its invariants (seed ${SEED})`, async () => {
      const outcomes = new Map<string, number>();
      const plans = plansOf(operations, requests);
      let sent = 0;

      async function sendAll(): Promise<void> {
        for (const plan of plans) {
          await world.provide(plan);
          const { target, sent: request } = world.requestOf(plan);
          try {
            const reply = await service.call(plan.method, target, request);
            expectDocumented(plan.operation, reply);
            await world.learn(plan, request, reply);
            count(outcomes, `${plan.operation?.id} ${reply.status}`);
            sent += 1;
          } catch (cause) {
            const raw = String(request.raw).slice(0, 2_000);
            const text = JSON.stringify({ method: plan.method, target, ...request, raw });
            throw new Error(`Seed ${SEED}, after ${sent} answers: ${text}`, { cause });
          }
        }
      }
      await Promise.all(Array.from({ length: IN_FLIGHT }, sendAll));

      const health = await service.call('GET', '/healthz');
      const unexpected = service.logLines.filter((line) => line.includes('unexpected error'));
      expect(sent).toBe(requests);
      expect(health.body).toEqual({ status: 'up' });
      expect(unexpected).toEqual([]);
      expect(await service.store.checkInvariants()).toEqual([]);
      if (requests === MANY) expect(withoutBoth(operations, outcomes)).toEqual([]);
    });
  });
}

/** Each operation in turn, generated as they are taken, so that few are held at once. */
function* plansOf(operations: readonly Operation[], requests: number): Generator<Plan> {
  const each = operations.map(requestsOf);
  for (let made = 0; made < requests; ) {
    const rounds = each.map((one, index) =>
      fc.sample(one, { numRuns: 20, seed: SEED + made + index }),
    );
    for (const plan of rounds[0]?.flatMap((_, round) => rounds.map((plans) => plans[round])) ??
      []) {
      if (plan === undefined || made === requests) return;
      made += 1;
      yield plan;
    }
  }
}

/** Beside what every answer promises: the status, and the error, are among those the document gives the operation. */
function expectDocumented(operation: Operation | null, { status, body }: Reply): void {
  // Strangers' work is bounded by source, and all these requests are of one.
  if (body?.error !== 'overloaded') expect(status).toBeLessThan(500);
  if (operation === null) return;
  expect([...operation.answers.keys()]).toContain(status);
  if (status >= 300) expect(operation.answers.get(status)).toContain(body.error);
}

function count(outcomes: Map<string, number>, outcome: string): void {
  outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
}

/** Operations that never gave a good answer, or never refused: a fuzz that met only one of them shows little. */
function withoutBoth(operations: readonly Operation[], outcomes: Map<string, number>): string[] {
  const met = [...outcomes.keys()];
  return (
    operations
      // Only a wallet can sign. A code is redeemed after two other calls in order, and no answer but a promise names a leaf.
      .filter(
        ({ id }) =>
          !/^(verifySignature|signKeyText|(export|delete)Account|redeemCliCode|readLeafAnchor)$/.test(
            id,
          ),
      )
      // Without a webhook key and open alerts these only refuse; test/http/webhooks and test/http/alerts call them.
      .filter(({ id }) => !/Webhook|acknowledgeAlert/.test(id))
      // What takes neither a path nor a body from anyone refuses nothing.
      .filter(({ security, params, body }) => security.length + params.length > 0 || body !== null)
      .filter(
        ({ id }) =>
          !met.some((outcome) => outcome.startsWith(`${id} 2`)) ||
          !met.some((outcome) => outcome.startsWith(`${id} 4`)),
      )
      .map(({ id }) => id)
  );
}

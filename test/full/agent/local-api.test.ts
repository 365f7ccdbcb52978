import path from 'node:path';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { agentError } from '../../../src/agent/errors.ts';
import { buildLocalApi } from '../../../src/agent/local-api/app.ts';
import type { LocalDeps } from '../../../src/agent/local-api/call.ts';
import { listenOnSocket } from '../../../src/agent/local-api/listen.ts';
import type { Spool } from '../../../src/agent/spool/spool.ts';
import { hashProof } from '../../../src/proof/hash.ts';
import { callLocally } from '../../support/local-call.ts';
import { createTemporarySpool } from '../../support/temporary-spool.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { Send } from '../../support/wire.ts';

let place: ReturnType<typeof createTemporarySpool>;
let spool: Spool;
let app: FastifyInstance;
let socketPath: string;
let stopping: AbortController;

const deps = (): LocalDeps => ({
  spool,
  clock: place.clock,
  readTask: async () => {
    throw agentError('service_unreachable', 'The service cannot be reached.');
  },
  status: async () => ({ connected: false }),
  logger: pino({ level: 'silent' }),
  stopping: stopping.signal,
});

beforeEach(async () => {
  place = createTemporarySpool();
  spool = place.open();
  stopping = new AbortController();
  app = buildLocalApi(deps(), { token: null });
  socketPath = path.join(place.folder, 'run', 'agent.sock');
  await listenOnSocket(app, socketPath);
});

afterEach(async () => {
  stopping.abort();
  await app.close();
  place.remove();
});

const call = (method: string, target: string, sent?: Pick<Send, 'body' | 'raw' | 'headers'>) =>
  callLocally({ socketPath }, method, target, sent);
const claim = async (body: object = { title: 'Pick' }): Promise<string> =>
  (await call('POST', '/api/v1/tasks', { body })).body.task.id;
const complete = (id: string, proof: unknown, headers: Record<string, string> = {}) =>
  call('POST', `/api/v1/tasks/${id}/complete`, { body: { proof }, headers });

const proof = { picked: 12 };

describe('Prefer: wait', () => {
  it('allows another wait for the same proof, and not for another proof', async () => {
    const id = await claim();
    await complete(id, proof);

    const again = await complete(id, proof, { prefer: 'wait=1' });
    const other = await complete(id, { picked: 13 }, { prefer: 'wait=1' });

    expect([again.status, other.status]).toEqual([202, 409]);
    expect(again.body).toMatchObject({ task_id: id, proof_hash: hashProof(proof) });
  });

  it('answers 202 when the time is over, and when the agent stops', async () => {
    const short = await complete(await claim(), proof, { prefer: 'wait=1' });
    const id = await claim();
    const long = complete(id, proof, { prefer: 'wait=600' });
    await waitFor('the completion', () => spool.findCompletion(id));
    stopping.abort();

    expect([short.status, (await long).status]).toEqual([202, 202]);
  });
});

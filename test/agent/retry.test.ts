import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { callError, verdictOf } from '../../src/agent/uploads/retry.ts';
import { SvcError } from '../../src/base/svc-error.ts';
import { createClient } from '../../src/client/client.ts';
import { errors } from '../../src/protocol/errors.ts';

it('treats a service that never answers as a time-out', async () => {
  const server = createServer(() => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = createClient({ baseUrl, fetch });
  const signal = AbortSignal.timeout(50);

  const error = await client.call('getOwnRobot', { signal }).catch((reason) => reason);

  expect(callError(error, signal)).toMatchObject({ code: 'timed_out', retryable: true });
  server.closeAllConnections();
  server.close();
});

it('rejects no record because of an error elsewhere', () => {
  const kept = Object.entries(errors)
    .filter(([, { status, retryable }]) => status >= 500 || retryable)
    .map(([code, { status }]) => verdictOf(new SvcError(code, '', { details: { status } })));

  expect(kept).not.toContain('refused');
});

it('gives up on the errors that the error table marks as final', () => {
  const key = ['missing_api_key', 'invalid_api_key'];
  for (const [code, { status, retryable }] of Object.entries(errors)) {
    const verdict = verdictOf(new SvcError(code, '', { details: { status } }));

    if (key.includes(code)) expect([code, verdict]).toEqual([code, 'key']);
    // The record is sent again once it has its statement.
    else if (code === 'statement_required') expect(verdict).toBe('record');
    else expect([code, verdict === 'refused']).toEqual([code, !retryable]);
  }
});

it('rethrows a bug', () => {
  expect(() => callError(new TypeError('a bug'))).toThrow(TypeError);
});

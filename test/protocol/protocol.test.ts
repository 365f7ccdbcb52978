import { describe, expect, it } from 'vitest';
import { errors } from '../../src/protocol/errors.ts';
import { limits } from '../../src/protocol/limits.ts';
import type { Route } from '../../src/protocol/route.ts';
import { routes } from '../../src/protocol/routes.ts';

const rows = Object.entries<Route>(routes);

describe('the error table', () => {
  it.each([
    ['missing_api_key', 401],
    ['invalid_api_key', 401],
    ['rate_limited', 429],
    ['no_anchor_quota', 402],
    ['no_gas_credit', 402],
    ['invalid_json', 400],
    ['not_found', 404],
    ['already_completed', 409],
    ['completion_in_progress', 409],
    ['anchoring_failed', 502],
    ['anchor_unconfirmed', 202],
    ['invalid_chain_id', 400],
  ] as const)('gives %s the status %i', (code, status) => {
    expect(errors[code].status).toBe(status);
  });
});

describe('the routes table', () => {
  it('has each method and path once', () => {
    const keys = rows.map(([, { method, path }]) => `${method} ${path}`);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('has a schema for each parameter of a path', () => {
    for (const [name, { path, params }] of rows) {
      const inPath = [...path.matchAll(/:(\w+)/g)].map(([, param]) => param);
      expect([name, Object.keys(params?.properties ?? {})]).toEqual([name, inPath]);
    }
  });

  it('refuses unknown members in every body, path and query', () => {
    const open = rows.filter(([, { body, params, query }]) =>
      [body, params, query].some((schema) => schema && !('additionalProperties' in schema)),
    );
    expect(open).toEqual([]);
  });

  it('limits the body of every endpoint that may have one, with large limits only for documents', () => {
    for (const [name, { method, document, maxValues, maxBody }] of rows) {
      const expected =
        document || maxValues ? 2 * 1024 * 1024 : method === 'GET' ? undefined : 64 * 1024;
      expect([name, maxBody]).toEqual([name, expected]);
    }
  });

  it('queues anonymous calls, except those that are answered from memory or have their own queue', () => {
    const open = Object.entries<Route>(routes).filter(([, { access }]) => access === 'public');

    expect(
      open
        .filter(([, { takesTurn }]) => !takesTurn)
        .map(([name]) => name)
        .sort(),
    ).toEqual(['createChallenge', 'getHealth', 'getOpenApi', 'getReadiness', 'verifySignature']);
  });

  it('names only errors of the table', () => {
    const codes = rows.flatMap(([, route]) => [
      ...route.errors,
      ...Object.values(route.fieldErrors ?? {}),
    ]);
    expect(codes.filter((code) => !Object.hasOwn(errors, code))).toEqual([]);
  });
});

describe('the limits', () => {
  it('are those of the specification, and documented choices where it has none', () => {
    expect(limits).toMatchObject({
      windowMs: 60_000,
      robotCallsPerWindow: 600,
      accountMutationsPerWindow: 300,
      challengesPerWindow: 60,
      unmeteredPerWindow: 600,
      robotsPerAccount: 500,
      fleetsPerAccount: 100,
      sessionsPerAccount: 100,
      titleLength: 200,
      nameLength: 80,
      descriptionLength: 2000,
      bodyBytes: 2_097_152,
      proofBytes: 262_144,
      expectedResultBytes: 65_536,
      signatureBytes: 8192,
      documentDepth: 128,
      openChallenges: 100_000,
      challengesPerSource: 60,
      pageSize: 50,
      pageSizeMax: 200,
      challengeLifetimeMs: 600_000,
      sessionLifetimeMs: 2_592_000_000,
    });
  });
});

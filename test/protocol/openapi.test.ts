import { readFileSync } from 'node:fs';
import { Compile } from 'typebox/compile';
import { describe, expect, it } from 'vitest';
import { apiPage } from '../../docs/api-page.ts';
import { errors } from '../../src/protocol/errors.ts';
import { openApiDocument } from '../../src/protocol/openapi/document.ts';
import { exampleOf } from '../../src/protocol/openapi/example.ts';
import { plain } from '../../src/protocol/openapi/references.ts';
import { errorExample } from '../../src/protocol/openapi/responses.ts';
import type { Route } from '../../src/protocol/route.ts';
import { ErrorBody, routes } from '../../src/protocol/routes.ts';

const rows = Object.entries<Route>(routes);
const document = openApiDocument('0.0.0');
const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));

describe('the OpenAPI document', () => {
  it('has every route of the table, with every status it can answer', () => {
    expect(operations.map(({ operationId }) => operationId)).toEqual(
      expect.arrayContaining(rows.map(([name]) => name)),
    );
    for (const [name, { responses, errors: codes }] of rows) {
      const operation = operations.find(({ operationId }) => operationId === name);
      const statuses = [...Object.keys(responses), ...codes.map((code) => errors[code].status)];
      expect(Object.keys(operation?.responses ?? {})).toEqual(
        expect.arrayContaining(statuses.map(String)),
      );
    }
  });

  it('refers only to existing components', () => {
    const references = JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g);
    for (const [, path = ''] of references) {
      const found = path
        .split('/')
        .reduce<unknown>((at, key) => (at as Record<string, unknown>)?.[key], document);
      expect([path, typeof found]).toEqual([path, 'object']);
    }
  });

  it('documents the rate headers of every response', () => {
    for (const { responses } of operations) {
      for (const { headers } of Object.values(responses)) {
        expect(Object.keys(headers)).toEqual(
          expect.arrayContaining([
            'X-RateLimit-Limit',
            'X-RateLimit-Remaining',
            'X-RateLimit-Reset',
            'X-Request-Id',
          ]),
        );
      }
    }
  });
});

describe('the examples', () => {
  it.each(rows)('of %s are accepted by its schemas', (_, route) => {
    for (const schema of Object.values(route.responses)) {
      expect([...Compile(schema).Errors(exampleOf(plain(schema)))]).toEqual([]);
    }
    for (const schema of [route.params, route.query, route.body]) {
      if (schema === undefined) continue;
      const example = schema === route.body ? route.example : undefined;
      expect([...Compile(schema).Errors(example ?? exampleOf(plain(schema)))]).toEqual([]);
    }
  });

  it('of a new robot contain its key, not the hint that replaces it', () => {
    const example = exampleOf(plain(routes.createRobot.responses[201]));

    expect(Object.keys(example as object)).toEqual(['robot', 'api_key']);
  });

  it('of errors match the error schema', () => {
    const check = Compile(ErrorBody);
    const codes = Object.keys(errors) as (keyof typeof errors)[]; // Object.keys forgets the names.
    expect(codes.filter((code) => !check.Check(errorExample(code)))).toEqual([]);
  });
});

describe('docs/http-api.md', () => {
  it('equals the output of npm run docs', () => {
    const stored = readFileSync(new URL('../../docs/http-api.md', import.meta.url), 'utf8');
    expect(stored === apiPage(), 'stale: run npm run docs').toBe(true);
    expect(stored).not.toMatch(/\[object |undefined/);
  });
});

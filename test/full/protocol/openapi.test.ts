import { createConfig, lintFromString } from '@redocly/openapi-core';
import { describe, expect, it } from 'vitest';
import { openApiDocument } from '../../../src/protocol/openapi/document.ts';

const document = openApiDocument('0.0.0');

describe('the OpenAPI document', () => {
  it('passes a linter without an error or a warning', async () => {
    const config = await createConfig({ extends: ['recommended'] });

    const problems = await lintFromString({ source: JSON.stringify(document), config });

    expect(problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([]);
  });
});

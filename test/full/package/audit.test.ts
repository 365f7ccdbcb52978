// Tests `npm run audit` against a local registry.
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const script = path.resolve(import.meta.dirname, '../../../build/audit.js');

interface Advisory {
  id: number;
  url: string;
  title: string;
  severity: string;
  vulnerable_versions: string;
}

describe('npm run audit', () => {
  let advisories: Record<string, Advisory[]> | null;
  let asked: Record<string, string[]>;
  const registry = createServer(async (request, response) => {
    const body = await buffer(request);
    const isAudit = request.method === 'POST' && advisories !== null;
    if (isAudit) asked = JSON.parse(String(gunzipSync(body)));
    response.writeHead(isAudit ? 200 : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isAudit ? advisories : {}));
  });
  beforeAll(() => new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve)));
  afterAll(() => registry.close());

  const audit = () => {
    const { port } = registry.address() as AddressInfo;
    const env = { ...process.env, npm_config_registry: `http://127.0.0.1:${port}/` };
    return new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) =>
      execFile(process.execPath, [script], { env }, (error, stdout, stderr) =>
        resolve({ code: error?.code ?? 0, stdout, stderr }),
      ),
    );
  };

  it('checks the packages of the bundles and of an installation', async () => {
    advisories = {};

    const { code, stdout } = await audit();

    expect(code).toBe(0);
    expect(stdout).toMatch(/^\d+ packages, 0 with known vulnerabilities\n$/);
    expect(Object.keys(asked)).toEqual(
      expect.arrayContaining(['better-sqlite3', 'commander', 'fastify', 'pino', 'react', 'viem']),
    );
    expect(asked).not.toHaveProperty('vitest');
  });

  it('names a bundled package with a known vulnerability', async () => {
    const advisory = { id: 1, url: 'https://example', title: 'A bug', vulnerable_versions: '*' };
    advisories = { fastify: [{ ...advisory, severity: 'high' }] };

    expect(await audit()).toMatchObject({
      code: 1,
      stderr: 'high: fastify *: A bug (https://example)\n',
    });
  });

  it('reports a registry without audits', async () => {
    advisories = null;

    expect(await audit()).toMatchObject({
      code: 75,
      stderr: expect.stringContaining('NOT AUDITED'),
    });
  });
});

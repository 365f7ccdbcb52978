import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { build } from 'vite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../../src/protocol/routes.ts';
import { anvilAccounts } from '../../support/anvil.ts';
import { launchBrowser } from '../../support/browser.ts';
import { createLibraryProject, type LibraryProject } from '../../support/library-project.ts';
import { type DevProcess, startDev } from '../../support/programs.ts';
import { robotClient, signInAt } from '../../support/server-process.ts';

type Bundle = Answer<'getBundle'>['body'];

interface Verdict {
  verified: boolean;
  checks: { name: string; ok: boolean }[];
}

let folder: string;
let project: LibraryProject;
let dev: DevProcess;
let browser: Browser;
let server: Server;
let page: Page;
let bundle: Bundle;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-library-page-'));
  [project, dev, browser] = await Promise.all([
    createLibraryProject(),
    startDev(folder),
    launchBrowser(),
  ]);
  bundle = await anchoredBundle();
  server = await serve(await builtPage());
  page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
});

afterAll(async () => {
  await browser?.close();
  server?.close();
  await dev?.stop();
  await project?.remove();
  await rm(folder, { recursive: true, force: true });
});

async function anchoredBundle(): Promise<Bundle> {
  const { owner } = await signInAt(dev.url);
  const { body } = await owner.call('createRobot', { body: { name: 'arm' } });
  const robot = robotClient(dev.url, String(body.api_key));
  const claim = await robot.call('createTask', { body: { title: 'Pick parcels' } });
  const params = { id: claim.body.task.id };
  await robot.call('completeTask', { params, body: { proof: { picked: 12, spoken: 'Grüße' } } });
  return (await robot.call('getBundle', { params })).body;
}

/** The script of a page with both entries of the package, as a user of Vite builds it. */
async function builtPage(): Promise<string> {
  const script = `
    import { createClient } from 'robot-svc';
    import { verifyBundle } from './verify.ts';
    import { hashEvidence } from './hash.ts';
    Object.assign(window, { createClient, verifyBundle, hashEvidence });`;
  await writeFile(path.join(project.folder, 'main.ts'), script);
  const html = '<!doctype html><script type="module" src="/main.ts"></script>';
  await writeFile(path.join(project.folder, 'index.html'), html);
  await build({ root: project.folder, configFile: false, logLevel: 'silent' });
  const assets = path.join(project.folder, 'dist', 'assets');
  const [file = '', ...others] = await readdir(assets);
  expect(others).toEqual([]);
  return readFile(path.join(assets, file), 'utf8');
}

async function serve(script: string): Promise<Server> {
  const listening = createServer(({ url }, response) => {
    const isScript = url === '/page.js';
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    response.end(
      isScript ? script : '<!doctype html><script type="module" src="/page.js"></script>',
    );
  });
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  return listening;
}

const inPage = <T>(code: string, argument: unknown = null): Promise<T> =>
  page.evaluate(`(${code})(${JSON.stringify(argument)})`) as Promise<T>;

const verify = (document: object) =>
  inPage<Verdict>('([text, rpc, sender]) => verifyBundle(text, rpc, sender)', [
    JSON.stringify(document),
    dev.rpc_url,
    anvilAccounts[0].address,
  ]);

describe('robot-svc/proof in a browser', () => {
  it('verifies a bundle with a node of the chain', async () => {
    const { verified, checks } = await verify(bundle);

    expect(checks.filter(({ ok }) => !ok)).toEqual([]);
    expect(verified).toBe(true);
  });

  it('refuses one whose title or evidence was changed', async () => {
    const retitled = await verify({ ...bundle, claim: { ...bundle.claim, title: 'Pick nothing' } });
    const altered = await verify({ ...bundle, proof: { picked: 13 } });

    const failed = [retitled, altered].map(({ checks }) =>
      checks.filter(({ ok }) => !ok).map(({ name }) => name),
    );
    expect([retitled.verified, altered.verified]).toEqual([false, false]);
    expect(failed).toEqual([['leaf'], ['evidence']]);
  });

  it('hashes evidence to what was anchored', async () => {
    const hash = await inPage('hashEvidence', JSON.stringify(bundle.proof));

    expect(hash).toBe(bundle.proof_hash);
  });
});

describe('robot-svc in a browser', () => {
  it('asks the routes that answer every origin', async () => {
    const answer = await inPage<Answer<'verifyProofHash'>>(
      `async ([baseUrl, proofHash]) => {
        const client = createClient({ baseUrl, fetch });
        const { status, body } = await client.call('verifyProofHash', { params: { proofHash } });
        return { status, body };
      }`,
      [dev.url, bundle.proof_hash],
    );

    expect(answer).toMatchObject({ status: 200, body: { verified: true } });
  });
});

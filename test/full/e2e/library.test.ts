import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Client } from '../../../src/client/client.ts';
import { hashProof } from '../../../src/proof/hash.ts';
import { killAgents, spawnAgent } from '../../support/agent-process.ts';
import { anvilAccounts } from '../../support/anvil.ts';
import { createLibraryProject, type LibraryProject } from '../../support/library-project.ts';
import { type DevProcess, startDev } from '../../support/programs.ts';
import { provenBundle } from '../../support/proven-bundle.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import { signInAt } from '../../support/server-process.ts';

const modules = path.resolve(import.meta.dirname, '../../../node_modules');

let folder: string;
let project: LibraryProject;
let dev: DevProcess;
let owner: Client;
let apiKey: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-library-data-'));
  [project, dev] = await Promise.all([createLibraryProject(), startDev(folder)]);
  ({ owner } = await signInAt(dev.url));
  const { body } = await owner.call('createRobot', { body: { name: 'surveyor' } });
  apiKey = String(body.api_key);
  await compile({ module: 'nodenext' });
});

afterAll(async () => {
  killAgents();
  await dev?.stop();
  await project?.remove();
  await rm(folder, { recursive: true, force: true });
});

/** What the compiler says of the examples. */
async function compile(compilerOptions: object, files = project.examples): Promise<string> {
  const strictest = {
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    noPropertyAccessFromIndexSignature: true,
    verbatimModuleSyntax: true,
    skipLibCheck: true,
    target: 'es2023',
    outDir: 'built',
    rootDir: '.',
    types: [],
  };
  const config = { compilerOptions: { ...strictest, ...compilerOptions }, files };
  await writeFile(path.join(project.folder, 'tsconfig.json'), JSON.stringify(config));
  const args = [path.join(modules, 'typescript/bin/tsc'), '-p', project.folder];
  return promisify(execFile)(process.execPath, args).then(
    ({ stdout }) => stdout,
    ({ stdout }) => stdout,
  );
}

/** What a function of an example answers, called in a process of its own as the user would. */
async function callExample(file: string, name: string, ...args: unknown[]) {
  const code = `
    import { createClient } from 'robot-svc';
    import { ${name} } from './built/${file}.js';
    const [url, apiKey, ...args] = JSON.parse(process.argv[1]);
    const robot = createClient({ baseUrl: url, fetch, credential: { apiKey } });
    const answer = await ${name}(...args.map((each) => (each === 'ROBOT' ? robot : each)));
    console.log(JSON.stringify(answer));`;
  const given = JSON.stringify([dev.url, apiKey, ...args]);
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '-e', code, given],
    { cwd: project.folder },
  );
  return JSON.parse(stdout);
}

describe('the types of the package', () => {
  let said: Promise<string> | undefined;
  /** What the compiler says and counts for both tests. */
  const compiled = () => {
    said ??= compile({ module: 'nodenext', extendedDiagnostics: true });
    return said;
  };

  it('compile for nodenext', async () => {
    expect(await compiled()).not.toMatch(/error TS/);
  });

  it('are cheap to compile', async () => {
    // With each schema looked through for each call it is more than a million.
    expect(Number(/^Instantiations: +(\d+)$/m.exec(await compiled())?.[1])).toBeLessThan(100_000);
  });

  it.each([
    ['node16', { module: 'node16' }],
    ['a bundler', { module: 'esnext', moduleResolution: 'bundler' }],
    [
      'Node.js without a DOM',
      {
        module: 'nodenext',
        lib: ['es2023'],
        types: ['node'],
        typeRoots: [path.join(modules, '@types')],
      },
    ],
  ])('compile for %s', async (_, options) => {
    expect(await compile(options)).toBe('');
  });

  it('include all types of the packages that they use', {
    timeout: 300_000,
  }, async () => {
    expect(await compile({ module: 'nodenext', skipLibCheck: false })).toBe('');
  });

  it('reject input that a route does not accept', async () => {
    const wrong = `
      import { createClient } from 'robot-svc';
      const client = createClient({ baseUrl: '', fetch });
      await client.call('createTask', { body: { titel: '' } });
      await client.call('getTask');
      await client.call('noSuchRoute');`;
    await writeFile(path.join(project.folder, 'wrong.ts'), wrong);

    const said = await compile({ module: 'nodenext', noEmit: true }, ['wrong.ts']);

    expect(said.match(/wrong\.ts\((\d)/g)).toEqual(['wrong.ts(4', 'wrong.ts(5', 'wrong.ts(6']);
  });
});

describe('the examples of docs/library.md', () => {
  it('match these files', () => {
    expect(project.examples).toEqual([
      'robot.ts',
      'claim.ts',
      'retry.ts',
      'batch.ts',
      'verify.ts',
      'verify-offline.ts',
      'hash.ts',
      'attach.ts',
    ]);
  });

  it('work through the agent, and return when there is a receipt', async () => {
    const socket = path.join(folder, 'agent.sock');
    const agent = await spawnAgent({
      SVC_AGENT_URL: dev.url,
      SVC_AGENT_KEY: apiKey,
      SVC_AGENT_STATE_DIR: path.join(folder, 'agent'),
      SVC_AGENT_SOCKET: socket,
    });

    const proofHash = await callExample('robot', 'work', socket);

    const { body } = await owner.call('verifyProofHash', { params: { proofHash } });
    expect(body).toMatchObject({ verified: true, task: { title: 'Sort parcels' } });
    await agent.kill('SIGTERM');
  });

  it('claim a task and return its receipt', async () => {
    const receipt = await callExample('claim', 'survey', dev.url, apiKey);

    const { body } = await owner.call('getTask', { params: { id: receipt.task_id } });
    expect(body.task.title).toBe('Survey the office hall');
    // The anchor may have become safe since.
    expect(body.verification).toEqual({ ...receipt, finality: expect.any(String) });
  });

  it('claim a task once', async () => {
    const task = await callExample('retry', 'claimOnce', 'ROBOT', 'Pick parcels');

    const { body } = await owner.call('getTask', { params: { id: task.id } });
    expect(body.task).toMatchObject(task);
  });

  it('claim and complete several tasks in one call', async () => {
    const items = [1, 2].map((parcels) => ({
      id: randomUUID(),
      claim: { title: 'Sort parcels' },
      completion: { proof: { parcels } },
    }));

    const answers = await callExample('batch', 'deliver', 'ROBOT', items);

    expect(answers).toMatchObject(
      items.map(({ id }) => ({ id, receipt: { task_id: id }, error: null })),
    );
  });

  it('verify a bundle of the service, and refuse another sender', async () => {
    const { task_id } = await callExample('claim', 'survey', dev.url, apiKey);
    const { body } = await owner.call('getBundle', { params: { id: task_id } });
    const [right, wrong] = [anvilAccounts[0].address, anvilAccounts[1].address];
    const given = [JSON.stringify(body), dev.rpc_url];

    const verdict = await callExample('verify', 'verifyBundle', ...given, right);
    const other = await callExample('verify', 'verifyBundle', ...given, wrong);

    expect(verdict.verified).toBe(true);
    expect(verdict.checks.every(({ ok }: { ok: boolean }) => ok)).toBe(true);
    expect([other.verified, other.bySender]).toEqual([false, false]);
  });

  it('verify a bundle by the hash of its block, and refuse another sender', async () => {
    const { bundle, blockHash } = provenBundle();
    const verify = (sender: string) =>
      callExample('verify-offline', 'verifyOffline', JSON.stringify(bundle), blockHash, sender);

    expect(await verify(anvilAccounts[0].address)).toBe(true);
    expect(await verify(anvilAccounts[1].address)).toBe(false);
  });

  it('attach files as svc hash --attach does', async () => {
    const [run, photo] = ['run.mcap', 'photo.jpg'].map((name) => path.join(folder, name));
    await Promise.all([run, photo].map((file) => writeFile(String(file), 'content')));

    const evidence = await callExample('attach', 'evidenceOf', run, photo);

    const { nonce, files } = evidence;
    const attach = ['--attach', String(run), '--attach', String(photo)];
    const input = JSON.stringify({ nonce });
    const { stdout } = await runInProcess('svc', ['hash', '-', ...attach], { input });
    expect(files.entries.map(({ name }: { name: string }) => name)).toEqual([
      'run.mcap',
      'photo.jpg',
    ]);
    expect(stdout).toBe(`${hashProof(evidence)}\n`);
  });

  it('hash evidence as svc hash does', async () => {
    const evidence = '{"spoken":"Gr\\u00fc\\u00dfe", "picked":12.0}';

    const hash = await callExample('hash', 'hashEvidence', evidence);

    expect(`${hash}\n`).toBe(
      (await runInProcess('svc', ['hash', '-'], { input: evidence })).stdout,
    );
  });
});

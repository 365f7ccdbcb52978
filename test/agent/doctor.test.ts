import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createServer } from 'node:tls';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readConfig } from '../../src/agent/config.ts';
import { checkMachine } from '../../src/agent/doctor/machine.ts';
import { SvcError } from '../../src/base/svc-error.ts';
import { createTestAgent, type TestAgent } from '../support/agent.ts';
import { run } from '../support/programs.ts';
import { needsProgram } from '../support/require-program.ts';
import {
  type Owner,
  startTestService,
  type TestRobot,
  type TestService,
} from '../support/service.ts';
import { type ServiceProxy, startServiceProxy } from '../support/service-proxy.ts';
import { waitFor } from '../support/wait-for.ts';

let service: TestService;
let owner: Owner;
let robot: TestRobot;
let proxy: ServiceProxy;
let agent: TestAgent;

beforeAll(async () => {
  service = await startTestService();
  ({ owner, robot } = await service.signInWithRobot());
  proxy = await startServiceProxy(service.url);
});

beforeEach(async () => {
  const env = { SVC_AGENT_SPOOL_MAX_MB: '32' };
  agent = await createTestAgent({ url: proxy.url, apiKey: robot.apiKey, env });
});

afterEach(async () => {
  proxy.mend();
  await agent.remove();
});

afterAll(async () => {
  await proxy?.close();
  await service?.close();
});

async function startConnected() {
  await agent.start();
  await waitFor('the connection', async () => (await agent.status()).connected);
}

/** What `svc-agent doctor --json` says, its checks by name. */
async function doctor(changes: Record<string, string> = {}) {
  const env = { ...agent.environment, ...changes };
  const { exitCode, stdout, stderr } = await run('svc-agent', ['doctor', '--json'], { env });
  expect(stderr).toBe('');
  const { ok, checks } = JSON.parse(stdout) as {
    ok: boolean;
    checks: { name: string; ok: boolean; detail: string }[];
  };
  return { exitCode, ok, checks: new Map(checks.map((check) => [check.name, check])) };
}

describe('svc-agent doctor', () => {
  it('ends with 0 where all is well, and tells what it saw', async () => {
    await startConnected();

    const { exitCode, ok, checks } = await doctor();

    expect([...checks.values()].filter((check) => !check.ok)).toEqual([]);
    expect([exitCode, ok]).toEqual([0, true]);
    expect([...checks.keys()]).toEqual([
      'daemon',
      'socket',
      'spool',
      'disk',
      'service',
      'tls',
      'clock',
      'key',
      'limit',
    ]);
    expect(checks.get('key')?.detail).toContain(robot.id);
    expect(checks.get('limit')?.detail).toMatch(/^\d+ of 600 calls/);
  });

  it('prints a line for each check, and never the key', async () => {
    const { exitCode, stdout } = await run('svc-agent', ['doctor'], { env: agent.environment });

    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^WRONG {2}daemon {3}No svc-agent answers/);
    expect(stdout).toMatch(/^ok {5}service {2}http/m);
    expect(stdout).not.toContain(robot.apiKey.slice(4));
  });

  it('reads the whole spool of a stopped daemon', async () => {
    await agent.start({ SVC_AGENT_URL: 'http://127.0.0.1:9' });
    await agent.claim();
    await agent.record([{ battery_pct: 1 }, { battery_pct: 2 }]);
    await agent.stop();

    const { exitCode, checks } = await doctor();

    expect(exitCode).toBe(1);
    expect(checks.get('spool')).toMatchObject({
      ok: true,
      detail: 'every page is sound, 3 records',
    });
  });

  it('finds a damaged record, and leaves the file to the daemon', async () => {
    await agent.start({ SVC_AGENT_URL: 'http://127.0.0.1:9' });
    await agent.claim({ title: 'Sort the parcels' });
    await agent.stop();
    const file = path.join(agent.environment.SVC_AGENT_STATE_DIR, 'spool.db');
    const bytes = await readFile(file);
    bytes.write('X', bytes.indexOf('Sort the parcels'));
    await writeFile(file, bytes);

    const { checks } = await doctor();

    expect(checks.get('spool')).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/spool.db is damaged/),
    });
    expect(await readFile(file)).toEqual(bytes);
  });

  it('finds a socket that is open to others', async () => {
    await startConnected();
    await chmod(agent.socketPath, 0o666);

    const { exitCode, checks } = await doctor();

    expect(exitCode).toBe(1);
    expect(checks.get('socket')).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/mode 666/),
    });
  });

  it('finds a disk that is too small for what the spool may take', async () => {
    const config = readConfig(agent.environment);
    const daemon = new SvcError('agent_unreachable', 'None runs.');

    const checks = await checkMachine({ ...config, spoolBytes: Number.MAX_SAFE_INTEGER }, daemon);

    expect(checks.find(({ name }) => name === 'disk')).toMatchObject({
      ok: false,
      detail: expect.stringContaining('SVC_AGENT_SPOOL_MAX_MB'),
    });
  });

  it('finds a service that does not answer, and asks it nothing more', async () => {
    const { exitCode, checks } = await doctor({ SVC_AGENT_URL: 'http://127.0.0.1:9' });

    expect(exitCode).toBe(1);
    expect(checks.get('service')?.ok).toBe(false);
    expect(checks.get('key')).toMatchObject({
      ok: true,
      detail: expect.stringMatching(/not proven/),
    });
    expect(checks.has('limit')).toBe(false);
  });

  it('finds a key that the service refuses', async () => {
    await writeFile(agent.keyFile, `svc_${'ab'.repeat(20)}\n`);

    const { exitCode, checks } = await doctor();

    expect(exitCode).toBe(1);
    expect(checks.get('key')).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/svc-agent key set/),
    });
  });

  it('finds a key that others can read', async () => {
    await chmod(agent.keyFile, 0o644);

    const { checks } = await doctor();

    expect(checks.get('key')).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/mode 644/),
    });
  });

  it('finds another key than the daemon uses, as after a change under systemd', async () => {
    await startConnected();
    const other = await service.makeRobot(owner, 'arm-2');
    const file = path.join(agent.folder, 'new-key');
    await writeFile(file, other.apiKey, { mode: 0o600 });

    const { checks } = await doctor({ SVC_AGENT_KEY_FILE: file });

    expect(checks.get('key')).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/systemctl restart svc-agent/),
    });
  });

  it('finds a clock that is wrong', async () => {
    proxy.handle(async ({ forward, response }) => {
      const { status, headers, body } = await forward();
      const date = new Date(Date.now() - 3_600_000).toUTCString();
      response.writeHead(status, { ...headers, date }).end(body);
    });

    const { checks } = await doctor();

    expect(checks.get('clock')).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/\d+ s ahead of the service/),
    });
  });

  it('finds a limit that is used up', async () => {
    const body = { error: 'rate_limited', message: 'Too many calls.', retry_after: 7 };
    proxy.handle(async ({ path: target, pass, response }) => {
      if (target !== '/api/v1/robot') await pass();
      else response.writeHead(429, { 'retry-after': '7' }).end(JSON.stringify(body));
    });

    const { exitCode, checks } = await doctor();

    expect(exitCode).toBe(1);
    expect(checks.get('key')).toMatchObject({
      ok: true,
      detail: expect.stringMatching(/not proven/),
    });
    expect(checks.get('limit')).toMatchObject({
      ok: false,
      detail: expect.stringContaining('Too many calls.'),
    });
  });
});

describe('over TLS, svc-agent doctor', () => {
  it('tells a certificate that is trusted from one that is not', async (context) => {
    const front = await startTlsFront(needsProgram(context, 'openssl'));
    try {
      const untrusted = await doctor({ SVC_AGENT_URL: front.url });
      const trusted = await doctor({
        SVC_AGENT_URL: front.url,
        NODE_EXTRA_CA_CERTS: front.certificate,
      });

      expect(untrusted.checks.get('tls')).toMatchObject({
        ok: false,
        detail: expect.stringMatching(/SELF_SIGNED/),
      });
      expect(untrusted.checks.get('service')?.ok).toBe(false);
      expect(trusted.checks.get('tls')).toMatchObject({
        ok: true,
        detail: expect.stringMatching(/^TLSv1\.\d, .* GMT$/),
      });
      expect(trusted.checks.get('key')?.ok).toBe(true);
    } finally {
      await front.close();
    }
  });
});

/** The service behind TLS, with a certificate of its own making for localhost. */
async function startTlsFront(openssl: string) {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-tls-'));
  const [key, certificate] = [path.join(folder, 'key.pem'), path.join(folder, 'certificate.pem')];
  await promisify(execFile)(openssl, [
    ...['req', '-x509', '-nodes', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'],
    ...['-days', '2', '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'],
    ...['-keyout', key, '-out', certificate],
  ]);
  const pems = { key: await readFile(key), cert: await readFile(certificate) };
  const server = createServer(pems, (socket) => {
    const onward = connect(Number(new URL(service.url).port), '127.0.0.1');
    socket.on('error', () => onward.destroy());
    onward.on('error', () => socket.destroy());
    socket.pipe(onward).pipe(socket);
  });
  // Whoever does not trust it hangs up.
  server.on('tlsClientError', () => {});
  server.listen(0);
  await once(server, 'listening');
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}`,
    certificate,
    async close() {
      server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

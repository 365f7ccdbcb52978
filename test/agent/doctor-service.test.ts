import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { setUpDoctorScene } from '../support/doctor.ts';

const scene = setUpDoctorScene();

it('reports a service that does not answer, and sends it no further request', async () => {
  const { exitCode, checks } = await scene.doctor({ SVC_AGENT_URL: 'http://127.0.0.1:9' });

  expect(exitCode).toBe(1);
  expect(checks.get('service')?.ok).toBe(false);
  expect(checks.get('key')).toMatchObject({
    ok: true,
    detail: expect.stringMatching(/not proven/),
  });
  expect(checks.has('limit')).toBe(false);
});

it('finds a key that the service refuses', async () => {
  await writeFile(scene.agent.keyFile, `svc_${'ab'.repeat(20)}\n`);

  const { exitCode, checks } = await scene.doctor();

  expect(exitCode).toBe(1);
  expect(checks.get('key')).toMatchObject({
    ok: false,
    detail: expect.stringMatching(/svc-agent key set/),
  });
});

it('finds a key that others can read', async () => {
  await chmod(scene.agent.keyFile, 0o644);

  const { checks } = await scene.doctor();

  expect(checks.get('key')).toMatchObject({
    ok: false,
    detail: expect.stringMatching(/mode 644/),
  });
});

it('reports a key that differs from the key of the daemon, as after a change under systemd', async () => {
  await scene.startConnected();
  const other = await scene.service.makeRobot(scene.owner, 'arm-2');
  const file = path.join(scene.agent.folder, 'new-key');
  await writeFile(file, other.apiKey, { mode: 0o600 });

  const { checks } = await scene.doctor({ SVC_AGENT_KEY_FILE: file });

  expect(checks.get('key')).toMatchObject({
    ok: false,
    detail: expect.stringMatching(/systemctl restart svc-agent/),
  });
});

it('finds a clock that is wrong', async () => {
  scene.proxy.handle(async ({ forward, response }) => {
    const { status, headers, body } = await forward();
    const date = new Date(Date.now() - 3_600_000).toUTCString();
    response.writeHead(status, { ...headers, date }).end(body);
  });

  const { checks } = await scene.doctor();

  expect(checks.get('clock')).toMatchObject({
    ok: false,
    detail: expect.stringMatching(/\d+ s ahead of the service/),
  });
});

it('reports an exhausted rate limit', async () => {
  const body = { error: 'rate_limited', message: 'Too many calls.', retry_after: 7 };
  scene.proxy.handle(async ({ path: target, pass, response }) => {
    if (target !== '/api/v1/robot') await pass();
    else response.writeHead(429, { 'retry-after': '7' }).end(JSON.stringify(body));
  });

  const { exitCode, checks } = await scene.doctor();

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

import { chmod, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { readConfig } from '../../src/agent/config.ts';
import { checkMachine } from '../../src/agent/doctor/machine.ts';
import type { AgentStatus } from '../../src/agent/status.ts';
import { SvcError } from '../../src/base/svc-error.ts';
import { setUpDoctorScene } from '../support/doctor.ts';

const scene = setUpDoctorScene();

it('reads the whole spool of a stopped daemon', async () => {
  await scene.agent.start({ SVC_AGENT_URL: 'http://127.0.0.1:9' });
  await scene.agent.claim();
  await scene.agent.record([{ battery_pct: 1 }, { battery_pct: 2 }]);
  await scene.agent.stop();

  const { exitCode, checks } = await scene.doctor();

  expect(exitCode).toBe(1);
  expect(checks.get('spool')).toMatchObject({
    ok: true,
    detail: 'every page is intact, 3 records',
  });
});

it('reports a damaged record, and leaves the repair to the daemon', async () => {
  await scene.agent.start({ SVC_AGENT_URL: 'http://127.0.0.1:9' });
  await scene.agent.claim({ title: 'Sort the parcels' });
  await scene.agent.stop();
  const file = path.join(scene.agent.environment.SVC_AGENT_STATE_DIR, 'spool.db');
  const bytes = await readFile(file);
  bytes.write('X', bytes.indexOf('Sort the parcels'));
  await writeFile(file, bytes);

  const { checks } = await scene.doctor();

  expect(checks.get('spool')).toMatchObject({
    ok: false,
    detail: expect.stringMatching(/spool.db is damaged/),
  });
  expect(await readFile(file)).toEqual(bytes);
});

it('finds a socket that is open to others', async () => {
  await scene.startConnected();
  await chmod(scene.agent.socketPath, 0o666);

  const { exitCode, checks } = await scene.doctor();

  expect(exitCode).toBe(1);
  expect(checks.get('socket')).toMatchObject({
    ok: false,
    detail: expect.stringMatching(/mode 666/),
  });
});

it('says how to replace a key that the service refuses', async () => {
  await scene.startConnected();
  await scene.agent.stop();
  const config = readConfig(scene.agent.environment);
  const spool = { failure: null, bytes_used: 0, bytes_allowed: 1 };
  const status = { state: 'key_refused', last_error: null, spool } as AgentStatus;

  const [daemon] = await checkMachine(config, status);

  expect(daemon).toMatchObject({
    name: 'daemon',
    ok: false,
    detail: expect.stringMatching(/^Not connected: key refused\. .*svc-agent key set/),
  });
});

it('reports a disk that is smaller than the spool budget', async () => {
  const config = readConfig(scene.agent.environment);
  const daemon = new SvcError('agent_unreachable', 'None runs.');

  const checks = await checkMachine({ ...config, spoolBytes: Number.MAX_SAFE_INTEGER }, daemon);

  expect(checks.find(({ name }) => name === 'disk')).toMatchObject({
    ok: false,
    detail: expect.stringContaining('SVC_AGENT_SPOOL_MAX_MB'),
  });
});

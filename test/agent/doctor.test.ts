import { expect, it } from 'vitest';
import { setUpDoctorScene } from '../support/doctor.ts';
import { runInProcess } from '../support/run-in-process.ts';

const scene = setUpDoctorScene();

it('exits with 0 if all checks pass, and prints their results', async () => {
  await scene.startConnected();

  const { exitCode, ok, checks } = await scene.doctor();

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
  expect(checks.get('key')?.detail).toContain(scene.robot.id);
  expect(checks.get('limit')?.detail).toMatch(/^\d+ of 600 calls/);
});

it('prints a line for each check, and never the key', async () => {
  const { exitCode, stdout } = await runInProcess('svc-agent', ['doctor'], {
    env: scene.agent.environment,
  });

  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/^WRONG {2}daemon {3}No svc-agent answers/);
  expect(stdout).toMatch(/^ok {5}service {2}http/m);
  expect(stdout).not.toContain(scene.robot.apiKey.slice(4));
});

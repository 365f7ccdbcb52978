import { afterEach, expect, it, vi } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { loadAndRun } from '../../src/base/run-program.ts';

const { exitCode } = process;

afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = exitCode;
});

it.each(['18.20.4', '20.18.3'])('does not load a program under Node.js %s', async (version) => {
  vi.spyOn(process, 'versions', 'get').mockReturnValue({ ...process.versions, node: version });
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const load = vi.fn();

  await loadAndRun('svc-agent', load);

  const least = packageJson.engines.node.replace('>=', '');
  expect(write).toHaveBeenCalledWith(
    `svc-agent: Node.js ${version} is too old.\nInstall Node.js ${least} or newer.\n`,
  );
  expect(load).not.toHaveBeenCalled();
  expect(process.exitCode).toBe(2);
});

it.each(['20.19.0', '24.1.0'])('runs a program under Node.js %s', async (version) => {
  vi.spyOn(process, 'versions', 'get').mockReturnValue({ ...process.versions, node: version });

  await loadAndRun('svc-agent', async () => ({ main: async () => 7 }));

  expect(process.exitCode).toBe(7);
});

import { describe, expect, it } from 'vitest';
import { run } from '../../support/programs.ts';

describe.each(['svc-agent', 'svc-server'] as const)('%s install', (program) => {
  it('--dry-run prints what it would write and run', async () => {
    const { exitCode, stdout } = await run(program, ['install', '--dry-run']);

    expect(exitCode).toBe(0);
    expect(stdout).toContain(`# /etc/systemd/system/${program}.service\n[Unit]\n`);
    expect(stdout).toContain(`\nUser=${program}\n`);
    expect(stdout).toContain(`\nsystemctl enable ${program}.service\n`);
  });

  it('--user creates no account', async () => {
    const { stdout } = await run(program, ['install', '--dry-run', '--user', 'robot']);

    expect(stdout).toContain('\nUser=robot\n');
    expect(stdout).not.toContain('sysusers');
  });
});

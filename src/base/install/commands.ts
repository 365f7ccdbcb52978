// The `install` and `uninstall` commands of svc-server and svc-agent.
import type { Command } from 'commander';
import type { Installation, InstallOptions } from './service.ts';

/** Adds the `install` and `uninstall` commands to a program that systemd can run. */
export function addInstallCommands(program: Command, load: () => Promise<Installation>): void {
  const name = program.name();
  program
    .command('install')
    .description('Install the program as a systemd service; run this command as root')
    .option('--user <name>', `OS user to run as (default: ${name}, created if needed)`)
    .option('--dry-run', 'print the files and commands, and change nothing')
    .addHelpText('after', `\nExamples:\n  ${name} install --dry-run\n  sudo ${name} install`)
    .action(async (options: InstallOptions) => {
      const { installService } = await import('./service.ts');
      await installService(await load(), options);
    });
  program
    .command('uninstall')
    .description('Remove the systemd service, but keep all data; run this command as root')
    .addHelpText('after', `\nExample:\n  sudo ${name} uninstall`)
    .action(async () => {
      const { uninstallService } = await import('./service.ts');
      await uninstallService(await load());
    });
}

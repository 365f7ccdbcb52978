import { Command, CommanderError } from 'commander';
import { packageVersion } from '../base/version.ts';

/** Runs `svc-agent` and answers its exit code. The daemon is not part of this version, and says so. */
export async function main(argv: string[]): Promise<number> {
  const program = new Command('svc-agent')
    .description(
      'The daemon on the robot: keeps claims, evidence and telemetry until they are delivered',
    )
    .version(packageVersion())
    .exitOverride()
    .action(() => {
      process.stderr.write(
        'svc-agent: this version has no daemon yet; robots call the HTTP interface of svc-server.\n',
      );
      throw new CommanderError(1, 'svc.unavailable', 'no daemon');
    });
  try {
    await program.parseAsync(argv);
    return 0;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.code === 'svc.unavailable' || error.exitCode === 0 ? error.exitCode : 2;
  }
}

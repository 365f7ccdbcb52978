import { Command, InvalidArgumentError } from 'commander';
import { addConfigCommand } from '../../base/config-command.ts';
import { addInstallCommands } from '../../base/install-commands.ts';
import { reportError } from '../../base/report-error.ts';
import { packageVersion } from '../../base/version.ts';
import { addDatabaseCommands } from './database-commands.ts';

/**
 * Runs `svc-server` and answers its exit code: 0 done, 1 failed, 2 usage or configuration. Commands
 * load what they need when they run.
 */
export async function main(argv: string[]): Promise<number> {
  let exitCode = 0;
  const program = new Command('svc-server')
    .description('Anchors the hash of robots’ evidence on an EVM chain and returns receipts')
    .version(packageVersion())
    .exitOverride()
    .showHelpAfterError('Run with --help for usage and examples.')
    .addHelpText(
      'after',
      '\nExamples:\n  svc-server dev                 everything on this machine, with a chain of its own' +
        '\n  svc-server start               from the environment, see svc-server config --describe' +
        '\n  svc-server credits grant 0x… --anchors 1000 --gas-wei 1000000000000000000 --note welcome',
    );

  program
    .command('start')
    .description('Run the service from the environment (SVC_…)')
    .action(async () => {
      const { start } = await import('./start.ts');
      await start(process.env);
    });

  program
    .command('dev')
    .description(
      'Run the service with a local chain, for development; takes nothing from the environment',
    )
    .option('--host <address>', 'loopback address to listen on', '127.0.0.1')
    .option('--port <number>', 'port to listen on; 0 takes a free one', portNumber, 3000)
    .option('--data-dir <folder>', 'database and state of the chain', './data')
    .option('--json', 'print one line { url, rpc_url, chain_id, data_dir } when ready')
    .addHelpText('after', '\nExamples:\n  svc-server dev\n  svc-server dev --port 0 --json')
    .action(async (options: import('./dev.ts').DevOptions) => {
      const { dev } = await import('./dev.ts');
      await dev(options);
    });

  const credits = program.command('credits').description('Grant and show prepaid credits');
  credits
    .command('grant')
    .description('Grant anchors and gas credit to a wallet; also while the service runs')
    .argument('<wallet>', 'address of the account')
    .option('--anchors <count>', 'anchors to add', wholeNumber, 0)
    .option('--gas-wei <amount>', 'gas credit to add, in wei', wei, 0n)
    .requiredOption('--note <text>', 'why; kept in the ledger (required)')
    .option('--id <uuid>', 'makes a repeated grant harmless')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nExample:\n  svc-server credits grant 0x… --anchors 1000 --gas-wei 50000000000000000 --note "invoice 17"',
    )
    .action(async (wallet: string, options: import('./credits.ts').GrantOptions) => {
      const { grantCredits } = await import('./credits.ts');
      await grantCredits(process.env, wallet, options);
    });
  credits
    .command('show')
    .description('Show the balance of a wallet')
    .argument('<wallet>', 'address of the account')
    .option('--json', 'print one JSON object')
    .action(async (wallet: string, options: { json?: boolean }) => {
      const { showCredits } = await import('./credits.ts');
      await showCredits(process.env, wallet, options);
    });

  addConfigCommand(program, () => import('./config.ts'));
  addInstallCommands(program, async () => (await import('./installation.ts')).serverInstallation);
  addDatabaseCommands(program, (code) => {
    exitCode = code;
  });

  try {
    await program.parseAsync(argv);
    return exitCode;
  } catch (error) {
    return reportError('svc-server', error, { invalid_configuration: 2, usage: 2 });
  }
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) {
    throw new InvalidArgumentError('It must be a whole number.');
  }
  return value;
}

function portNumber(text: string): number {
  const port = wholeNumber(text);
  if (port > 65_535) throw new InvalidArgumentError('It must be at most 65535.');
  return port;
}

function wei(text: string): bigint {
  if (!/^\d{1,78}$/.test(text)) throw new InvalidArgumentError('It must be a whole number of wei.');
  return BigInt(text);
}

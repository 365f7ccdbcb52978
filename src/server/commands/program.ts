// Declares the commands of svc-server.
import { getSystemErrorMap } from 'node:util';
import { Command, InvalidArgumentError, Option } from 'commander';
import { addConfigCommand } from '../../base/config-command.ts';
import { addInstallCommands } from '../../base/install-commands.ts';
import { reportError } from '../../base/report-error.ts';
import { SvcError } from '../../base/svc-error.ts';
import { packageVersion } from '../../base/version.ts';
import type { ReconcileOptions } from './reconcile.ts';

/**
 * Runs `svc-server` and returns its exit code: 0 success, 1 failure, 2 usage or configuration error. Commands load
 * their modules when they run.
 */
export async function main(argv: string[]): Promise<number> {
  let exitCode = 0;
  const program = new Command('svc-server')
    .description('Anchors the hash of robots’ evidence on an EVM chain and returns receipts')
    .version(packageVersion())
    .exitOverride()
    // An unknown command or option may contain the escape sequences of a terminal.
    .configureOutput({ outputError: (text, write) => write(text.replace(/(?!\n)\p{Cc}/gu, '')) })
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
    .addOption(
      // commander prints a default with JSON.stringify, which rejects a bigint.
      new Option('--gas-wei <amount>', 'gas credit to add, in wei (1 ETH is 10^18 wei)')
        .argParser(wei)
        .default(0n, '0'),
    )
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
  addInstallCommands(program, async () => (await import('./start.ts')).serverInstallation);
  addDatabaseCommands(program, (code) => {
    exitCode = code;
  });

  try {
    await program.parseAsync(argv);
    return exitCode;
  } catch (error) {
    return reportError('svc-server', fileError(error) ?? error, badInput);
  }
}

/** Exit code by the error code of a wrong argument or variable. */
const badInput = {
  invalid_anchor_key: 2,
  invalid_configuration: 2,
  invalid_request: 2,
  invalid_rpc_url: 2,
  usage: 2,
};

/** What the system call was to do with the path, for a sentence. */
const verbs: Readonly<Record<string, string>> = {
  mkdir: 'create the folder',
  open: 'open',
  scandir: 'read the folder',
};

/** The error for a file or folder that the operating system refuses; null for any other error. */
function fileError(error: unknown): SvcError | null {
  if (!(error instanceof Error)) return null;
  const { errno, syscall = '', path } = error as NodeJS.ErrnoException;
  if (errno === undefined || path === undefined) return null;
  const [code, reason] = getSystemErrorMap().get(errno) ?? [];
  const message = `Cannot ${verbs[syscall] ?? 'use'} ${path}: ${reason} (${code}).`;
  return new SvcError('file_unusable', message, {
    hint: 'Choose another path, or change the permissions of this one.',
    cause: error,
  });
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

/** Adds the database commands: `check`, `migrate`, `backup`, `restore`, `migrate-store`, `hold` and `reconcile`. */
function addDatabaseCommands(program: Command, exit: (code: number) => void): void {
  program
    .command('check')
    .description('Prove that ledger, anchors and receipts of the database agree; 1 if they do not')
    .option('--json', 'print one JSON object')
    .action(async (options: { json?: boolean }) => {
      const { check } = await import('./database.ts');
      exit(await check(process.env, options));
    });

  program
    .command('migrate')
    .description('Bring the schema of the database up to date, as start does, without starting')
    .option('--json', 'print one JSON object')
    .action(async (options: { json?: boolean }) => {
      const { migrate } = await import('./database.ts');
      await migrate(process.env, options);
    });

  program
    .command('backup')
    .description('Write a verified copy of the database; also while the service runs')
    .argument('<file>', 'a file that does not exist yet')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExample:\n  svc-server backup /backups/svc-2026-11-20.db')
    .action(async (file: string, options: { json?: boolean }) => {
      const { backup } = await import('./database.ts');
      backup(process.env, file, options);
    });

  program
    .command('restore')
    .description('Put a backup in the place of the database; nothing is anchored until reconcile')
    .argument('<file>', 'what backup wrote')
    .option('--force', 'set the present database aside')
    .option('--json', 'print one JSON object')
    .action(async (file: string, options: { json?: boolean; force?: boolean }) => {
      const { restore } = await import('./database.ts');
      restore(process.env, file, options);
    });

  program
    .command('migrate-store')
    .description(
      'Move everything from SQLite to an empty PostgreSQL database; stop the server first',
    )
    .requiredOption('--from <url>', 'sqlite:PATH')
    .requiredOption('--to <url>', 'postgres://… (the password also from PGPASSWORD or ~/.pgpass)')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nExample:\n  svc-server migrate-store --from sqlite:/var/lib/svc-server/svc.db --to postgres://svc@db.example/svc',
    )
    .action(async (options: { from: string; to: string; json?: boolean }) => {
      const { migrateStore } = await import('./database.ts');
      await migrateStore(process.env, options);
    });

  program
    .command('hold')
    .description(
      'Stop anchoring until reconcile: for a database put back by pg_restore or a snapshot, before the first start',
    )
    .option('--json', 'print one JSON object')
    .action(async (options: { json?: boolean }) => {
      const { hold } = await import('./database.ts');
      await hold(process.env, options);
    });

  program
    .command('reconcile')
    .description(
      'Compare the database with the chain, and let the configured keys anchor; 1 if they must not',
    )
    .option('--json', 'print one JSON object')
    .option(
      '--yes',
      'pass over nonces that final transactions from elsewhere, which are no anchors, have used',
    )
    .option(
      '--accept-anchor <tx_hash...>',
      'pass over these anchors, which another service with the key made, or this one after the backup',
    )
    .action(async (options: ReconcileOptions) => {
      const { reconcile } = await import('./reconcile.ts');
      exit(await reconcile(process.env, options));
    });
}

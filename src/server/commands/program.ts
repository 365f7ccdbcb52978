// Declares the commands of svc-server.
import { pathToFileURL } from 'node:url';
import { getSystemErrorMap } from 'node:util';
import { Command, InvalidArgumentError, Option } from 'commander';
import { addCompletionCommand, printCandidates } from '../../base/completion.ts';
import { addConfigCommand } from '../../base/config-command.ts';
import { addInstallCommands } from '../../base/install/commands.ts';
import { prepareErrors, reportError } from '../../base/report-error.ts';
import { SvcError } from '../../base/svc-error.ts';
import { packageFolder, packageVersion } from '../../base/version.ts';
import { nearestName } from '../../protocol/nearest-name.ts';

/** The action of a command: loads its function, calls it with the environment, and keeps the exit code it may return. */
type Run = <Input extends unknown[]>(
  load: () => Promise<(environment: NodeJS.ProcessEnv, ...input: Input) => unknown>,
) => (...input: Input) => Promise<void>;

/**
 * Runs `svc-server` and returns its exit code: 0 success, 1 failure, 2 usage or configuration error. Commands load
 * their modules when they run.
 */
export async function main(argv: string[]): Promise<number> {
  let exitCode = 0;
  let environment = process.env;
  const program = new Command('svc-server')
    .description('Anchor hashes of robot evidence on an EVM chain and return receipts')
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help for a command')
    .exitOverride()
    .option('--verbose', 'print the name of the database that a command opens')
    .hook('preAction', async (_, command) => {
      command.setOptionValue('verbose', program.opts().verbose);
      if (['start', 'dev', 'demo'].includes(command.name())) return;
      const { operatorEnvironment } = await import('./start.ts');
      environment = await operatorEnvironment(process.env);
    })
    .addHelpText(
      'after',
      '\nExamples:\n  svc-server dev                 run the service with a local chain\n  svc-server start               run the service, configured by SVC_… variables\n  svc-server credits grant 0x… --anchors 1000 --gas-eth 0.05 --note welcome',
    );

  const run: Run = (load) => {
    return async (...args) => {
      const command = await load();
      const result = await command(environment, ...args);
      if (typeof result === 'number') exitCode = result;
    };
  };

  program
    .command('start')
    .description('Run the service. svc-server config --describe lists its variables')
    .action(run(async () => (await import('./start.ts')).start));

  program
    .command('dev')
    .description('Run the service with a local chain for development; ignores SVC_… variables')
    .option('--host <address>', 'loopback address to listen on', '127.0.0.1')
    .option('--port <number>', 'port to listen on; 0 chooses a free port', portNumber, 3000)
    .option('--data-dir <folder>', 'folder of the database and of the local chain', './data')
    .option('--json', 'once ready, print one JSON object: url, rpc_url, chain_id, data_dir')
    .addHelpText('after', '\nExamples:\n  svc-server dev\n  svc-server dev --port 0 --json')
    .action(run(async () => (await import('./dev.ts')).dev));

  program
    .command('demo')
    .description("Anchor a real robot's evidence on a local chain, and check the receipt")
    .option('--keep', 'keep the service running after the demo')
    .action(run(async () => (await import(bundledDemo)).demo));

  const credits = program.command('credits').description('Grant, revoke or show prepaid credits');
  const grant = ofWallet(
    credits.command('grant'),
    'Grant anchors and gas credit to a wallet; works while the service runs',
  )
    .option('--new', 'create the account if the wallet has none')
    .addHelpText(
      'after',
      '\nExample:\n  svc-server credits grant 0x… --anchors 1000 --gas-eth 0.05 --note "invoice 17"',
    )
    .action(run(async () => (await import('./credits.ts')).grantCredits));
  const revoke = ofWallet(
    credits.command('revoke'),
    'Take anchors and gas credit back from an account, at most what is not reserved; works while the service runs',
  ).action(run(async () => (await import('./credits.ts')).revokeCredits));
  for (const change of [grant, revoke]) {
    change
      .option('--anchors <count>', 'number of anchors', wholeNumber, 0)
      .addOption(
        // commander prints a default with JSON.stringify, which rejects a bigint.
        new Option('--gas-wei <amount>', 'gas credit in wei (1 ETH is 10^18 wei)')
          .argParser(wei)
          .default(0n, '0'),
      )
      .addOption(
        new Option('--gas-eth <amount>', 'gas credit in ETH, such as 0.05')
          .argParser(ether)
          .conflicts('gasWei'),
      )
      .requiredOption('--note <text>', 'reason, stored in the ledger (required)')
      .option('--id <uuid>', 'id of the change; a repeated id changes nothing (default: a new id)')
      .option('--json', 'print one JSON object');
  }
  ofWallet(credits.command('show'), 'Show the credits of an account')
    .option('--json', 'print one JSON object')
    .action(run(async () => (await import('./credits.ts')).showCredits));

  addAccountCommands(program, run);

  const anchors = program.command('anchors').description('List or retire anchoring accounts');
  anchors
    .command('list')
    .description('List every anchoring account that this service has used')
    .option('--json', 'print one JSON object')
    .action(run(async () => (await import('./anchors.ts')).listAnchors));
  anchors
    .command('retire')
    .description(
      'Retire an anchoring account after you removed its key. The published list of anchoring accounts then states the last block of this account, and verification rejects anchors of this account in later blocks. You cannot undo this command',
    )
    .argument('<address>', 'address of the account')
    .option('--leave-none', 'retire it also if no other account can anchor')
    .option('--json', 'print one JSON object')
    .action(run(async () => (await import('./anchors.ts')).retireAnchor));

  addConfigCommand(program, async () => {
    return { ...(await import('../environment.ts')), ...(await import('../config.ts')) };
  });
  addInstallCommands(program, async () => (await import('./start.ts')).serverInstallation);
  addDatabaseCommands(program, run);
  addClockCommand(program, run);
  addCompletionCommand(program);

  if (argv[2] === '__complete') {
    await printCandidates(program, argv.slice(3));
    return 0;
  }
  prepareErrors(program, nearestName);
  try {
    await program.parseAsync(argv);
    return exitCode;
  } catch (error) {
    return reportError('svc-server', fileError(error) ?? error, badInput);
  }
}

/** The build bundles examples/demo into it. */
const bundledDemo = pathToFileURL(`${packageFolder}/dist/programs/demo.js`).href;

/** Exit code by the error code of a wrong argument or variable. */
const badInput = {
  account_retired: 2,
  invalid_anchor_key: 2,
  invalid_configuration: 2,
  invalid_request: 2,
  invalid_rpc_url: 2,
  invalid_webhook_key: 2,
  key_unusable: 2,
  native_module_unusable: 2,
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
    throw new InvalidArgumentError('Must be a whole number.');
  }
  return value;
}

function portNumber(text: string): number {
  const port = wholeNumber(text);
  if (port > 65_535) throw new InvalidArgumentError('Must be at most 65535.');
  return port;
}

function wei(text: string): bigint {
  if (!/^\d{1,78}$/.test(text))
    throw new InvalidArgumentError('Must be a whole number of wei, at most 78 digits.');
  return BigInt(text);
}

/** In wei. */
function ether(text: string): bigint {
  const [, whole = '', part = ''] = /^(\d{1,60})(?:\.(\d{1,18}))?$/.exec(text) ?? [];
  if (whole === '')
    throw new InvalidArgumentError(
      'Must be a number of ETH, such as 0.05, with at most 18 decimals.',
    );
  return BigInt(whole + part.padEnd(18, '0'));
}

/** A command about the account of a wallet, its first argument. */
function ofWallet(command: Command, description: string): Command {
  return command.description(description).argument('<wallet>', 'wallet address of the account');
}

/** Adds `accounts` with its commands. */
function addAccountCommands(program: Command, run: Run): void {
  const accounts = program
    .command('accounts')
    .description(
      'List, show, suspend, resume, export or delete accounts; works while the service runs',
    );
  accounts
    .command('list')
    .description('List all accounts with credits and usage')
    .option('--json', 'print one JSON object per line')
    .action(run(async () => (await import('./accounts.ts')).list));
  accounts
    .command('top')
    .description('List the accounts with the highest value of one figure')
    .addOption(
      new Option(
        '--by <figure>',
        'bytes: stored bytes; queue: queued proofs; anchors: anchors of the last 30 days; returned: proofs of the last 30 days whose reserved credits were returned without a charge; uncovered: the part of the cost of anchors of the last 30 days that the reserved credits did not cover, in wei; refusals: refused calls in the current hour and the hour before, on the server that SVC_OPERATOR_LISTEN names. With refusals, the command lists up to 100 accounts and addresses, otherwise 20 accounts',
      )
        .choices(['bytes', 'queue', 'anchors', 'returned', 'uncovered', 'refusals'])
        .default('bytes'),
    )
    .option('--json', 'print one JSON object per line')
    .action(run(async () => (await import('./accounts.ts')).top));
  ofWallet(accounts.command('show'), 'Show credits and usage of an account')
    .option('--json', 'print one JSON object')
    .action(run(async () => (await import('./accounts.ts')).show));
  for (const [name, description] of [
    [
      'suspend',
      'Refuse sign-ins and writes of an account. Its data can still be read. If the account is already suspended, only --reason changes',
    ],
    ['resume', 'Resume a suspended account'],
  ] as const) {
    ofWallet(accounts.command(name), description)
      .option('--reason <text>', 'shown to the owner in the audit log, and by accounts show')
      .option('--json', 'print one JSON object')
      .action(run(async () => (await import('./accounts.ts'))[name]));
  }
  ofWallet(
    accounts.command('export'),
    'Print the data that the service stores for an account, as JSON lines',
  ).action(run(async () => (await import('./accounts.ts')).exportLines));
  ofWallet(
    accounts.command('delete'),
    'Delete the data of an account permanently. Ledger, credits, daily anchor counts, suspension, ids of robots and tasks, and anchors stay. If the command is interrupted, run it again',
  )
    .requiredOption('-y, --yes', 'confirm the deletion')
    .option('--json', 'print one JSON object')
    .action(run(async () => (await import('./accounts.ts')).remove));
}

/** Adds `clock confirm`. */
function addClockCommand(program: Command, run: Run): void {
  program
    .command('clock')
    .description('Confirm the clock of this machine')
    .command('confirm')
    .description(
      'Accept the clock of this machine after the service reported clock_implausible. Sessions and data whose time is over by this clock then expire. Works while the service runs',
    )
    .option('-y, --yes', 'accept the clock; without it, the command prints the times')
    .option('--json', 'print one JSON object')
    .action(run(async () => (await import('./clock.ts')).confirmClock));
}

/** Adds the database commands: `check`, `migrate`, `backup`, `restore`, `migrate-store`, `hold` and `reconcile`. */
function addDatabaseCommands(program: Command, run: Run): void {
  program
    .command('check')
    .description(
      'Check that ledger, anchors and receipts in the database agree; exits with 1 if they contradict each other. Also corrects the stored byte counts of accounts',
    )
    .option('--json', 'print one JSON object')
    .action(run(async () => (await import('./database.ts')).check));

  program
    .command('migrate')
    .description('Upgrade the database schema without starting the service')
    .option('--json', 'print one JSON object')
    .action(run(async () => (await import('./database.ts')).migrate));

  program
    .command('backup')
    .description('Write a verified copy of the SQLite database; works while the service runs')
    .argument('<file>', 'path of a new file')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExample:\n  svc-server backup /backups/svc-2026-11-20.db')
    .action(run(async () => (await import('./database.ts')).backup));

  program
    .command('restore')
    .description(
      'Replace the SQLite database with a backup, and pause anchoring until reconcile succeeds',
    )
    .argument('<file>', 'file that svc-server backup wrote, or snapshot of an upgrade')
    .option('--force', 'replace an existing database, and keep it under another name')
    .option('--json', 'print one JSON object')
    .action(run(async () => (await import('./database.ts')).restore));

  program
    .command('migrate-store')
    .description('Copy all data of a stopped service from SQLite to an empty PostgreSQL database')
    .requiredOption('--from <url>', 'source: sqlite:PATH')
    .requiredOption(
      '--to <url>',
      'target: postgres://…; put the password in PGPASSWORD or ~/.pgpass',
    )
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      "\nExample:\n  svc-server migrate-store --from sqlite:/var/lib/svc-server/svc.db --to 'postgres://svc@db.example/svc?sslmode=verify-full'",
    )
    .action(run(async () => (await import('./database.ts')).migrateStore));

  program
    .command('hold')
    .description(
      'Pause anchoring until reconcile succeeds. After a restore with other tools, run this command before svc-server start',
    )
    .option('--json', 'print one JSON object')
    .action(run(async () => (await import('./database.ts')).hold));

  program
    .command('reconcile')
    .description(
      'Compare the database with the chain and resume anchoring; exits with 1 if anchoring stays paused',
    )
    .option('--json', 'print one JSON object')
    .option(
      '--yes',
      'accept unknown transactions of the anchoring accounts, if they are final and not anchors',
    )
    .option(
      '--accept-anchor <tx_hash...>',
      'accept these anchors, which the database does not have: this service sent them after the backup, or another installation sent them with the same key. This service may then anchor their proofs a second time',
    )
    .option(
      '--accept-anchors-in <file>',
      'accept the anchors whose transaction hashes are in the file, one per line',
    )
    .action(run(async () => (await import('./reconcile.ts')).reconcile));
}

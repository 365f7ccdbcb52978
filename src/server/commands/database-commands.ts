import type { Command } from 'commander';
import type { ReconcileOptions } from './reconcile.ts';

/** `check`, `migrate`, `backup`, `restore`, `hold`, `reconcile`: what an operator does with the database. */
export function addDatabaseCommands(program: Command, exit: (code: number) => void): void {
  program
    .command('check')
    .description('Prove that ledger, anchors and receipts of the database agree; 1 if they do not')
    .option('--json', 'print one JSON object')
    .action(async (options: { json?: boolean }) => {
      const { check } = await import('./check.ts');
      exit(await check(process.env, options));
    });

  program
    .command('migrate')
    .description('Bring the schema of the database up to date, as start does, without starting')
    .option('--json', 'print one JSON object')
    .action(async (options: { json?: boolean }) => {
      const { migrate } = await import('./backup.ts');
      await migrate(process.env, options);
    });

  program
    .command('backup')
    .description('Write a verified copy of the database; also while the service runs')
    .argument('<file>', 'a file that does not exist yet')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExample:\n  svc-server backup /backups/svc-2026-11-20.db')
    .action(async (file: string, options: { json?: boolean }) => {
      const { backup } = await import('./backup.ts');
      backup(process.env, file, options);
    });

  program
    .command('restore')
    .description('Put a backup in the place of the database; nothing is anchored until reconcile')
    .argument('<file>', 'what backup wrote')
    .option('--force', 'set the present database aside')
    .option('--json', 'print one JSON object')
    .action(async (file: string, options: { json?: boolean; force?: boolean }) => {
      const { restore } = await import('./backup.ts');
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
      const { migrateStore } = await import('./migrate-store.ts');
      await migrateStore(process.env, options);
    });

  program
    .command('hold')
    .description(
      'Stop anchoring until reconcile: for a database put back by pg_restore or a snapshot, before the first start',
    )
    .option('--json', 'print one JSON object')
    .action(async (options: { json?: boolean }) => {
      const { hold } = await import('./backup.ts');
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

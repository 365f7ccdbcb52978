import { SvcError } from '../../../../base/svc-error.ts';
import {
  columnsOf,
  type PageSize,
  rowText,
  type TransferRow,
  type TransferTable,
  transferTables,
} from '../../transfer.ts';
import { migrations } from '../migrations.ts';
import {
  type Connection,
  type ConnectionOptions,
  openConnections,
  requireUtf8,
} from './connections.ts';
import { cannotUse, PostgresError } from './errors.ts';
import { migrate } from './migrate.ts';
import { makePartitions } from './partitions.ts';
import { plannedAnew, type SqlValue, sql } from './sql.ts';
import { accessTo } from './transactions.ts';

/** Where the rows come from. */
export interface ImportSource {
  pages(table: TransferTable, most: PageSize): Iterable<TransferRow[]>;
  /** Whether it was marked before: a move to this very target that may have arrived. */
  readonly wasMarked: boolean;
  /** Called before the commit: from it on, what the source holds is the target's. */
  markExported(): void;
  takeBackMark(): void;
}

export interface ImportProgress {
  table: string;
  /** Written, then compared. */
  step: 'write' | 'compare';
  rows: number;
}

/** Of one statement: its text is several times as long, and all of it is in memory. */
const PAGE: PageSize = { rows: 2_000, bytes: 8 * 1024 * 1024 };

/** Their next value follows what was moved. */
const SEQUENCES = ['challenges', 'ledger', 'receipts', 'events'];

/**
 * Moves everything into an empty database, in one transaction: writes it, reads it back and compares each row, and
 * commits after `markExported`. Answers how many rows it moved. Nothing is there after it rejects.
 *
 * @throws SvcError `target_not_empty`, `move_differs`, `database_unusable`, `database_foreign`.
 */
export async function importTables(
  options: ConnectionOptions,
  source: ImportSource,
  onProgress: (at: ImportProgress) => void,
): Promise<number> {
  const connections = openConnections(options);
  try {
    await requireUtf8(connections);
    await migrate(connections, migrations);
    await makePartitions(accessTo(connections, { instant: () => null }));
    return await connections.use(async (connection) => {
      await connection.execute('BEGIN');
      await requireEmpty(connection, source);
      let moved = 0;
      await connection.execute(setTriggers('DISABLE'));
      for (const table of transferTables)
        moved += await write(connection, table, source, onProgress);
      await connection.execute(setTriggers('ENABLE'));
      for (const name of SEQUENCES) {
        await connection.rows(
          sql(`SELECT setval(pg_get_serial_sequence('${name}', 'seq'),
            (SELECT coalesce(max(seq), 0) + 1 FROM ${name}), false)`),
        );
      }
      for (const table of transferTables) await compare(connection, table, source, onProgress);
      source.markExported();
      await commit(connection, source);
      return moved;
    });
  } catch (error) {
    throw cannotUse(error);
  } finally {
    await connections.close();
  }
}

/**
 * Those that count row by row, in rows of their own that are moved too: in one transaction each count would walk past
 * all versions of the one before.
 */
function setTriggers(change: 'ENABLE' | 'DISABLE'): string {
  return ['tasks', 'completions']
    .map((table) => `ALTER TABLE ${table} ${change} TRIGGER USER`)
    .join('; ');
}

/** The mark stays where it is not known whether the target has it all: the two must never both be used. */
async function commit(connection: Connection, source: ImportSource): Promise<void> {
  try {
    await connection.execute('COMMIT');
  } catch (error) {
    if (!(error instanceof PostgresError) || error.kind !== 'lost') {
      source.takeBackMark();
      throw error;
    }
    throw new SvcError('storage_unavailable', 'The connection was lost during the commit.', {
      hint: 'Run the same command again: it goes on if the target is empty, and says so if everything is there.',
      cause: error,
    });
  }
}

/** Nobody else writes from here to the commit. */
async function requireEmpty(
  connection: Connection,
  { wasMarked }: Pick<ImportSource, 'wasMarked'>,
): Promise<void> {
  const names = transferTables.map(({ name }) => name);
  await connection.execute(`LOCK TABLE ${names.join(', ')} IN EXCLUSIVE MODE`);
  await connection.execute('DELETE FROM cursor_key');
  for (const name of names) {
    const row = await connection.first(sql(`SELECT 1 AS found FROM ${name} LIMIT 1`));
    if (row === undefined) continue;
    throw new SvcError('target_not_empty', `The target holds data: its table ${name} has rows.`, {
      hint: wasMarked
        ? 'The move before this one arrived: set SVC_DATABASE_URL, and start svc-server.'
        : 'Give the service a new, empty database, and stop every svc-server that uses it.',
    });
  }
}

async function write(
  connection: Connection,
  table: TransferTable,
  source: ImportSource,
  onProgress: (at: ImportProgress) => void,
): Promise<number> {
  const columns = columnsOf(table);
  const types = await columnTypes(connection, table.name);
  const arrays = columns.map((column, i) => `$${i + 1}::${types.get(column)}[]`).join(', ');
  const insert = sql(`INSERT INTO ${table.name} (${columns.join(', ')})
    OVERRIDING SYSTEM VALUE SELECT * FROM unnest(${arrays})`);
  let rows = 0;
  for (const page of source.pages(table, PAGE)) {
    const values = columns.map((column, i): SqlValue => {
      const isBool = types.get(column) === 'bool';
      return page.map((row) => {
        const value = row[i] ?? null;
        return isBool && value !== null ? Boolean(value) : value;
      });
    });
    await connection.run(insert, values);
    rows += page.length;
    onProgress({ table: table.name, step: 'write', rows });
  }
  return rows;
}

async function columnTypes(connection: Connection, table: string): Promise<Map<string, string>> {
  const rows = await connection.rows<{ name: string; type: string }>(
    sql(`SELECT attname AS name, typname AS type FROM pg_attribute
      JOIN pg_type ON pg_type.oid = atttypid
      WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped`),
    [table],
  );
  return new Map(rows.map(({ name, type }) => [name, type]));
}

async function compare(
  connection: Connection,
  table: TransferTable,
  source: ImportSource,
  onProgress: (at: ImportProgress) => void,
): Promise<void> {
  const columns = columnsOf(table);
  const key = table.key.join(', ');
  const places = table.key.map((_, i) => `$${i + 2}`).join(', ');
  const select = `SELECT ${columns.join(', ')} FROM ${table.name}`;
  const first = plannedAnew(`${select} ORDER BY ${key} LIMIT $1`);
  const next = plannedAnew(`${select} WHERE (${key}) > (${places}) ORDER BY ${key} LIMIT $1`);
  let last: TransferRow | undefined;
  const readOn = async (rows: number): Promise<TransferRow[]> => {
    const place = last?.slice(0, table.key.length) ?? [];
    const found = await connection.rows<Record<string, TransferRow[number]>>(
      last === undefined ? first : next,
      [rows, ...place],
    );
    return found.map((row) => columns.map((column) => row[column] ?? null));
  };
  let rows = 0;
  for (const page of source.pages(table, PAGE)) {
    const found = await readOn(page.length);
    for (const [i, row] of page.entries()) {
      const other = found[i];
      if (other === undefined || rowText(other) !== rowText(row)) throw differs(table, row);
    }
    last = page.at(-1);
    rows += page.length;
    onProgress({ table: table.name, step: 'compare', rows });
  }
  const [rest] = await readOn(1);
  if (rest !== undefined) throw differs(table, rest);
}

function differs({ name, key }: TransferTable, row: TransferRow): SvcError {
  const place = key.map((column, i) => `${column} ${String(row[i])}`).join(', ');
  return new SvcError('move_differs', `Table ${name} differs at ${place}. Nothing was moved.`);
}

// Imports the rows of a SQLite store into an empty PostgreSQL database.

import { SvcError } from '../../../../base/svc-error.ts';
import {
  ownColumns,
  type PageSize,
  rowText,
  type TransferRow,
  type TransferSource,
  type TransferTable,
  transferTables,
} from '../../transfer.ts';
import { migrations } from '../migrations.ts';
import { type Connection, type ConnectionOptions, type SqlValue, sql } from './connections.ts';
import { cannotUse, isLost } from './errors.ts';
import { migrate } from './migrate.ts';
import { makePartitions } from './partitions.ts';
import { openSchema } from './schema.ts';
import { accessTo } from './transactions.ts';

export interface ImportProgress {
  table: string;
  /** Each table is first written, later compared. */
  step: 'write' | 'compare';
  rows: number;
}

/** The page of one statement. The statement's text is several times as long and is held in memory. */
const PAGE: PageSize = { rows: 2_000, bytes: 8 * 1024 * 1024 };

interface TypedTable extends TransferTable {
  /** The type of each column. */
  types: ReadonlyMap<string, string>;
}

/** The tables whose sequences continue after the moved rows. */
const SEQUENCES = ['ledger', 'receipts', 'events'];

/**
 * Copies all rows into an empty database, in one transaction: writes them, reads them back, compares each row, calls
 * `markExported` and commits. Returns the number of rows. If it rejects, the target is empty, unless the connection was
 * lost during the commit.
 *
 * @throws SvcError `target_not_empty`, `move_differs`, `database_unusable`, `database_foreign`.
 */
export async function importTables(
  options: ConnectionOptions,
  source: TransferSource,
  onProgress: (at: ImportProgress) => void,
): Promise<number> {
  const connections = await openSchema(options);
  try {
    await migrate(connections, migrations);
    await makePartitions(accessTo(connections, { instant: () => null }));
    return await connections.use(async (connection) => {
      await connection.execute(`BEGIN; ${connection.ownSettings}`);
      await requireEmpty(connection, source);
      const tables: TypedTable[] = [];
      for (const name of transferTables) tables.push(await tableOf(connection, name, source));
      let moved = 0;
      await connection.execute(setTriggers('DISABLE'));
      for (const table of tables) moved += await write(connection, table, source, onProgress);
      await connection.execute(setTriggers('ENABLE'));
      for (const name of SEQUENCES) {
        await connection.rows(
          sql(`SELECT setval(pg_get_serial_sequence('${name}', 'seq'),
            (SELECT coalesce(max(seq), 0) + 1 FROM ${name}), false)`),
        );
      }
      for (const table of tables) await compare(connection, table, source, onProgress);
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
 * Enables or disables the counting triggers. Their counts are moved as rows. In one transaction each trigger call would
 * walk past all earlier versions of the count's row.
 */
function setTriggers(change: 'ENABLE' | 'DISABLE'): string {
  return ['tasks', 'completions']
    .map((table) => `ALTER TABLE ${table} ${change} TRIGGER USER`)
    .join('; ');
}

/** Commits. If the outcome is unknown, the mark stays, because the two databases must never both be used. */
async function commit(connection: Connection, source: TransferSource): Promise<void> {
  try {
    await connection.execute('COMMIT');
  } catch (error) {
    if (!isLost(error)) {
      source.takeBackMark();
      throw error;
    }
    throw new SvcError('storage_unavailable', 'The connection was lost during the commit.', {
      hint: 'Run the same command again. It continues if the target is empty, and reports if all rows have arrived.',
      cause: error,
    });
  }
}

/** Locks the tables until the commit and checks that they are empty. */
async function requireEmpty(
  connection: Connection,
  { wasMarked }: Pick<TransferSource, 'wasMarked'>,
): Promise<void> {
  await connection.execute(`LOCK TABLE ${transferTables.join(', ')} IN EXCLUSIVE MODE`);
  await connection.execute('DELETE FROM cursor_key');
  await connection.execute('DELETE FROM queue_round');
  for (const name of transferTables) {
    const [row] = await connection.rows(sql(`SELECT 1 AS found FROM ${name} LIMIT 1`));
    if (row === undefined) continue;
    throw new SvcError('target_not_empty', `The target is not empty: its table ${name} has rows.`, {
      hint: wasMarked
        ? 'An earlier run moved everything: set SVC_DATABASE_URL to it and start svc-server.'
        : 'Use a new, empty database, and stop every svc-server that uses it.',
    });
  }
}

async function write(
  connection: Connection,
  table: TypedTable,
  source: TransferSource,
  onProgress: (at: ImportProgress) => void,
): Promise<number> {
  const { columns, types } = table;
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

/** The table as PostgreSQL has it, with the columns that the source has too. Throws for a column that is missing in one. */
async function tableOf(
  connection: Connection,
  name: string,
  source: TransferSource,
): Promise<TypedTable> {
  const found = await connection.rows<{ column: string; type: string; isKey: boolean }>(
    sql(`SELECT attname AS column, typname AS type, indrelid IS NOT NULL AS "isKey"
      FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid
      LEFT JOIN pg_index ON indrelid = attrelid AND indisprimary AND attnum = ANY(indkey)
      WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped
      ORDER BY array_position(indkey::int2[], attnum), attnum`),
    [name],
  );
  const inSource = source.columnsOf(name);
  const rows = found.filter(({ column }) => inSource.includes(column));
  const lost = [...inSource, ...found.map(({ column }) => column)].filter(
    (column) => !rows.some((row) => row.column === column) && !ownColumns.has(`${name}.${column}`),
  );
  if (lost.length > 0) throw new Error(`Only one database has ${name}.${lost.join(', ')}.`);
  return {
    name,
    key: rows.filter(({ isKey }) => isKey).map(({ column }) => column),
    columns: rows.map(({ column }) => column),
    types: new Map(rows.map(({ column, type }) => [column, type])),
  };
}

async function compare(
  connection: Connection,
  table: TransferTable,
  source: TransferSource,
  onProgress: (at: ImportProgress) => void,
): Promise<void> {
  const { columns } = table;
  const key = table.key.join(', ');
  const places = table.key.map((_, i) => `$${i + 2}`).join(', ');
  const select = `SELECT ${columns.join(', ')} FROM ${table.name}`;
  const first = sql(`${select} ORDER BY ${key} LIMIT $1`, true);
  const next = sql(`${select} WHERE (${key}) > (${places}) ORDER BY ${key} LIMIT $1`, true);
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

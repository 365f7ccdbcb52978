import { expect, it } from 'vitest';
import { among, forUpdate, onPostgres } from '../../src/server/store/db/dialect.ts';
import {
  NOW,
  page,
  raw,
  type Sql,
  Statements,
  sql,
  textOf,
} from '../../src/server/store/db/sql.ts';

const texts = (statement: Sql) => [textOf(statement, 'sqlite'), textOf(statement, 'postgres')];

it.each<[string, Sql, string, string]>([
  ['values', sql`a = ${1} AND b = ${'x'}`, 'a = ? AND b = ?', 'a = $1 AND b = $2'],
  [
    'fragments',
    sql`SELECT ${sql`a, ${1}`} FROM ${raw('t')}`,
    'SELECT a, ? FROM t',
    'SELECT a, $1 FROM t',
  ],
  ['locks', sql`SELECT a ${forUpdate}`, 'SELECT a ', 'SELECT a FOR UPDATE'],
  ['statements of PostgreSQL alone', onPostgres(sql`LOCK TABLE t`), '', 'LOCK TABLE t'],
  ['the time', sql`at > ${NOW}`, 'at > ?', 'at > instant_or($1)'],
  [
    'lists',
    sql`id ${among('uuid', ['a', 'b'])}`,
    'id IN (SELECT * FROM (SELECT value FROM json_each(?)))',
    'id = ANY (ARRAY(SELECT value::uuid FROM json_array_elements_text($1::json)))',
  ],
])('writes %s for each database', (_what, statement, sqlite, postgres) => {
  expect(texts(statement)).toEqual([sqlite, postgres]);
});

it('prepares a template once, and once more for other fragments in it', () => {
  const prepared: string[] = [];
  const statements = new Statements(
    'sqlite',
    () => 7,
    (text) => prepared.push(text),
  );
  const find = (part: number | Sql) => statements.find(sql`SELECT ${part}, ${NOW}`).values;

  expect([find(1), find(2), find(sql`x`), find(raw('y')), find(raw('y')), find(sql`${3}`)]).toEqual(
    [[1, 7], [2, 7], [7], [7], [7], [3, 7]],
  );
  expect(prepared).toEqual(['SELECT ?, ?', 'SELECT x, ?', 'SELECT y, ?', 'SELECT ?, ?']);
});

it('marks the statements that are planned for their values', () => {
  const statements = new Statements(
    'postgres',
    () => null,
    (_text, isPage) => isPage,
  );

  expect(statements.find(page(sql`SELECT 1`)).prepared).toBe(true);
  expect(statements.find(sql`SELECT 1`).prepared).toBe(false);
});

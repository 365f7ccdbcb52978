// Statements, written as templates where they run: sql`SELECT … WHERE id = ${id}`.

/** A value of a statement. Wei are decimal texts: SQLite stores the text, PostgreSQL converts it where it is numeric. */
export type Value = string | number | Buffer | null | PostgresArray;

/** The values of a column, for statements of PostgreSQL only. */
type PostgresArray = readonly (string | number | Buffer | null)[];

export type Dialect = 'sqlite' | 'postgres';

/** In a statement: the time of the clock that all instances share, in ms. */
export const NOW = Symbol('the time of the database');

type Part = Value | Sql | PerDialect | typeof NOW;

/** A statement, or a fragment of one. */
export class Sql {
  readonly texts: readonly string[];
  readonly parts: readonly Part[];
  /** Whether PostgreSQL plans it for its values at each call, see `page`. */
  readonly isPage: boolean;

  constructor(texts: readonly string[], parts: readonly Part[], isPage = false) {
    this.texts = texts;
    this.parts = parts;
    this.isPage = isPage;
  }
}

/** A fragment that the databases write differently. */
export class PerDialect {
  readonly sqlite: Sql;
  readonly postgres: Sql;

  constructor({ sqlite, postgres }: Record<Dialect, Sql>) {
    this.sqlite = sqlite;
    this.postgres = postgres;
  }
}

/** A fragment that the databases write differently. */
export function perDialect(fragments: Record<Dialect, Sql>): Sql {
  return sql`${new PerDialect(fragments)}`;
}

/** Fragments are inserted as they are; everything else is passed as a value. */
export function sql(texts: TemplateStringsArray, ...parts: Part[]): Sql {
  return new Sql(texts, parts);
}

const rawFragments = new Map<string, Sql>();

/**
 * A fragment from a text of the source, such as the name of a table. Never from input: the same text gives the same
 * object, because `Statements` finds a statement by the identity of its fragments, and none is ever dropped.
 */
export function raw(text: string): Sql {
  const fragment = rawFragments.get(text) ?? new Sql([text], []);
  rawFragments.set(text, fragment);
  return fragment;
}

/**
 * A statement that reads a page. PostgreSQL plans it for its values: a generic plan assumes that a page is a tenth of
 * all rows.
 */
export function page({ texts, parts }: Sql): Sql {
  return new Sql(texts, parts, true);
}

/**
 * A node of the index of prepared statements. The path to it is the statement's sequence of fragments and placeholders,
 * so it stands for exactly one SQL text.
 */
class TrieNode<Prepared> {
  readonly #next = new Map<readonly string[] | typeof VALUE | typeof NOW, TrieNode<Prepared>>();
  prepared: Prepared | undefined;

  /** The node after a fragment with these texts, or after a placeholder. */
  next(step: readonly string[] | typeof VALUE | typeof NOW): TrieNode<Prepared> {
    const known = this.#next.get(step);
    if (known !== undefined) return known;
    const node = new TrieNode<Prepared>();
    this.#next.set(step, node);
    return node;
  }
}

const VALUE = Symbol('a placeholder');

/**
 * The statements of a connection, each prepared at its first use. They are found by their templates, of which there is
 * one for each place in the source: no text is built again.
 */
export class Statements<Prepared> {
  readonly dialect: Dialect;
  readonly #prepare: (text: string, isPage: boolean) => Prepared;
  readonly #now: () => number | null;
  readonly #root = new TrieNode<Prepared>();

  /** `now` gives the value of `NOW`. */
  constructor(
    dialect: Dialect,
    now: () => number | null,
    prepare: (text: string, isPage: boolean) => Prepared,
  ) {
    this.dialect = dialect;
    this.#now = now;
    this.#prepare = prepare;
  }

  find(statement: Sql): { prepared: Prepared; values: Value[] } {
    const values: Value[] = [];
    const end = this.#walk(statement, this.#root, values);
    end.prepared ??= this.#prepare(textOf(statement, this.dialect), statement.isPage);
    return { prepared: end.prepared, values };
  }

  #walk(statement: Sql, from: TrieNode<Prepared>, values: Value[]): TrieNode<Prepared> {
    let node = from.next(statement.texts);
    for (const part of statement.parts) {
      if (part instanceof Sql) node = this.#walk(part, node, values);
      else if (part instanceof PerDialect) node = this.#walk(part[this.dialect], node, values);
      else if (part === NOW) {
        values.push(this.#now());
        node = node.next(NOW);
      } else {
        values.push(part);
        node = node.next(VALUE);
      }
    }
    return node;
  }
}

/** The text for the database, with `?` or `$1`, `$2` … for values. */
export function textOf(statement: Sql, dialect: Dialect): string {
  let count = 0;
  const value = () => {
    count += 1;
    return dialect === 'sqlite' ? '?' : `$${count}`;
  };
  const statementText = ({ texts, parts }: Sql): string =>
    parts.reduce<string>((text, part, i) => text + partText(part) + texts[i + 1], texts[0] ?? '');
  const partText = (part: Part): string => {
    if (part instanceof Sql) return statementText(part);
    if (part instanceof PerDialect) return statementText(part[dialect]);
    if (part !== NOW) return value();
    return dialect === 'sqlite' ? value() : `instant_or(${value()})`;
  };
  return statementText(statement);
}

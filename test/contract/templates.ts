// Finds the templates of statements in the source, and those that never ran.

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { type Dialect, Statements, textOf } from '../../src/server/store/db/sql.ts';

const store = path.resolve(import.meta.dirname, '../../src/server/store');

/** Collects the texts of the statements that stores of this kind run from now on: a worker may have others too. */
export function collectStatements(dialect: Dialect): Set<string> {
  const collected = new Set<string>();
  const { find } = Statements.prototype;
  Statements.prototype.find = function (statement) {
    if (this.dialect === dialect) collected.add(textOf(statement, dialect));
    return find.call(this, statement);
  };
  return collected;
}

interface Template {
  place: string;
  /** The texts between its values and fragments. */
  texts: string[];
}

/** The templates that are to run on the database: those in its folder and in shared code, but what only the other says. */
export function templatesFor(dialect: Dialect): Template[] {
  const other = dialect === 'sqlite' ? 'postgres' : 'sqlite';
  return readdirSync(store, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.startsWith(`${other}${path.sep}`))
    .flatMap((file) => templatesIn(file, other));
}

function templatesIn(file: string, other: string): Template[] {
  const text = readFileSync(path.join(store, file), 'utf8');
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: Template[] = [];
  const visit = (node: ts.Node): void => {
    if (isOnlyFor(node, other)) return;
    if (ts.isTaggedTemplateExpression(node) && node.tag.getText() === 'sql') {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart());
      found.push({ place: `${file}:${line + 1}`, texts: textsOf(node.template) });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** Whether it is a fragment for the other database, or a statement that only PostgreSQL runs. */
function isOnlyFor(node: ts.Node, other: string): boolean {
  if (ts.isPropertyAssignment(node)) return node.name.getText() === other;
  return (
    other === 'postgres' && ts.isCallExpression(node) && node.expression.getText() === 'onPostgres'
  );
}

function textsOf(template: ts.TemplateLiteral): string[] {
  if (ts.isNoSubstitutionTemplateLiteral(template)) return [template.text];
  return [template.head.text, ...template.templateSpans.map(({ literal }) => literal.text)];
}

/** The places of templates that are in none of the statements. */
export function placesNotIn(
  statements: readonly string[],
  templates: readonly Template[],
): string[] {
  return templates
    .filter(({ texts }) => !statements.some((statement) => contains(statement, texts)))
    .map(({ place }) => place);
}

/** Whether the texts are in the statement, one after the other. */
function contains(statement: string, texts: readonly string[]): boolean {
  let from = 0;
  for (const text of texts) {
    const at = statement.indexOf(text, from);
    if (at === -1) return false;
    from = at + text.length;
  }
  return true;
}

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { expect, it } from 'vitest';

const store = path.resolve(import.meta.dirname, '../../src/server/store');
const begins = /(^|\.)(read|snapshot|write)$|^((db|this\.#db)\.)?(alone\.)?(all|get|one|run)$/;

/** The places where the code of a transaction begins another one. On SQLite, a read in it could not be detected. */
function nestedIn(file: string, text: string): string[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const visit = (node: ts.Node, isInside: boolean): void => {
    const callee = ts.isCallExpression(node) ? node.expression.getText() : '';
    const isBeginning = begins.test(callee);
    if (isInside && (isBeginning || callee.startsWith('store.'))) {
      found.push(`${file}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`);
    }
    ts.forEachChild(node, (child) => visit(child, isInside || isBeginning));
  };
  visit(source, false);
  return found;
}

it('begins no transaction inside of another', () => {
  const files = readdirSync(store, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.includes(`engine${path.sep}`),
  );

  expect(files.length).toBeGreaterThan(40);
  const nested = files.flatMap((file) =>
    nestedIn(file, readFileSync(path.join(store, file), 'utf8')),
  );
  expect(nested).toEqual([]);
});

it.each([
  'write(async (tx) => { await read((tx) => tx.get(one)); })',
  'db.leased.write(lease, async () => store.getRobot(id))',
  'read(() => db.alone.get(one))',
  'write(async (tx) => { await get(one); })',
])('would find one in %s', (text) => {
  expect(nestedIn('made-up.ts', text)).toHaveLength(1);
});

// `npm run lines`: code lines of .ts, .tsx and .js by folder, without blank lines, comments and imports.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

const roots = process.argv.length > 2 ? process.argv.slice(2) : ['src', 'test'];
let report = '';

for (const root of roots) {
  const sums = new Map();
  for (const file of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
    if (!/\.(tsx?|js)$/.test(file)) continue;
    const lines = codeLines(readFileSync(path.join(root, file), 'utf8'), file);
    const folders = path.dirname(file).split(path.sep).slice(0, 2);
    // Of `server/store/sqlite/tasks.ts`: the root itself, `server`, and `server/store`.
    const names = ['.', ...folders.map((_, i) => folders.slice(0, i + 1).join('/'))];
    for (const name of new Set(names)) sums.set(name, (sums.get(name) ?? 0) + lines);
  }
  for (const [name, lines] of [...sums].sort(([a], [b]) => a.localeCompare(b))) {
    report += `${String(lines).padStart(7)}  ${path.join(root, name)}\n`;
  }
}
// At once: `| head` closes the pipe after the first lines.
process.stdout.write(report);

/**
 * @param {string} text
 * @param {string} file
 */
function codeLines(text, file) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const lines = new Set();
  for (const statement of source.statements) {
    if (ts.isImportDeclaration(statement)) continue;
    collect(statement, lines, source);
  }
  return lines.size;
}

/**
 * Notes the lines that a token is on; comments are no tokens.
 *
 * @param {import('typescript').Node} node
 * @param {Set<number>} lines
 * @param {import('typescript').SourceFile} source
 */
function collect(node, lines, source) {
  const children = node.getChildren(source).filter(({ kind }) => kind !== ts.SyntaxKind.JSDoc);
  for (const child of children) collect(child, lines, source);
  if (children.length > 0 || node.getWidth(source) === 0) return;
  const first = source.getLineAndCharacterOfPosition(node.getStart(source)).line;
  const last = source.getLineAndCharacterOfPosition(node.getEnd()).line;
  // A text of several lines: those that are not blank.
  for (let line = first; line <= last; line += 1) {
    const [start, end] = [source.getLineStarts()[line], source.getLineStarts()[line + 1]];
    if (source.text.slice(start, end).trim() !== '') lines.add(line);
  }
}

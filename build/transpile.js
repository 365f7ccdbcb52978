// Transpiles src/ into dist/, file by file. Types are removed, not checked: `npm run typecheck` checks them.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { transformSync } from 'rolldown/utils';

/** Rolldown and Vite write these folders. */
const bundled = ['cli', 'dashboard'];

const folders = readdirSync('src').filter((folder) => !bundled.includes(folder));
for (const folder of folders) {
  // What was renamed in src must not stay in dist.
  rmSync(path.join('dist', folder), { recursive: true, force: true });
  for (const file of readdirSync(path.join('src', folder), { recursive: true, encoding: 'utf8' })) {
    if (/\.[jt]s$/.test(file)) transpile(path.join(folder, file));
  }
}

/** @param {string} file below src */
function transpile(file) {
  const source = path.join('src', file);
  const { code, errors } = transformSync(source, readFileSync(source, 'utf8'), {
    target: 'es2023',
    typescript: { onlyRemoveTypeImports: true, rewriteImportExtensions: 'rewrite' },
  });
  if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join('\n'));
  const target = path.join('dist', file).replace(/\.ts$/, '.js');
  mkdirSync(path.dirname(target), { recursive: true });
  // What imports dist is checked; dist itself was, as src.
  writeFileSync(target, `// @ts-nocheck\n${code}`);
}

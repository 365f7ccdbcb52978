// Transpiles src/ into dist/, file by file, and copies SQL. Types are removed, not checked: `npm run typecheck` checks
// them.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { transformSync } from 'rolldown/utils';

/** Rolldown and Vite write these folders. */
const bundled = ['cli', 'dashboard'];

const written = new Set();
const folders = readdirSync('src').filter((folder) => !bundled.includes(folder));
for (const folder of folders) {
  for (const file of filesIn(path.join('src', folder)))
    written.add(transpile(path.join(folder, file)));
  // What was renamed in src must not stay in dist. Last, for programs may run from there.
  for (const file of filesIn(path.join('dist', folder))) {
    const target = path.join('dist', folder, file);
    if (/\.(js|sql)$/.test(file) && !written.has(target)) rmSync(target);
  }
}

/** @param {string} folder */
function filesIn(folder) {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => /\.([jt]s|sql)$/.test(name));
}

/** @param {string} file below src */
function transpile(file) {
  const source = path.join('src', file);
  const target = path.join('dist', file).replace(/\.ts$/, '.js');
  mkdirSync(path.dirname(target), { recursive: true });
  if (file.endsWith('.sql')) {
    copyFileSync(source, target);
    return target;
  }
  const { code, errors } = transformSync(source, readFileSync(source, 'utf8'), {
    target: 'es2023',
    typescript: { onlyRemoveTypeImports: true, rewriteImportExtensions: 'rewrite' },
  });
  if (errors.length > 0)
    throw new Error(`${source}: ${errors.map(({ message }) => message).join('\n')}`);
  // What imports dist is checked; dist itself was, as src.
  writeFileSync(target, `// @ts-nocheck\n${code}`);
  return target;
}

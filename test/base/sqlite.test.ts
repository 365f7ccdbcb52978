import { expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { nativeModuleError } from '../../src/base/sqlite.ts';

const absent = Object.assign(new Error("Cannot find module 'better-sqlite3'\nRequire stack:"), {
  code: 'MODULE_NOT_FOUND',
});
const missing = new Error(
  'Could not locate the bindings file. Tried:\n → build/better_sqlite3.node',
);
const foreign = Object.assign(new Error('compiled against another NODE_MODULE_VERSION'), {
  code: 'ERR_DLOPEN_FAILED',
});

it.each([
  [
    'The package better-sqlite3 is not installed.',
    absent,
    /^Run npm install better-sqlite3@\d.* npm_config_nodedir /,
  ],
  [
    'The native module better-sqlite3 is not compiled.',
    missing,
    /^Run npm rebuild .* npm_config_nodedir /,
  ],
  [
    'The native module better-sqlite3 does not load in this Node.js.',
    foreign,
    /^Run npm rebuild .* npm_config_nodedir /,
  ],
])('reports: %s', (message, error, hint) => {
  expect(nativeModuleError(error)).toMatchObject({
    code: 'native_module_unusable',
    message,
    hint: expect.stringMatching(hint),
  });
});

it('reports the version of package.json', () => {
  const version = packageJson.dependencies['better-sqlite3'];

  expect(nativeModuleError(absent)?.hint).toContain(`better-sqlite3@${version} `);
});

it('leaves any other error unchanged', () => {
  expect(nativeModuleError(new Error('Cannot find a module'))).toBe(null);
});

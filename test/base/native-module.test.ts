import { afterEach, expect, it, vi } from 'vitest';
import { unusable } from '../../src/agent/spool/database.ts';
import { reportError } from '../../src/base/report-error.ts';

afterEach(() => vi.restoreAllMocks());

const missing = new Error(
  'Could not locate the bindings file. Tried:\n → build/better_sqlite3.node',
);
const foreign = Object.assign(new Error('compiled against another NODE_MODULE_VERSION'), {
  code: 'ERR_DLOPEN_FAILED',
});

it.each([
  ['is not compiled', missing],
  ['does not load in this Node.js', foreign],
])('says in one sentence that better-sqlite3 %s, and how to mend it', (state, error) => {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);

  expect(reportError('svc-server', error, {})).toBe(1);

  expect(write.mock.calls.map(([text]) => String(text).split('\n'))).toEqual([
    [
      `svc-server: The native module better-sqlite3 ${state}.`,
      expect.stringMatching(/^Run npm rebuild better-sqlite3 /),
      '',
    ],
  ]);
  expect(unusable('/spool', error).code).toBe('native_module_unusable');
});

it('still throws what is a bug', () => {
  expect(() => reportError('svc-server', new Error('a bug'), {})).toThrow('a bug');
});

import { expect, it } from 'vitest';
import { reportError } from '../../src/base/report-error.ts';

it('rethrows a bug', () => {
  expect(() => reportError('svc-server', new Error('a bug'), {})).toThrow('a bug');
});

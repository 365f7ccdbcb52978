// The errors of a start on a schema of another version.

import { SvcError } from '../../../base/svc-error.ts';

export function schemaTooOld(found: number, known: number): SvcError {
  return new SvcError(
    'schema_too_old',
    `The database has schema ${found}; this version works with schema ${known}.`,
    { hint: 'Run `svc-server migrate` with this version.' },
  );
}

export function schemaTooNew(found: number, known: number): SvcError {
  return new SvcError(
    'schema_too_new',
    `The database has schema ${found}; this version knows schemas up to ${known}.`,
    { hint: 'Use the version of svc-server that wrote the database, or a newer one.' },
  );
}

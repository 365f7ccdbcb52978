// Gives store code its transactions on SQLite.

import type { Triggers } from '../../../../base/async/triggers.ts';
import { whileOwned } from '../../anchoring/leases.ts';
import { type Db, singleStatements } from '../../db/database.ts';
import type { LogPurge } from './log-purge.ts';

interface Parts extends Pick<Db, 'read' | 'write'> {
  log: LogPurge;
  triggers: Triggers;
}

export function sqliteDb({ read, write, log, triggers }: Parts): Db {
  return {
    ...singleStatements(read, write),
    read,
    snapshot: read,
    leased: {
      read: (lease, work) => read(whileOwned('read', lease, work)),
      write: (lease, work) => write(whileOwned('write', lease, work)),
    },
    write,
    deletions: { rowsAtOnce: 1, msPerCommit: 5 },
    isInProcess: true,
    wake(topics) {
      for (const topic of topics) triggers.wake(topic);
    },
    pollMs: null,
    presence: () => null,
    purgeLog: log.purge,
    joinLogPurge: log.join,
  };
}

/** The journal of disk changes: building the library that writes it, and reading it. */
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';

/** The numbers of `disk-journal.c`. */
const operations = [
  'create',
  'write',
  'truncate',
  'extend',
  'rename',
  'link',
  'unlink',
  'mkdir',
  'rmdir',
  'sync-begin',
  'sync-end',
  'map',
] as const;

export interface JournalRecord {
  readonly operation: (typeof operations)[number];
  /** Inode. Several files can have the same one after another. */
  readonly file: bigint;
  /** Of a write; the new size for `truncate` and `extend`; the id of a sync. */
  readonly offset: bigint;
  /** Below the watched folder, which itself is ''. */
  readonly path: string;
  /** What was written; the new path for `rename` and `link`. */
  readonly data: Buffer;
  /** Position in the journal after this record. */
  readonly end: number;
}

const HEADER_BYTES = 24;

export interface Journal {
  readonly file: string;
  /** The environment of a process whose changes below `root` are recorded. */
  readonly environment: Record<string, string>;
  /** Everything recorded so far is before this position. */
  position(): number;
  records(): JournalRecord[];
}

export interface JournalOptions {
  /** For the library and the journal. */
  folder: string;
  /** The folder to watch, without links in its path. */
  root: string;
  /** How long the simulated disk takes to sync, in ms. */
  syncMs: number;
}

/** Builds the library with the C compiler. @throws Error off Linux or without a compiler. */
export function openJournal({ folder, root, syncMs }: JournalOptions): Journal {
  if (process.platform !== 'linux') throw new Error('The power-cut campaign runs on Linux only.');
  const library = path.join(folder, 'disk-journal.so');
  const source = path.join(import.meta.dirname, 'disk-journal.c');
  try {
    execFileSync('cc', ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl', '-lpthread'], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  } catch (cause) {
    throw new Error('Cannot build disk-journal.c: install a C compiler (cc) and glibc headers.', {
      cause,
    });
  }
  const file = path.join(folder, 'journal');
  return {
    file,
    environment: {
      LD_PRELOAD: library,
      POWER_ROOT: root,
      POWER_JOURNAL: file,
      POWER_SYNC_US: String(syncMs * 1000),
      // io_uring bypasses libc.
      UV_USE_IO_URING: '0',
    },
    position: () => statSync(file).size,
    records: () => readRecords(readFileSync(file)),
  };
}

function readRecords(journal: Buffer): JournalRecord[] {
  const records: JournalRecord[] = [];
  for (let at = 0; at < journal.length; ) {
    const end = at + journal.readUInt32LE(at);
    const operation = operations[journal.readUInt16LE(at + 4) - 1];
    if (operation === undefined || end > journal.length) throw new Error('The journal is damaged.');
    const data = at + HEADER_BYTES + journal.readUInt16LE(at + 6);
    records.push({
      operation,
      file: journal.readBigUInt64LE(at + 8),
      offset: journal.readBigUInt64LE(at + 16),
      path: journal.toString('utf8', at + HEADER_BYTES, data),
      data: journal.subarray(data, end),
      end,
    });
    at = end;
  }
  return records;
}

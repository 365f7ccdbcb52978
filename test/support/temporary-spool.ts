import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { RecordKind, SpoolRecord } from '../../src/agent/spool/records.ts';
import { openSpool, type Spool, type SpoolOptions } from '../../src/agent/spool/spool.ts';
import { canonicalJson } from '../../src/proof/canonical-json.ts';
import { createAgentClock } from './agent-clock.ts';

export const MIB = 1024 * 1024;

/** A spool in a folder of its own, that can be closed and opened again. */
export function createTemporarySpool(options: Partial<SpoolOptions> = {}) {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-spool-'));
  const clock = createAgentClock();
  const opened = new Set<Spool>();
  const open = (more: Partial<SpoolOptions> = {}) => {
    const spool = openSpool({ folder, maxBytes: 256 * MIB, clock, ...options, ...more });
    opened.add(spool);
    return spool;
  };
  const close = (spool: Spool) => {
    opened.delete(spool);
    spool.close();
  };
  return {
    folder,
    clock,
    open,
    close,
    record: (kind: RecordKind, content: object, id: string = randomUUID()): SpoolRecord => ({
      kind,
      id,
      ...clock.now(),
      body: canonicalJson(content),
    }),
    remove() {
      for (const spool of opened) spool.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Opens a spool after a power cut, and looks for what the agent had answered. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { checkSpool } from '../../../src/agent/spool/database.ts';
import { openSpool } from '../../../src/agent/spool/spool.ts';
import { createAgentClock } from '../../support/agent-clock.ts';
import { MIB } from '../../support/temporary-spool.ts';
import type { Fact } from './facts.ts';
import { type Findings, lostOf } from './server-check.ts';

const kinds = {
  claim: { sql: 'SELECT id FROM claims' },
  completion: { sql: "SELECT id || ' ' || proof_hash FROM completions" },
  sample: { sql: 'SELECT id FROM samples' },
  event: { sql: 'SELECT id FROM events' },
};

/** As a start of the agent and `svc-agent spool check` do. A power cut must not need a salvage. */
export function checkAgentDisk(root: string, facts: readonly Fact[]): Findings {
  const folder = path.join(root, 'state');
  const file = path.join(folder, 'spool.db');
  if (!existsSync(file)) return { lost: [...facts], corrupt: [] };
  const corrupt: string[] = [];
  try {
    openSpool({
      folder,
      maxBytes: 256 * MIB,
      clock: createAgentClock(),
      onDamage: ({ file: damaged }) => corrupt.push(`${damaged} was set aside`),
    }).close();
    checkSpool(folder);
  } catch (error) {
    return { lost: [...facts], corrupt: [...corrupt, String(error)] };
  }
  const db = new Database(file, { readonly: true });
  try {
    return { lost: lostOf(db, facts, kinds), corrupt };
  } finally {
    db.close();
  }
}

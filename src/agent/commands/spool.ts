// `svc-agent spool`: exports and compacts the spool of a stopped daemon.
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { SvcError } from '../../base/svc-error.ts';
import { machineClock } from '../clock.ts';
import { environmentOfAgent } from '../installation.ts';
import type { Spool } from '../spool/spool.ts';

const PAGE = 100;

export function addCommands(program: Command): void {
  const spool = program.command('spool').description('Look after the spool of a stopped daemon');
  spool
    .command('export')
    .description('Print every record that is not delivered, and those set aside, as JSON lines')
    .addHelpText('after', '\nExample:\n  svc-agent spool export > spool.jsonl')
    .action(() => exportSpool(process.env));
  spool
    .command('compact')
    .description('Give the disk back what delivered records took')
    .action(() => compactSpool(process.env));
}

/** Prints one line for each record. @throws SvcError `spool_locked` while a daemon runs */
async function exportSpool(environment: NodeJS.ProcessEnv): Promise<void> {
  const { spool, folder } = await open(environment);
  let count = 0;
  try {
    for (const record of recordsOf(spool)) {
      const { kind, id, wallMs, body, ...rest } = record;
      const accepted_at = new Date(wallMs).toISOString();
      const line = { kind, id, accepted_at, ...rest, body: JSON.parse(body) };
      if (!process.stdout.write(`${JSON.stringify(line)}\n`)) await once(process.stdout, 'drain');
      count += 1;
    }
    process.stderr.write(`${count} records of ${folder}.\n`);
  } finally {
    spool.close();
  }
}

interface Exported {
  kind: string;
  id: string;
  wallMs: number;
  body: string;
  /** Set on refused records. */
  refused?: { code: string; message: string };
}

function* recordsOf(spool: Spool): Generator<Exported> {
  for (const { kind, id } of spool.read(({ tasks }) => tasks.uploads(Number.MAX_SAFE_INTEGER))) {
    const claim = spool.findClaim(id);
    if (kind === 'claim' && claim !== null) yield pick(claim);
    const completion = spool.findCompletion(id);
    if (completion !== null) yield pick(completion);
  }
  for (const event of inPages((after) => spool.read(({ events }) => events.read(PAGE, after)))) {
    yield pick(event);
  }
  const ends = spool.read(({ samples }) => samples.ends());
  for (let first = ends?.first ?? 0; ends && first <= ends.last; first += PAGE) {
    const range = { firstSeq: first, lastSeq: first + PAGE - 1 };
    for (const sample of spool.read(({ samples }) => samples.read(range))) yield pick(sample);
  }
  const refused = inPages((after) => spool.read(({ settled }) => settled.refused(PAGE, after)));
  for (const { code, message, ...record } of refused) {
    yield { ...pick(record), refused: { code, message } };
  }
}

/** Reads in pages, because all records may not fit into memory. */
function* inPages<T extends { seq: number }>(read: (after: number) => T[]): Generator<T> {
  for (let after = 0; ; ) {
    const page = read(after);
    yield* page;
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.seq;
  }
}

function pick({ kind, id, wallMs, body }: Exported): Exported {
  return { kind, id, wallMs, body };
}

/** @throws SvcError `spool_locked` while a daemon runs */
async function compactSpool(environment: NodeJS.ProcessEnv): Promise<void> {
  const { spool, folder } = await open(environment);
  try {
    const before = spool.bytesOnDisk();
    spool.compact();
    const now = spool.bytesOnDisk();
    process.stderr.write(`${folder}: ${before} bytes before, ${now} now.\n`);
  } finally {
    spool.close();
  }
}

async function open(own: NodeJS.ProcessEnv): Promise<{ spool: Spool; folder: string }> {
  const { readConfig } = await import('../config.ts');
  const { becomeOwnerOf } = await import('../spool/database.ts');
  const { openSpool } = await import('../spool/spool.ts');
  const { stateDir: folder, spoolBytes: maxBytes } = readConfig(await environmentOfAgent(own));
  if (!existsSync(path.join(folder, 'spool.db'))) {
    throw new SvcError('usage', `There is no spool in ${folder}.`, {
      hint: 'Set SVC_AGENT_STATE_DIR as the daemon has it, and run it as root or as its account.',
    });
  }
  // Until the process ends: every file that it writes must belong to the agent.
  becomeOwnerOf(folder);
  return { spool: openSpool({ folder, maxBytes, clock: machineClock() }), folder };
}

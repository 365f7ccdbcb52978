/** The power-cut campaign: one recorded load, then many cuts of its disk. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Counts } from '../counts.ts';
import { type Random, randomOf } from '../random.ts';
import { checkAgentDisk } from './agent-check.ts';
import { loadAgent } from './agent-load.ts';
import {
  type DataLoss,
  isLog,
  isRebuilt,
  type Loss,
  type NameLoss,
  SimulatedDisk,
} from './disk.ts';
import type { Fact, Facts } from './facts.ts';
import { type JournalRecord, openJournal } from './journal.ts';
import { checkServerDisk, type Findings } from './server-check.ts';
import { type LoadOptions, loadServer } from './server-load.ts';

export type Program = 'server' | 'agent';

interface Subject {
  load(options: LoadOptions): Promise<Facts>;
  check(root: string, facts: readonly Fact[]): Findings | Promise<Findings>;
}

const subjects: Record<Program, Subject> = {
  server: { load: loadServer, check: checkServerDisk },
  agent: { load: loadAgent, check: checkAgentDisk },
};

export interface CampaignOptions {
  seed: string;
  cuts: number;
  /** How long each of the three parts of the load lasts, in ms. */
  partMs: number;
  /** Treats syncs of the write-ahead log as if they did nothing. */
  forgetSyncs: boolean;
  onCut?: (done: number) => void;
}

export interface Failure {
  /** Position in the journal. */
  cut: number;
  loss: Loss;
  lost: readonly Fact[];
  corrupt: readonly string[];
  /** Where the disk after the cut is kept. */
  disk: string;
}

export interface CampaignReport {
  program: Program;
  cuts: number;
  records: number;
  syncs: number;
  /** Answers that the load got, by kind. */
  answers: Counts;
  /** Answers looked for after all cuts together. */
  checked: number;
  lost: number;
  /** Disks that the program found damaged. */
  corrupt: number;
  /** Cuts at which the log had changes that no sync covered. */
  unsynced: number;
  failures: readonly Failure[];
  /**
   * The same disk with forgotten syncs of the log: cuts, and how many of them lost an answer or damaged a file. A
   * campaign that finds nothing here would find nothing at all. Null where all cuts forget the syncs.
   */
  control: { cuts: number; found: number } | null;
  seconds: number;
}

/** Failed disks that are kept; the others are only counted. */
const KEPT_DISKS = 3;
const CONTROL_CUTS = 8;
/** Of the simulated disk. A slow one has more unsynced changes at a time. */
const SYNC_MS = 2;
/** Nothing after the last sync survives. */
const HARSHEST: Loss = { data: 'lost', names: 'journaled' };

const dataLosses: readonly DataLoss[] = ['lost', 'kept', 'cut-off', 'scattered', 'mixed'];
const nameLosses: readonly NameLoss[] = ['journaled', 'strict', 'strict-lost'];

export async function runPowerCampaign(
  program: Program,
  { seed, cuts, partMs, forgetSyncs, onCut }: CampaignOptions,
): Promise<CampaignReport> {
  const startedAt = performance.now();
  const random = randomOf(`${seed} ${program}`);
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'svc-power-')));
  let isKept = false;
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', remove);
  try {
    const root = path.join(folder, 'disk');
    mkdirSync(root);
    const journal = openJournal({ folder, root, syncMs: SYNC_MS });
    const facts = await subjects[program].load({ journal, root, partMs, random });
    const records = journal.records();
    requireWhole(records, root);
    rmSync(journal.file);
    rmSync(root, { recursive: true });
    const trial = { program, folder, records, facts, seed };
    const result = await performCuts({ ...trial, cuts, forgetSyncs, onCut });
    isKept = result.failures.length > 0;
    const control = forgetSyncs
      ? null
      : await performCuts({ ...trial, cuts: CONTROL_CUTS, forgetSyncs: true, loss: HARSHEST });
    return {
      program,
      cuts,
      records: records.length,
      syncs: records.filter(({ operation }) => operation === 'sync-end').length,
      answers: facts.counts(),
      ...result,
      control: control && { cuts: CONTROL_CUTS, found: control.found },
      seconds: (performance.now() - startedAt) / 1000,
    };
  } finally {
    process.off('exit', remove);
    // Of a kept folder only the disks are of use.
    for (const name of isKept ? ['disk-journal.so', 'service'] : ['.']) {
      rmSync(path.join(folder, name), { recursive: true, force: true });
    }
  }
}

/** The files that the journal leads to are those that the programs left, or the journal misses a change. */
function requireWhole(records: readonly JournalRecord[], root: string): void {
  const disk = new SimulatedDisk();
  for (const record of records) disk.apply(record);
  const files = disk.files();
  const found = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => path.relative(root, path.join(parentPath, name)))
    .filter((name) => !isRebuilt(name));
  for (const name of new Set([...files.keys(), ...found])) {
    if (files.get(name)?.equals(readFileSync(path.join(root, name)))) continue;
    throw new Error(`The journal does not lead to the content of ${name}.`);
  }
}

interface Cutting {
  program: Program;
  folder: string;
  records: readonly JournalRecord[];
  facts: Facts;
  seed: string;
  cuts: number;
  forgetSyncs: boolean;
  /** The same for each cut; by chance unless given. No disk is kept then. */
  loss?: Loss;
  onCut?: ((done: number) => void) | undefined;
}

async function performCuts({ program, folder, records, facts, seed, ...options }: Cutting) {
  const { cuts, forgetSyncs, onCut } = options;
  const disk = new SimulatedDisk(forgetSyncs ? { forgetsSyncOf: isLog } : {});
  const result = {
    checked: 0,
    lost: 0,
    corrupt: 0,
    unsynced: 0,
    found: 0,
    failures: [] as Failure[],
  };
  const chance = randomOf(`${seed} ${program} cuts`);
  let applied = 0;
  for (const [number, position] of cutPositions(records, facts, chance, cuts).entries()) {
    for (let next = records[applied]; next && next.end <= position; next = records[applied]) {
      disk.apply(next);
      applied += 1;
    }
    const where = path.join(folder, `${options.loss === undefined ? 'cut' : 'control'}-${number}`);
    const loss = options.loss ?? { data: chance.pick(dataLosses), names: chance.pick(nameLosses) };
    const cutPower = () => {
      mkdirSync(where);
      disk.cut(where, loss, randomOf(`${seed} ${program} ${number}`));
    };
    cutPower();
    if (disk.hasUnsyncedLog) result.unsynced += 1;
    const expected = facts.at(position);
    const { lost, corrupt } = await subjects[program].check(where, expected);
    result.checked += expected.length;
    result.lost += lost.length;
    if (corrupt.length > 0) result.corrupt += 1;
    rmSync(where, { recursive: true });
    const isHarmed = lost.length + corrupt.length > 0;
    if (isHarmed) result.found += 1;
    if (isHarmed && options.loss === undefined && result.failures.length < KEPT_DISKS) {
      // As it was before the check opened it.
      cutPower();
      result.failures.push({ cut: position, loss, lost, corrupt, disk: where });
    }
    onCut?.(number + 1);
  }
  return result;
}

/** Records of the creation of a database. */
const CREATION_RECORDS = 200;

/**
 * In order. Of ten cuts five come right after an answer, where the answered change is the newest, one during the creation
 * of the database and the rest anywhere.
 */
function cutPositions(
  records: readonly JournalRecord[],
  facts: Facts,
  random: Random,
  cuts: number,
): number[] {
  const answers = facts.positions();
  const creation = records.slice(0, CREATION_RECORDS);
  return Array.from({ length: cuts }, (_, i) => {
    if (i % 2 === 0) return random.pick(answers);
    return random.pick(i % 10 === 1 ? creation : records).end;
  }).sort((a, b) => a - b);
}

const SHOWN = 5;

/** A few lines: the cut, and the first of what it lost or damaged. */
export function textOfFailure({ cut, loss, lost, corrupt, disk }: Failure): string {
  const some = lost.slice(0, SHOWN).map(({ kind, key }) => `  lost: ${kind} ${key}`);
  const more = lost.length > SHOWN ? [`  lost: ${lost.length - SHOWN} more`] : [];
  const damage = corrupt.slice(0, SHOWN).map((one) => `  damaged: ${one}`);
  const title = `cut at ${cut}, data ${loss.data}, names ${loss.names}, disk kept in ${disk}`;
  return [title, ...some, ...more, ...damage].join('\n');
}

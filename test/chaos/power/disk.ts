/** A simulated disk: what it can hold after a power cut, given the changes and syncs before the cut. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Random } from '../random.ts';
import type { JournalRecord } from './journal.ts';

/** Disks write sectors whole. SQLite relies on it as well ("powersafe overwrite"). */
const SECTOR_BYTES = 512;

/**
 * What becomes of the changes of a file since its last sync.
 *
 * - `lost`, `kept`: all of them.
 * - `cut-off`: those before some instant; the write at that instant is torn between two sectors.
 * - `scattered`: each sector, and each change of size, by chance, as if the disk had reordered them.
 * - `mixed`: one of these for each file.
 */
export type DataLoss = 'lost' | 'kept' | 'cut-off' | 'scattered' | 'mixed';

/**
 * What becomes of new, renamed and removed names.
 *
 * - `journaled`: like ext4, whose journal commits metadata in order. A sync of any file or folder makes all earlier
 *   names durable. Of the later ones those before some instant survive.
 * - `strict`: what POSIX promises. Only a sync of the folder makes its names durable. Each later change survives by chance.
 * - `strict-lost`: the same, and no later change survives.
 */
export type NameLoss = 'journaled' | 'strict' | 'strict-lost';

export interface Loss {
  data: DataLoss;
  names: NameLoss;
}

export interface DiskOptions {
  /** Syncs of these files do nothing. */
  forgetsSyncOf?: (path: string) => boolean;
}

type Change = { at: number; offset: number; data: Buffer } | { at: number; size: number } | Extend;
interface Extend {
  at: number;
  atLeast: number;
}

interface FileOnDisk {
  durable: Content;
  pending: Change[];
}

type Names = Map<string, FileOnDisk | 'folder'>;

interface NameChange {
  at: number;
  folders: string[];
  apply(names: Names): void;
}

/** Durable names, and changes of names since. */
interface Directory {
  durable: Names;
  pending: NameChange[];
}

/** The index of the write-ahead log. SQLite writes it through a memory map, never syncs it, and rebuilds it after a crash. */
export function isRebuilt(name: string): boolean {
  return name.endsWith('-shm');
}

export function isLog(name: string): boolean {
  return name.endsWith('-wal');
}

export class SimulatedDisk {
  readonly #options: DiskOptions;
  readonly #byInode = new Map<bigint, FileOnDisk>();
  /** Names as the programs see them. */
  readonly #live: Names = new Map([['', 'folder']]);
  readonly #journaled: Directory = { durable: new Map([['', 'folder']]), pending: [] };
  readonly #strict: Directory = { durable: new Map([['', 'folder']]), pending: [] };
  readonly #syncsBegun = new Map<bigint, number>();
  #at = 0;

  constructor(options: DiskOptions = {}) {
    this.#options = options;
  }

  apply(record: JournalRecord): void {
    this.#at += 1;
    if (isRebuilt(record.path)) return;
    const { operation, path: name } = record;
    const offset = Number(record.offset);
    switch (operation) {
      case 'create':
        this.#create(record);
        break;
      case 'write':
        this.#change(record, { at: this.#at, offset, data: record.data });
        break;
      case 'truncate':
        this.#change(record, { at: this.#at, size: offset });
        break;
      case 'extend':
        this.#change(record, { at: this.#at, atLeast: offset });
        break;
      case 'rename':
      case 'link':
        this.#move(operation, name, record.data.toString());
        break;
      case 'unlink':
      case 'rmdir':
        this.#name([name], (names) => names.delete(name));
        break;
      case 'mkdir':
        this.#name([name], (names) => names.set(name, 'folder'));
        break;
      case 'sync-begin':
        this.#syncsBegun.set(record.offset, this.#at);
        break;
      case 'sync-end':
        this.#sync(record);
        break;
      case 'map':
        throw new Error(`${name} is written through a memory map, which no journal can record.`);
    }
  }

  /** Writes what a power cut now leaves into `folder`. */
  cut(folder: string, loss: Loss, random: Random): void {
    const names = namesAfter(loss.names === 'journaled' ? this.#journaled : this.#strict, {
      survives: survivalOf(loss.names, random),
    });
    write(folder, names, (file) => contentAfter(file, loss.data, random));
  }

  /** Whether a write-ahead log has changes that no sync covered. */
  get hasUnsyncedLog(): boolean {
    return [...this.#live].some(
      ([name, file]) => isLog(name) && file !== 'folder' && file.pending.length > 0,
    );
  }

  /** The files as the programs see them. */
  files(): Map<string, Buffer> {
    const found = new Map<string, Buffer>();
    for (const [name, file] of this.#live) {
      if (file !== 'folder') found.set(name, contentAfter(file, 'kept', null));
    }
    return found;
  }

  #create({ file, path: name }: JournalRecord): void {
    const created: FileOnDisk = { durable: new Content(), pending: [] };
    this.#byInode.set(file, created);
    this.#name([name], (names) => names.set(name, created));
  }

  #change({ file, path: name }: JournalRecord, change: Change): void {
    const found = this.#byInode.get(file);
    if (found === undefined) throw new Error(`The journal misses the creation of ${name}.`);
    found.pending.push(change);
  }

  #move(operation: 'rename' | 'link', from: string, to: string): void {
    const moved = this.#live.get(from);
    if (moved === undefined || moved === 'folder' || to === '') {
      throw new Error(`The campaign cannot follow the ${operation} of ${from} to ${to}.`);
    }
    this.#name([from, to], (names) => {
      // Another file can have the old name where an earlier change was lost.
      if (operation === 'rename' && names.get(from) === moved) names.delete(from);
      names.set(to, moved);
    });
  }

  #name(changed: string[], apply: (names: Names) => void): void {
    apply(this.#live);
    const change = { at: this.#at, folders: changed.map(parentOf), apply };
    this.#journaled.pending.push(change);
    this.#strict.pending.push(change);
  }

  #sync({ file, path: name, offset }: JournalRecord): void {
    const begun = this.#syncsBegun.get(offset) ?? 0;
    this.#syncsBegun.delete(offset);
    const isFolder = this.#live.get(name) === 'folder';
    if (!isFolder && this.#options.forgetsSyncOf?.(name)) return;
    settle(this.#journaled, ({ at }) => at < begun);
    if (isFolder) {
      settle(this.#strict, ({ at, folders }) => at < begun && folders.includes(name));
      return;
    }
    const synced = this.#byInode.get(file);
    if (synced === undefined) throw new Error(`The journal misses the creation of ${name}.`);
    while (synced.pending[0] !== undefined && synced.pending[0].at < begun) {
      synced.durable.apply(synced.pending.shift() as Change);
    }
  }
}

function parentOf(name: string): string {
  const parent = path.dirname(name);
  return parent === '.' ? '' : parent;
}

function settle(directory: Directory, isDurable: (change: NameChange) => boolean): void {
  const settled = directory.pending.filter(isDurable);
  directory.pending = directory.pending.filter((change) => !isDurable(change));
  for (const { apply } of settled) apply(directory.durable);
}

function survivalOf(loss: NameLoss, random: Random): (index: number, of: number) => boolean {
  if (loss === 'strict-lost') return () => false;
  if (loss === 'strict') return () => random.chance(0.5);
  const fraction = random.fraction();
  return (index, of) => index < Math.floor(fraction * (of + 1));
}

function namesAfter(
  { durable, pending }: Directory,
  { survives }: { survives: (index: number, of: number) => boolean },
): Names {
  const names: Names = new Map(durable);
  pending.forEach((change, index) => {
    if (survives(index, pending.length)) change.apply(names);
  });
  return names;
}

function write(folder: string, names: Names, contentOf: (file: FileOnDisk) => Buffer): void {
  const isReachable = (name: string): boolean =>
    name === '' || (names.get(name) === 'folder' && isReachable(parentOf(name)));
  for (const name of [...names.keys()].sort()) {
    const file = names.get(name);
    if (file === undefined || !isReachable(parentOf(name))) continue;
    const where = path.join(folder, name);
    if (file === 'folder') mkdirSync(where, { recursive: true });
    else writeFileSync(where, contentOf(file));
  }
}

function contentAfter(file: FileOnDisk, loss: DataLoss, random: Random | null): Buffer {
  const content = file.durable.copy();
  const { pending } = file;
  const kind =
    loss === 'mixed' && random !== null
      ? random.pick(['lost', 'kept', 'cut-off', 'scattered'] as const)
      : loss;
  if (kind === 'kept') {
    for (const change of pending) content.apply(change);
  } else if (kind === 'cut-off' && random !== null) {
    const survivors = random.between(0, pending.length);
    for (const change of pending.slice(0, survivors)) content.apply(change);
    const torn = pending[survivors];
    if (torn !== undefined && 'data' in torn) {
      const sectors = sectorsOf(torn);
      for (const sector of sectors.slice(0, random.between(0, sectors.length))) {
        content.apply(sector);
      }
    }
  } else if (kind === 'scattered' && random !== null) {
    const survival = random.fraction();
    for (const change of pending) {
      const parts = 'data' in change ? sectorsOf(change) : [change];
      for (const part of parts) if (random.chance(survival)) content.apply(part);
    }
  }
  return content.bytes();
}

function sectorsOf({ at, offset, data }: Extract<Change, { data: Buffer }>) {
  const sectors: Extract<Change, { data: Buffer }>[] = [];
  for (let from = 0; from < data.length; ) {
    const to = from + SECTOR_BYTES - ((offset + from) % SECTOR_BYTES);
    sectors.push({ at, offset: offset + from, data: data.subarray(from, to) });
    from = to;
  }
  return sectors;
}

/** Bytes of a file. Bytes between its end and a later write are zero. */
class Content {
  #bytes = Buffer.alloc(0);
  #length = 0;

  apply(change: Change): void {
    if ('data' in change) {
      this.#grow(change.offset + change.data.length);
      change.data.copy(this.#bytes, change.offset);
    } else if ('atLeast' in change) {
      this.#grow(change.atLeast);
    } else {
      this.#grow(change.size);
      this.#bytes.fill(0, change.size, this.#length);
      this.#length = change.size;
    }
  }

  copy(): Content {
    const copy = new Content();
    copy.#bytes = Buffer.from(this.#bytes.subarray(0, this.#length));
    copy.#length = this.#length;
    return copy;
  }

  bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  #grow(length: number): void {
    if (length > this.#bytes.length) {
      const grown = Buffer.alloc(Math.max(length, this.#bytes.length * 2));
      this.#bytes.copy(grown, 0, 0, this.#length);
      this.#bytes = grown;
    }
    this.#length = Math.max(this.#length, length);
  }
}

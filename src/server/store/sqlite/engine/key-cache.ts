// Caches robots by the hashes of their keys, because the first read after a commit is slow.

import type { Database } from 'better-sqlite3';
import type { RobotCaller } from '../../../ports/robots.ts';
import type { Access } from './connections.ts';

type KeyOwner = Omit<RobotCaller, 'keyHash'>;

/** Keys per generation, about 300 bytes each. There are two generations. */
const KEYS_PER_GENERATION = 20_000;

export interface RobotKeys {
  /** The robot whose key has this hash: from the cache, or from `find`, which reads the database. */
  ownerOf(keyHash: string, find: () => KeyOwner | undefined): KeyOwner | undefined;
  /** Forgets the keys that the commit ended. Call it when a commit is durable, before a read sees it. */
  onDurable(): void;
}

/**
 * Caches robots by key hash. Each commit empties the page cache of the reading connection, and fetching the pages again
 * takes longer than the rest of the authentication.
 *
 * The cache holds what a read would find. A trigger reports each key that a statement of this process ends; the cache
 * forgets it once that commit is durable. A write of another process changes SQLite's data version, which is read once
 * per turn of the event loop: then the cache forgets everything, and keeps nothing from reads that may have begun
 * before that write.
 */
export function robotKeys({ writer, reader }: Pick<Access, 'writer' | 'reader'>): RobotKeys {
  const owners = new OwnerCache();
  const ended = watchEnds(writer);
  const dataVersion = writer.prepare<[], number>('PRAGMA data_version').pluck();
  let version: number | null = null;
  let isChecked = false;
  /** True if reads see at least the state of `version`. */
  let isSeen = false;

  function checkVersion(): void {
    if (isChecked) return;
    const found = currentVersion(dataVersion);
    if (found === null || found !== version) {
      owners.clear();
      version = found;
      isSeen = false;
    }
    isSeen ||= version !== null && !reader.inTransaction;
    isChecked = true;
    setImmediate(() => {
      isChecked = false;
    });
  }

  return {
    ownerOf(keyHash, find) {
      checkVersion();
      const cached = owners.get(keyHash);
      if (cached !== undefined) return cached;
      const owner = find();
      if (owner !== undefined && isSeen) owners.keep(keyHash, owner);
      return owner;
    },
    onDurable() {
      for (const keyHash of ended.splice(0)) owners.delete(keyHash);
      // The snapshot was just left, so the next read sees at least `version`.
      isSeen ||= version !== null;
    },
  };
}

/**
 * Two generations: a full young one replaces the old one. Deleting the oldest entry of a single map takes longer than
 * the lookup of a key (16 µs), because the map walks over all entries deleted before.
 */
class OwnerCache {
  #young = new Map<string, KeyOwner>();
  #old = new Map<string, KeyOwner>();

  get(keyHash: string): KeyOwner | undefined {
    const young = this.#young.get(keyHash);
    if (young !== undefined) return young;
    const old = this.#old.get(keyHash);
    if (old !== undefined) this.keep(keyHash, old);
    return old;
  }

  keep(keyHash: string, owner: KeyOwner): void {
    if (this.#young.size === KEYS_PER_GENERATION) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(keyHash, owner);
  }

  delete(keyHash: string): void {
    this.#young.delete(keyHash);
    this.#old.delete(keyHash);
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
  }
}

/** `null` on an error. The read that follows reports the same error. */
function currentVersion(dataVersion: { get(): number | undefined }): number | null {
  try {
    return dataVersion.get() ?? null;
  } catch {
    return null;
  }
}

/** The hashes of the keys that statements of this connection end. The triggers append to it while a statement runs. */
function watchEnds(writer: Database): string[] {
  const ended: string[] = [];
  writer.function('key_ended', (keyHash: unknown) => {
    if (typeof keyHash === 'string') ended.push(keyHash);
    return null;
  });
  writer.exec(`
    CREATE TEMP TRIGGER robot_key_changed AFTER UPDATE OF key_hash ON main.robots BEGIN
      SELECT key_ended(OLD.key_hash);
    END;
    CREATE TEMP TRIGGER robot_key_deleted AFTER DELETE ON main.robots BEGIN
      SELECT key_ended(OLD.key_hash);
    END;
  `);
  return ended;
}

import type { Database } from 'better-sqlite3';
import type { RobotCaller } from '../../../ports/robots.ts';
import type { Access } from './connections.ts';

type KeyOwner = Omit<RobotCaller, 'keyHash'>;

/** The keys asked for last, some 300 bytes each; up to twice as many are kept. */
const KEPT_KEYS = 20_000;

export interface RobotKeys {
  /** Whose key has this hash: as it was found before, else by `find`, which asks the database as reads do. */
  ownerOf(keyHash: string, find: () => KeyOwner | undefined): KeyOwner | undefined;
  /** Call when a commit is durable, before a read sees it. */
  onDurable(): void;
}

/**
 * Robots by the hashes of their keys, kept in memory: after each commit the pages of a read have to be fetched anew,
 * which takes longer than all else that authenticates a call.
 *
 * What is kept is what a read would find. A trigger tells of each key that a statement of this process ends, and it is
 * forgotten once that is durable. A write of another process changes SQLite's data version, asked once in a turn of
 * the event loop: everything is forgotten, and nothing kept that a read found which may have begun before that.
 */
export function robotKeys({ writer, reader }: Pick<Access, 'writer' | 'reader'>): RobotKeys {
  const owners = new KeptOwners();
  const ended = watchEnds(writer);
  const dataVersion = writer.prepare<[], number>('PRAGMA data_version').pluck();
  let version: number | null = null;
  let isChecked = false;
  /** Reads see at least what `version` stands for. */
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
      const kept = owners.get(keyHash);
      if (kept !== undefined) return kept;
      const owner = find();
      if (owner !== undefined && isSeen) owners.keep(keyHash, owner);
      return owner;
    },
    onDurable() {
      for (const keyHash of ended.splice(0)) owners.delete(keyHash);
      // No read has begun yet.
      isSeen ||= version !== null;
    },
  };
}

/**
 * Two generations: a full one takes the place of the one before it. To forget the first of one map alone takes longer
 * than to look the key up, for the map walks over all that it forgot before.
 */
class KeptOwners {
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
    if (this.#young.size === KEPT_KEYS) {
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

/** Null where SQLite cannot say: the read that follows tells why. */
function currentVersion(dataVersion: { get(): number | undefined }): number | null {
  try {
    return dataVersion.get() ?? null;
  } catch {
    return null;
  }
}

/** Hashes of keys that robots had before a statement of this connection, filled as it runs. */
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

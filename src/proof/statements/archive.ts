// Checks an archive: all statements of a robot, key after key, in the order of their numbers.
import type { Hex } from '../bytes.ts';
import { DocumentError } from '../document-error.ts';
import type { JsonValue } from '../json-value.ts';
import { ADDRESS, HASH, Members, UUID } from '../subject/members.ts';
import { checkWallet, type SigningOptions, type SigningReport } from './audit-signing.ts';
import {
  type KeyGrant,
  type KeyRevocation,
  kidOf,
  readGrantText,
  readRevocationText,
  revokes,
} from './key-text.ts';
import {
  algorithmOf,
  type CheckSignature,
  openKey,
  type PublicKey,
  readPublicKey,
  thumbprintOf,
} from './public-key.ts';
import { Sequence, type SequenceReport } from './sequence.ts';
import { signedTextIn } from './signing.ts';
import { type Outcome, readStatement } from './statement.ts';

/** The `format` in the first line of an archive. */
export const ARCHIVE_FORMAT = 'svc-statements/1';

/** What the statements of one key show. */
export interface KeyReport extends SequenceReport {
  readonly kid: string;
  readonly thumbprint: string;
  readonly wallet_check: SigningReport['wallet_check'];
  /** Number of statements that are valid. */
  readonly valid: number;
  /** Number of results with each outcome. */
  readonly outcomes: Readonly<Record<Outcome, number>>;
  /** Numbers of statements that the key did not sign, or that state something else; the first ones. */
  readonly invalid: readonly number[];
  /** Statements after the last one that the owner stands by, each counted once. Valid only if anchored before the revocation. */
  readonly after_revocation: number;
  /** The last number that the owner stands by, 0 for none; null without a revocation. */
  readonly last_good: number | null;
}

export interface ArchiveReport {
  readonly robot_id: string;
  readonly origin: string;
  readonly wallet: Hex;
  /** Oldest first. */
  readonly keys: readonly KeyReport[];
  /** Number of tasks with a valid claim and no valid result. */
  readonly unfinished: number;
  /** Why the archive as a whole is refused, such as another owner than the expected one. Empty if it is not. */
  readonly faults: readonly string[];
  /** Whether nothing is missing, withheld, forked, branched, broken or invalid. */
  readonly isSound: boolean;
}

const MOST_LISTED = 20;

/** Checks the lines of an archive, one JSON value each, in constant memory, but for the tasks without a result. */
export class ArchiveAudit {
  readonly #options: Omit<SigningOptions, 'auditLeaf'>;
  #owner: Pick<KeyGrant, 'origin' | 'wallet' | 'robot_id'> | null = null;
  readonly #keys: KeyAudit[] = [];
  readonly #faults: string[] = [];
  readonly #claimed = new Set<string>();

  constructor(options: Omit<SigningOptions, 'auditLeaf'> = {}) {
    this.#options = options;
  }

  /** @throws DocumentError if the line is not that of an archive, or in the wrong place. */
  async add(line: JsonValue): Promise<void> {
    const members = new Members('archive', line);
    if (this.#owner === null) this.#begin(members);
    else if (members.has('public_key')) await this.#addKey(members);
    else await this.#addStatement(members);
    members.requireNoOther();
  }

  #begin(members: Members): void {
    members.require('format', ARCHIVE_FORMAT);
    this.#owner = {
      origin: members.text('origin'),
      wallet: members.hex('wallet', ADDRESS),
      robot_id: members.text('robot_id', UUID),
    };
    const { owner } = this.#options;
    if (owner !== undefined && owner.toLowerCase() !== this.#owner.wallet) {
      this.#faults.push(`The wallet is ${this.#owner.wallet}, expected: ${owner}`);
    }
  }

  async #addKey(members: Members): Promise<void> {
    const key = await KeyAudit.read(members, this.#options);
    const { grant, kid, wallet_check } = key.of;
    const previous = this.#keys.at(-1);
    const { origin, wallet, robot_id } = this.#owner ?? grant;
    if (grant.origin !== origin || grant.wallet !== wallet || grant.robot_id !== robot_id) {
      this.#faults.push(`The text of key ${kid} names another robot, owner or service`);
    }
    const isFirst = previous === undefined;
    if (grant.predecessor !== (previous?.of.kid ?? null) || (isFirst && grant.first_number !== 1)) {
      this.#faults.push(`Key ${kid} does not follow the key before it`);
    }
    if (previous !== undefined && previous.end(grant.first_number) >= grant.first_number) {
      this.#faults.push(`Key ${previous.of.kid} signed a number of the key after it`);
    }
    if (wallet_check === 'refused') {
      this.#faults.push(`The wallet did not sign the text of key ${kid}`);
    }
    this.#keys.push(key);
  }

  async #addStatement(members: Members): Promise<void> {
    const key = this.#keys.at(-1);
    if (key === undefined) throw new DocumentError('archive', 'a statement stands before its key');
    await key.add(members, this.#claimed);
  }

  /** Call it after the last line. @throws DocumentError if the archive has no key. */
  report(): ArchiveReport {
    const [owner, newest] = [this.#owner, this.#keys.at(-1)];
    if (owner === null || newest === undefined) {
      throw new DocumentError('archive', 'the archive must have a first line and a key');
    }
    const keys = this.#keys.map((key) => key.report());
    const { owner: expected, robotKey } = this.#options;
    const faults = [...this.#faults];
    if (expected !== undefined && keys.some((key) => key.wallet_check !== 'signed')) {
      faults.push('It is not shown that the expected wallet signed each key');
    }
    if (robotKey !== undefined) {
      // A statement of this key names its key text, and so the wallet, which must have signed the texts of the others.
      const isUsed = keys.some((key) => key.thumbprint === robotKey && key.valid > 0);
      if (!isUsed) faults.push(`No statement of the archive is by key ${robotKey}`);
      if (keys.some((key) => key.thumbprint !== robotKey && key.wallet_check !== 'signed')) {
        faults.push('It is not shown that the owner of this key signed the other keys');
      }
    }
    const isSound =
      faults.length === 0 &&
      keys.every((key) => key.isSound && key.invalid.length === 0 && key.withheld === 0);
    return { ...owner, keys, unfinished: this.#claimed.size, faults, isSound };
  }
}

interface ArchivedKey {
  readonly key: PublicKey;
  readonly grant: KeyGrant;
  readonly kid: string;
  readonly revocation: KeyRevocation | null;
  readonly wallet_check: SigningReport['wallet_check'];
}

class KeyAudit {
  readonly of: ArchivedKey;
  readonly #check: Promise<CheckSignature>;
  readonly #sequence: Sequence;
  readonly #outcomes = { succeeded: 0, failed: 0, aborted: 0 };
  readonly #invalid: number[] = [];
  #afterRevocation = 0;
  #valid = 0;
  /** The first number of the key after it; null for the last key. */
  #nextNumber: number | null = null;
  /** Whether the archive has the last statement that the owner stands by. */
  #hasLast = false;

  static async read(members: Members, options: SigningOptions): Promise<KeyAudit> {
    const granted = signedTextIn(members);
    const revoked = members.nullable('revocation', (name) => {
      const revocation = members.object(name);
      const read = signedTextIn(revocation);
      revocation.requireNoOther();
      return read;
    });
    const key = readPublicKey(members.value('public_key'));
    const [grant, kid] = [readGrantText(granted.text), kidOf(granted.text)];
    const revocation = revoked && readRevocationText(revoked.text);
    if (algorithmOf(key) !== grant.algorithm || thumbprintOf(key) !== grant.thumbprint) {
      throw new DocumentError('archive', 'the key text names another key');
    }
    if (revocation !== null && !revokes(revocation, grant, kid)) {
      throw new DocumentError('archive', 'the revocation is of another key');
    }
    const texts = revoked === null ? [granted] : [granted, revoked];
    const wallet_check = await checkWallet(grant.wallet, texts, options);
    return new KeyAudit({ key, grant, kid, revocation, wallet_check });
  }

  private constructor(of: ArchivedKey) {
    this.of = of;
    this.#check = openKey(of.key);
    this.#sequence = new Sequence(of.grant.first_number);
  }

  /** Removes a task from `claimed` at its result. */
  async add(members: Members, claimed: Set<string>): Promise<void> {
    const number = members.integer('number', 1);
    const signedHash = members.hex('signed_hash', HASH);
    const statementHash = members.hex('statement_hash', HASH);
    const text = members.nullable('statement', (name) => members.text(name));
    const { grant, kid, revocation } = this.of;
    const last = revocation?.last ?? null;
    const isAfter = revocation !== null && number > (last?.number ?? 0);
    if (last !== null && number === last.number && signedHash === last.hash) this.#hasLast = true;
    if (text === null) {
      const isNew = this.#sequence.add({ number, signedHash, statement: null });
      if (isNew && isAfter) this.#afterRevocation += 1;
      return;
    }
    const read = readStatement(text);
    const { statement, header } = read;
    const isSame =
      statement.number === number &&
      read.signedHash === signedHash &&
      read.statementHash === statementHash &&
      statement.robot_id === grant.robot_id &&
      header.kid === kid &&
      header.alg === grant.algorithm;
    const isValid = isSame && (await (await this.#check)(read.signed, read.signature));
    if (!isValid) {
      if (this.#invalid.length < MOST_LISTED && this.#invalid.at(-1) !== number) {
        this.#invalid.push(number);
      }
      return;
    }
    const isNew = this.#sequence.add({ number, signedHash, statement });
    if (!isNew) return;
    if (isAfter) this.#afterRevocation += 1;
    this.#valid += 1;
    if (statement.type === 'claim') claimed.add(statement.task_id);
    else {
      claimed.delete(statement.task_id);
      this.#outcomes[statement.outcome] += 1;
    }
  }

  /** Call it when the next key begins: no number between them may be left out. Returns the last number. */
  end(nextNumber: number): number {
    this.#nextNumber = nextNumber;
    return this.#sequence.lastNumber;
  }

  report(): KeyReport {
    const { kid, grant, revocation, wallet_check } = this.of;
    const last = this.#nextNumber === null ? revocation?.last : null;
    const isOther = last && this.#sequence.lastNumber >= last.number && !this.#hasLast;
    return {
      kid,
      thumbprint: grant.thumbprint,
      wallet_check,
      ...this.#sequence.report(this.#nextNumber === null ? last?.number : this.#nextNumber - 1),
      valid: this.#valid,
      outcomes: this.#outcomes,
      invalid: isOther ? [...this.#invalid, last.number] : this.#invalid,
      after_revocation: this.#afterRevocation,
      last_good: revocation && (revocation.last?.number ?? 0),
    };
  }
}

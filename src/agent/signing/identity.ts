// Proposes the robot's public key to the service, and starts to use it once the owner has signed it.
import type { Logger } from '../../base/logger.ts';
import { SvcError } from '../../base/svc-error.ts';
import type { Hex } from '../../proof/bytes.ts';
import { DocumentError } from '../../proof/document-error.ts';
import {
  kidOf,
  readGrantText,
  readRevocationText,
  revokes,
} from '../../proof/statements/key-text.ts';
import { algorithmOf, openKey, type PublicKey } from '../../proof/statements/public-key.ts';
import { readStatement } from '../../proof/statements/statement.ts';
import { recoverWallet } from '../../proof/statements/wallet-signature.ts';
import type { SigningIdentity } from '../../protocol/identity.ts';
import { limits } from '../../protocol/limits.ts';
import type { Spool } from '../spool/spool.ts';
import type { ActiveKey, StoredStatement } from '../spool/statements.ts';
import { callError, Retries, retryAfterMs } from '../uploads/retry.ts';
import type { ServiceClient } from '../uploads/service-client.ts';
import type { IdentityCalls } from '../uploads/uploader.ts';
import type { NextCall } from '../uploads/uploads.ts';
import type { SigningKey } from './key-file.ts';
import type { Signer } from './signer.ts';

type GrantedKey = Omit<ActiveKey, 'last'>;

/** What a robot with 1 000 statements a second reaches in 31 years, and leaves 9 000 times as many numbers. */
const HIGHEST_UNSIGNED = 1e12;

const IDENTITY = 'identity';
const LEFT = 'left';

/** Asks at each start, after a recovery of the spool, and while the key of the file is not in use. */
export class Identity implements IdentityCalls {
  readonly #spool: Spool;
  readonly #signer: Signer;
  readonly #logger: Logger;
  readonly #retries = new Retries();
  /** The `seq` of statements that were sent without their tasks. */
  readonly #sentAlone = new Set<number>();
  #underWay = false;
  #wasRead = false;
  /** The service has not accepted the key, or no longer does. */
  #isRefused = false;
  /** Thumbprint of a key that the owner revoked. Only the status shows it. */
  #revoked: string | null = null;
  /** Why the answer about the key is not believed. */
  #lastError: { code: string; message: string } | null = null;
  #lookedAt = performance.now();

  constructor(spool: Spool, signer: Signer, logger: Logger) {
    this.#spool = spool;
    this.#signer = signer;
    this.#logger = logger;
  }

  readSoon(): void {
    this.#wasRead = false;
  }

  next(service: ServiceClient): NextCall {
    if (performance.now() - this.#lookedAt >= service.pauses.keyCheck.firstMs) {
      this.#lookedAt = performance.now();
      void this.#signer.look();
    }
    const { key } = this.#signer;
    if (key === null || this.#underWay) return null;
    const used = this.#spool.read(({ statements }) => statements.key());
    const isUsed = used?.thumbprint === key.thumbprint && !this.#isRefused;
    if (this.#wasRead && isUsed) return this.#nextLeft(service);
    const waitMs = this.#retries.waitMs(IDENTITY);
    return waitMs > 0 ? { waitMs } : () => this.#read(service, key);
  }

  /** Sends the statements that no upload carries, so that no number is missing at the service. */
  #nextLeft(service: ServiceClient): NextCall {
    if (this.#retries.waitMs(LEFT) > 0) return null;
    const sent = [...this.#sentAlone];
    const left = this.#spool.read((t) => t.statements.left(limits.statementsPerRequest, sent));
    if (left.length > 0) return () => this.#sendAlone(service, left);
    this.#retries.hold(LEFT, service.pauses.identity.maxMs);
    return null;
  }

  async #sendAlone(service: ServiceClient, left: readonly StoredStatement[]): Promise<void> {
    this.#underWay = true;
    try {
      const input = { body: { statements: left.map(({ jws }) => String(jws)) } };
      const { statements } = (
        await service.call(
          'sendStatements',
          input,
          ({ body }) => body.statements.length === left.length,
        )
      ).body;
      for (const { seq } of left) this.#sentAlone.add(seq);
      const refused = statements.filter(({ outcome }) => /conflict|invalid/.test(outcome));
      if (refused.length > 0) this.#logger.error({ refused }, 'statements refused');
    } catch (error) {
      const { code, message } = callError(error);
      this.#logger.warn({ code, reason: message }, 'statements not delivered');
      this.#retries.hold(LEFT, service.pauses.identity.maxMs);
    } finally {
      this.#underWay = false;
    }
  }

  status() {
    const { key } = this.#signer;
    const { used, last, waiting } = this.#spool.read(({ statements }) => {
      const inUse = statements.key();
      const lastOne = inUse === null ? null : statements.last(inUse);
      return { used: inUse, last: lastOne, waiting: statements.waiting() };
    });
    const isOfFile = key === null || key.thumbprint === used?.thumbprint;
    const isActive = used !== null && isOfFile && !this.#isRefused;
    const notInUse = this.#revoked === key?.thumbprint ? 'revoked' : 'waiting_for_owner';
    return {
      /** `active`: every claim and result is signed. */
      state: isActive ? 'active' : key === null ? 'off' : notInUse,
      thumbprint: key?.thumbprint ?? null,
      kid: isActive ? used.kid : null,
      last_number: isActive ? (last?.number ?? null) : null,
      /** Statements that wait for a signature. */
      unsigned: waiting,
      last_error: this.#signer.lastError ?? this.#lastError,
    };
  }

  async #read(service: ServiceClient, key: SigningKey): Promise<void> {
    this.#underWay = true;
    try {
      const robotId = this.#spool.read(({ state }) => state.robotId()) ?? '';
      const input = { body: { public_key: key.publicKey } };
      const isOwn = ({ body }: { body: { identity: SigningIdentity } }) =>
        body.identity.robot_id === robotId;
      const { identity } = (await service.call('proposeKey', input, isOwn)).body;
      this.#wasRead = true;
      await this.#use(activeKeyOf(identity, key, robotId), key, identity);
      this.#lastError = null;
      if (this.#isRefused) this.#retries.failed(IDENTITY, service.pauses.identity);
      else this.#retries.succeeded(IDENTITY);
    } catch (error) {
      const known = error instanceof DocumentError ? unusableText(error) : callError(error);
      const { code, message } = known;
      if (code === 'signing_key_unusable') this.#lastError = { code, message };
      this.#logger.warn({ code, reason: message }, 'signing key not in use');
      this.#retries.failed(IDENTITY, service.pauses.identity, retryAfterMs(known));
    } finally {
      this.#underWay = false;
    }
  }

  /** The answer of the service neither takes a key out of use nor brings an earlier text or number back. */
  async #use(next: GrantedKey | null, asked: SigningKey, identity: SigningIdentity): Promise<void> {
    // The key file was replaced meanwhile: the answer is about another key.
    if (this.#signer.key?.thumbprint !== asked.thumbprint) return;
    this.#isRefused = next === null;
    if (next === null) {
      this.#revoked = isRevoked(identity, asked.thumbprint) ? asked.thumbprint : null;
      return;
    }
    const used = this.#spool.read(({ statements }) => statements.key());
    if (used !== null && !follows(next.kid, used.kid, identity.keys)) throw unusableText();
    const known = used?.kid === next.kid ? used.last : null;
    const own = this.#spool.read(({ statements }) => statements.last({ ...next, last: known }));
    const stated = await statedLast(identity, next, asked.publicKey, own === null);
    const last = (known?.number ?? 0) > (stated?.number ?? 0) ? known : stated;
    await this.#spool.update(({ statements }) => statements.use({ ...next, last }));
    if (next.kid !== used?.kid) this.#logger.info({ kid: next.kid }, 'signing key in use');
    await this.#spool.numberBacklog();
    this.#signer.wake();
  }
}

/**
 * Whether the key text is the one in use or a later one of the same wallet: each text names the one before by its hash.
 */
function follows(kid: string, used: string, keys: SigningIdentity['keys'], by?: Hex): boolean {
  const text = keys.map(({ grant }) => grant.text).find((one) => kidOf(one) === kid);
  if (text === undefined) return false;
  const { wallet, predecessor } = readGrantText(text);
  if (by !== undefined && wallet !== by) return false;
  return kid === used || (predecessor !== null && follows(predecessor, used, keys, wallet));
}

/**
 * The last statement that the service has, if the robot's key signed it. A deleted one cannot be checked: the service is
 * believed if this spool has no statement of the key.
 *
 * @throws DocumentError, SvcError `signing_key_unusable` for another statement or number
 */
async function statedLast(
  { last }: SigningIdentity,
  { kid }: GrantedKey,
  publicKey: PublicKey,
  isFirst: boolean,
): Promise<ActiveKey['last']> {
  if (last === null) return null;
  const { number, signed_hash: hash, statement: text } = last;
  if (text === null && !isFirst) return null;
  const read = text === null ? null : readStatement(text);
  const isOwn =
    read === null
      ? number <= HIGHEST_UNSIGNED
      : read.header.kid === kid &&
        read.statement.number === number &&
        read.signedHash === hash &&
        (await (
          await openKey(publicKey)
        )(read.signed, read.signature));
  if (isOwn) return { number, hash: hash as Hex }; // By its pattern.
  const message = `This robot's key did not sign statement ${number}, which the service names as its last one.`;
  throw new SvcError('signing_key_unusable', message, {
    hint: 'Sign nothing until it is known who uses this key or changed the service.',
  });
}

/**
 * The key as the owner put it into use; null if the newest key without a revocation is another one.
 * @throws DocumentError, SvcError `signing_key_unusable` if the owner's text is not about this key of this robot
 */
export function activeKeyOf(
  { origin, wallet, keys }: SigningIdentity,
  { publicKey, thumbprint }: Pick<SigningKey, 'publicKey' | 'thumbprint'>,
  robotId: string,
): GrantedKey | null {
  const granted = keys.findLast(({ revocation }) => revocation === null);
  if (granted === undefined) return null;
  const { text } = granted.grant;
  const grant = readGrantText(text);
  if (grant.thumbprint !== thumbprint) return null;
  const alg = algorithmOf(publicKey);
  const isOwn =
    kidOf(text) === granted.kid &&
    grant.algorithm === alg &&
    grant.origin === origin &&
    grant.wallet === wallet.toLowerCase() &&
    grant.robot_id === robotId &&
    mayBeSignedBy(grant.wallet, text, granted.grant.signature as Hex);
  if (!isOwn) throw unusableText();
  return { kid: granted.kid, alg, thumbprint, firstNumber: grant.first_number };
}

/** Whether the wallet that put the key into use last took it out of use. @throws DocumentError for another text */
export function isRevoked({ keys }: SigningIdentity, thumbprint: string): boolean {
  const own = keys.findLast(({ grant }) => readGrantText(grant.text).thumbprint === thumbprint);
  if (!own?.revocation) return false;
  const { text, signature } = own.revocation;
  const grant = readGrantText(own.grant.text);
  return (
    revokes(readRevocationText(text), grant, kidOf(own.grant.text)) &&
    mayBeSignedBy(grant.wallet, text, signature as Hex)
  );
}

/** A signature of another form than that of a key may be one that the wallet's contract accepts. */
function mayBeSignedBy(wallet: Hex, text: string, signature: Hex): boolean {
  const signer = recoverWallet(text, signature);
  return signer === null || signer === wallet;
}

function unusableText(cause?: unknown): SvcError {
  const message = "The text that the owner signed is not about this robot's key.";
  return new SvcError('signing_key_unusable', message, {
    hint: 'Sign the key again with svc robots sign-key.',
    cause,
  });
}

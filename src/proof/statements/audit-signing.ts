// Checks the signatures in a bundle: who signed, with which key, and when the key and the claim were anchored.
import { auditBundleAlone } from '../audit-bundle.ts';
import {
  type AuditCheck,
  check,
  isProven,
  type SigningCheckName,
  sameHex,
} from '../audit-check.ts';
import type { Bundle } from '../bundle.ts';
import type { Hex } from '../bytes.ts';
import { type FreeLeafKind, freeLeafHash } from '../leaf.ts';
import type { AnchoredLeaf, FreeAnchor } from '../subject/anchor-members.ts';
import { hashText } from './jws.ts';
import { type KeyGrant, kidOf, readGrantText, readRevocationText } from './key-text.ts';
import { algorithmOf, openKey, type PublicKey, thumbprintOf } from './public-key.ts';
import { Sequence } from './sequence.ts';
import type { SignedKeyText, Signing } from './signing.ts';
import { contentHash, type Outcome, type ReadStatement, readStatement } from './statement.ts';
import { recoverWallet } from './wallet-signature.ts';

/** Whose signature the reader expects. */
export interface SigningPins {
  /** The wallet of the robot's owner, in hex of any case. */
  readonly owner?: string | undefined;
  /** The thumbprint of the robot's key. */
  readonly robotKey?: string | undefined;
}

export interface SigningOptions extends SigningPins {
  /** Whether a smart-contract wallet accepts a signature of a text (ERC-1271). Without it, such a wallet is not checked. */
  readonly askWallet?:
    | ((wallet: Hex, text: string, signature: Hex) => Promise<boolean>)
    | undefined;
  /** Audits the anchor of a free leaf. The default is `auditBundleAlone`. */
  readonly auditLeaf?: ((leaf: AnchoredLeaf) => Promise<readonly LeafCheck[]>) | undefined;
}

type LeafCheck = Pick<AuditCheck, 'ok'> & { readonly name: string };

/** Who signed the work in a bundle, and what the robot stated about it. */
export interface SigningReport {
  readonly checks: readonly AuditCheck[];
  /** Thumbprint of the key. */
  readonly key: string;
  readonly kid: string;
  readonly robot_id: string;
  /** The owner's wallet, as the key text names it. */
  readonly wallet: Hex;
  /** Whether this wallet signed the key texts; `not_checked` if only a node could tell. */
  readonly wallet_check: 'signed' | 'refused' | 'not_checked';
  /** Whether the caller named the owner or the key. If not, only the document states whose key it is. */
  readonly pinned: boolean;
  /** Null if the bundle has no result where it should. */
  readonly outcome: Outcome | null;
  /** The numbers of the two statements. */
  readonly numbers: { readonly claim: number; readonly result: number };
}

/**
 * Checks the signatures of a signed bundle, but not its anchor. Checks, in this order:
 *
 * - `key`: the key has the algorithm and the thumbprint of the key text, which names the robot of the task.
 * - `wallet_signature`: the wallet signed the key text and the revocation; absent if this was not checked.
 * - `kid`: both statements name the key text.
 * - `claim_signature`, `result_signature`: the key signed the statement.
 * - `claim_statement`, `result_statement`: it states the robot, the task, the content of the claim, and the proof hash.
 * - `numbers`: the statements have allowed numbers and continue the statements before them.
 * - `key_anchor`, `claim_anchor`, `revocation_anchor`: the checks of the anchor pass; absent without an anchor.
 * - `revocation`: the result is among the statements that the owner stands by, or in an earlier block than the
 *   revocation; absent without a revocation.
 * - `owner`, `robot_key`: those that the caller expects; absent if none is named. The check `owner` fails if the wallet
 *   was not checked.
 *
 * Null for a bundle without signatures: `expectSigned` has the check.
 */
export async function auditSigning(
  bundle: Bundle,
  options: SigningOptions = {},
): Promise<SigningReport | null> {
  const { signing, task } = bundle;
  if (signing === undefined) return null;
  const { key, revocation } = signing;
  const grant = readGrantText(key.text);
  const kid = kidOf(key.text);
  const thumbprint = thumbprintOf(key.public_key);
  const claim = readStatement(signing.claim.statement);
  const result = readStatement(signing.result.statement);
  const texts = revocation === null ? [key] : [key, revocation];
  const wallet_check = await checkWallet(grant.wallet, texts, options);
  const isKey = algorithmOf(key.public_key) === grant.algorithm && thumbprint === grant.thumbprint;
  const checks = [
    check('key', isKey && grant.robot_id === task.robot_id, {
      holds: 'The key is the one that the key text names for this robot',
      fails: 'The key text names another key or another robot',
    }),
    ...(wallet_check === 'not_checked'
      ? []
      : [
          check('wallet_signature', wallet_check === 'signed', {
            holds: `The wallet ${grant.wallet} signed the key text`,
            fails: `The wallet ${grant.wallet} did not sign the key text`,
          }),
        ]),
    check('kid', claim.header.kid === kid && result.header.kid === kid, {
      holds: 'Both statements name this key text',
      fails: 'A statement names another key text',
    }),
    await auditSignature('claim', key.public_key, claim),
    await auditSignature('result', key.public_key, result),
    ...auditStatements(bundle, claim, result),
    auditNumbers(grant, claim, result),
    ...(await auditAnchors(bundle, signing, options)),
    ...(revocation === null ? [] : [auditRevocation(bundle, revocation, { grant, kid, result })]),
    ...auditPins(options, { thumbprint, wallet: grant.wallet, wallet_check }),
  ];
  const { statement } = result;
  return {
    checks,
    key: thumbprint,
    kid,
    robot_id: grant.robot_id,
    wallet: grant.wallet,
    wallet_check,
    pinned: isPinned(options),
    outcome: statement.type === 'result' ? statement.outcome : null,
    numbers: { claim: claim.statement.number, result: statement.number },
  };
}

/** `stripped` fails for work without a signature if the caller expects an owner or a key; no check otherwise. */
export function expectSigned(isSigned: boolean, pins: SigningPins): AuditCheck[] {
  if (isSigned || !isPinned(pins)) return [];
  const detail = 'The document has no signature of a robot, and one is expected';
  return [{ name: 'stripped', ok: false, detail }];
}

function isPinned({ owner, robotKey }: SigningPins): boolean {
  return owner !== undefined || robotKey !== undefined;
}

async function checkWallet(
  wallet: Hex,
  texts: readonly SignedKeyText[],
  { askWallet }: SigningOptions,
): Promise<SigningReport['wallet_check']> {
  const unknown = texts.filter(({ text, signature }) => recoverWallet(text, signature) !== wallet);
  if (unknown.length === 0) return 'signed';
  if (askWallet === undefined) return 'not_checked';
  const answers = await Promise.all(
    unknown.map(({ text, signature }) => askWallet(wallet, text, signature)),
  );
  return answers.every(Boolean) ? 'signed' : 'refused';
}

async function auditSignature(
  kind: 'claim' | 'result',
  key: PublicKey,
  { header, signed, signature }: ReadStatement,
): Promise<AuditCheck> {
  const isSigned = await openKey(key);
  const ok = header.alg === algorithmOf(key) && (await isSigned(signed, signature));
  return check(`${kind}_signature`, ok, {
    holds: `The key signed the statement of the ${kind}`,
    fails: `The signature of the ${kind}'s statement is not valid`,
  });
}

function auditStatements(bundle: Bundle, claim: ReadStatement, result: ReadStatement) {
  const content = contentHash(bundle.claim);
  return [claim, result].map(({ statement }, at) => {
    const kind = at === 0 ? 'claim' : 'result';
    const isOf =
      statement.type === kind &&
      statement.robot_id === bundle.task.robot_id &&
      statement.task_id === bundle.task.id &&
      statement.content_hash === content &&
      (statement.type === 'claim' || statement.proof_hash === bundle.proof_hash);
    return check(`${kind}_statement`, isOf, {
      holds: `The statement of the ${kind} is about this task`,
      fails: `The statement of the ${kind} is about another task, robot, content or proof`,
    });
  });
}

function auditNumbers({ first_number }: KeyGrant, claim: ReadStatement, result: ReadStatement) {
  const [before, after] = [claim.statement.number, result.statement.number];
  const isOrdered = first_number <= before && before < after;
  const sequence = new Sequence(first_number);
  for (const { statement, signedHash } of isOrdered ? [claim, result] : []) {
    sequence.add({ number: statement.number, signedHash, statement });
  }
  return check('numbers', isOrdered && sequence.report().broken.length === 0, {
    holds: `They are the statements ${before} and ${after} of the key`,
    fails: `The numbers ${before} and ${after} are not those of two statements of the key that follow each other`,
  });
}

async function auditAnchors(
  { chain_id }: Bundle,
  { key, claim, revocation }: Signing,
  { auditLeaf = async (leaf) => auditBundleAlone(leaf) }: SigningOptions,
): Promise<AuditCheck[]> {
  const audit = async (
    name: SigningCheckName,
    [kind, text, anchor]: [FreeLeafKind, string, FreeAnchor | null | undefined],
  ) => {
    if (anchor == null) return [];
    const free_leaf = freeLeafHash(kind, hashText(text));
    const checks = await auditLeaf({ chain_id, free_leaf, ...anchor });
    const failed = checks.filter(({ ok }) => !ok).map((one) => one.name);
    const { block_number, anchored_at } = anchor.anchor;
    return [
      check(name, isProven(checks), {
        holds: `Anchored in block ${block_number}, at ${anchored_at}`,
        fails: `Its anchor fails these checks: ${failed.join(', ')}`,
      }),
    ];
  };
  return [
    ...(await audit('key_anchor', ['key_text', key.text, key.anchor])),
    ...(await audit('claim_anchor', ['claim', claim.statement, claim.anchor])),
    ...(await audit('revocation_anchor', ['key_text', revocation?.text ?? '', revocation?.anchor])),
  ];
}

interface RevokedKey {
  readonly grant: KeyGrant;
  readonly kid: string;
  readonly result: ReadStatement;
}

function auditRevocation(
  { anchor: ofResult }: Bundle,
  { text, anchor }: SignedKeyText,
  { grant, kid, result }: RevokedKey,
): AuditCheck {
  const { last, ...revoked } = readRevocationText(text);
  const isOfKey =
    revoked.kid === kid &&
    revoked.wallet === grant.wallet &&
    revoked.robot_id === grant.robot_id &&
    revoked.origin === grant.origin;
  const { number } = result.statement;
  const isCovered =
    last !== null &&
    (number < last.number || (number === last.number && result.signedHash === last.hash));
  const isBefore =
    anchor !== null && BigInt(ofResult.block_number) < BigInt(anchor.anchor.block_number);
  return check('revocation', isOfKey && (isCovered || isBefore), {
    holds: isCovered
      ? 'The key was revoked, and the owner stands by this statement'
      : 'The key was revoked in a later block than that of the result',
    fails: isOfKey ? 'The key was revoked before' : 'The revocation is that of another key',
  });
}

function auditPins(
  { owner, robotKey }: SigningPins,
  {
    thumbprint,
    wallet,
    wallet_check,
  }: Pick<SigningReport, 'wallet' | 'wallet_check'> & {
    readonly thumbprint: string;
  },
): AuditCheck[] {
  const checks: AuditCheck[] = [];
  if (owner !== undefined) {
    const isOwner = sameHex(wallet, owner);
    const isUnchecked = isOwner && wallet_check === 'not_checked';
    checks.push(
      check('owner', isOwner && wallet_check === 'signed', {
        holds: 'The owner is the expected one',
        fails: isUnchecked
          ? 'The wallet is not checked: only a node can tell whether it accepts the signature'
          : `The wallet is ${wallet}, expected: ${owner}`,
      }),
    );
  }
  if (robotKey !== undefined) {
    checks.push(
      check('robot_key', thumbprint === robotKey, {
        holds: 'The key is the expected one',
        fails: `The key is ${thumbprint}, expected: ${robotKey}`,
      }),
    );
  }
  return checks;
}

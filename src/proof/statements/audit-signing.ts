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
import { type KeyGrant, kidOf, readGrantText, readRevocationText, revokes } from './key-text.ts';
import { algorithmOf, openKey, thumbprintOf } from './public-key.ts';
import { Sequence } from './sequence.ts';
import type { SignedKeyText, Signing } from './signing.ts';
import {
  contentHash,
  type Outcome,
  type ReadStatement,
  readStatement,
  type Statement,
} from './statement.ts';
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
  readonly numbers: { readonly claim: number | null; readonly result: number };
}

/**
 * Checks the signatures of a signed bundle, but not its anchor. Checks, in this order:
 *
 * - `key`: the key has the algorithm and the thumbprint of the key text, which names the robot of the task.
 * - `wallet_signature`: the wallet signed the key text and the revocation; absent if this was not checked.
 * - `kid`: both statements name the key text.
 * - `claim_signature`, `result_signature`: the key signed the statement; the checks of the claim are absent if the robot
 *   claimed the task before it had a key.
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
  const alg = algorithmOf(key.public_key);
  const [kid, thumbprint] = [kidOf(key.text), thumbprintOf(key.public_key)];
  const claim = signing.claim && readStatement(signing.claim.statement);
  const result = readStatement(signing.result.statement);
  const texts = revocation === null ? [key] : [key, revocation];
  const wallet_check = await checkWallet(grant.wallet, texts, options);
  const isSigned = await openKey(key.public_key);
  const hasSignature = async ({ header, signed, signature }: ReadStatement) =>
    header.alg === alg && (await isSigned(signed, signature));
  const isKey = grant.algorithm === alg && grant.thumbprint === thumbprint;
  const checks = [
    made('key', isKey && grant.robot_id === task.robot_id),
    ...(wallet_check === 'not_checked'
      ? []
      : [made('wallet_signature', wallet_check === 'signed')]),
    made('kid', (claim ?? result).header.kid === kid && result.header.kid === kid),
    ...(claim ? [made('claim_signature', await hasSignature(claim))] : []),
    made('result_signature', await hasSignature(result)),
    ...(claim ? [made('claim_statement', isAbout(bundle, 'claim', claim))] : []),
    made('result_statement', isAbout(bundle, 'result', result)),
    made('numbers', areNumbered(grant, claim, result)),
    ...(await auditAnchors(bundle, signing, options)),
  ];
  if (revocation !== null) {
    checks.push(made('revocation', isValidDespite(revocation, bundle, { grant, kid, result })));
  }
  const { owner, robotKey } = options;
  if (owner !== undefined) {
    checks.push(made('owner', sameHex(grant.wallet, owner) && wallet_check === 'signed'));
  }
  if (robotKey !== undefined) checks.push(made('robot_key', thumbprint === robotKey));
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
    numbers: { claim: claim?.statement.number ?? null, result: statement.number },
  };
}

/** `stripped` fails for work without a signature if the caller expects an owner or a key; no check otherwise. */
export function expectSigned(isSigned: boolean, pins: SigningPins): AuditCheck[] {
  return isSigned || !isPinned(pins) ? [] : [made('stripped', false)];
}

/** What each check found, if it passed and if not. Those of the anchors have a sentence of their own. */
const details: Readonly<Partial<Record<SigningCheckName, readonly [string, string]>>> = {
  stripped: ['The work is signed', 'The work has no signature of a robot'],
  key: ['The key is the one in the key text', 'The key text names another key or robot'],
  wallet_signature: ['The wallet signed the key text', 'The wallet did not sign the key text'],
  kid: ['Both statements name the key text', 'A statement names another key text'],
  claim_signature: ['The key signed the claim', "The claim's signature is not valid"],
  result_signature: ['The key signed the result', "The result's signature is not valid"],
  claim_statement: ['The claim is of this task', 'The claim is of another task, robot or content'],
  result_statement: ['The result is of this task', 'The result is of other work or evidence'],
  numbers: ['The result follows the claim', 'The numbers of claim and result are not in order'],
  revocation: [
    'The key was still valid',
    'The key was revoked before, or the text is of another key',
  ],
  owner: ['The owner is the expected one', 'It is not shown that the expected wallet signed'],
  robot_key: ['The key is the expected one', 'The key is another one than expected'],
};

function made(name: SigningCheckName, ok: boolean): AuditCheck {
  const [holds, fails] = details[name] ?? ['', ''];
  return check(name, ok, { holds, fails });
}

function isPinned({ owner, robotKey }: SigningPins): boolean {
  return owner !== undefined || robotKey !== undefined;
}

/** Whether the wallet signed all of the texts. */
export async function checkWallet(
  wallet: Hex,
  texts: readonly { readonly text: string; readonly signature: Hex }[],
  { askWallet }: Pick<SigningOptions, 'askWallet'>,
): Promise<SigningReport['wallet_check']> {
  const unknown = texts.filter(({ text, signature }) => recoverWallet(text, signature) !== wallet);
  if (unknown.length === 0) return 'signed';
  if (askWallet === undefined) return 'not_checked';
  const answers = unknown.map(({ text, signature }) => askWallet(wallet, text, signature));
  return (await Promise.all(answers)).every(Boolean) ? 'signed' : 'refused';
}

function isAbout(bundle: Bundle, type: Statement['type'], { statement }: ReadStatement): boolean {
  return (
    statement.type === type &&
    statement.robot_id === bundle.task.robot_id &&
    statement.task_id === bundle.task.id &&
    statement.content_hash === contentHash(bundle.claim) &&
    (statement.type === 'claim' || statement.proof_hash === bundle.proof_hash)
  );
}

function areNumbered(
  { first_number }: KeyGrant,
  claim: ReadStatement | null,
  result: ReadStatement,
): boolean {
  const [before, after] = [claim?.statement.number ?? first_number - 1, result.statement.number];
  if ((claim !== null && before < first_number) || after <= before) return false;
  const sequence = new Sequence(first_number);
  for (const { statement, signedHash } of claim === null ? [result] : [claim, result]) {
    sequence.add({ number: statement.number, signedHash, statement });
  }
  return sequence.report().broken.length === 0;
}

function auditAnchors(
  { chain_id }: Bundle,
  { key, claim, revocation }: Signing,
  { auditLeaf = async (leaf) => auditBundleAlone(leaf) }: SigningOptions,
): Promise<AuditCheck[]> {
  const audit = async (
    name: SigningCheckName,
    kind: FreeLeafKind,
    text: string,
    at: FreeAnchor,
  ) => {
    const checks = await auditLeaf({ chain_id, leaf: freeLeafHash(kind, hashText(text)), ...at });
    const failed = checks.filter(({ ok }) => !ok).map((one) => one.name);
    return check(name, isProven(checks), {
      holds: `Anchored in block ${at.anchor.block_number}, at ${at.anchor.anchored_at}`,
      fails: `Its anchor fails these checks: ${failed.join(', ')}`,
    });
  };
  const audits: Promise<AuditCheck>[] = [];
  if (key.anchor) audits.push(audit('key_anchor', 'key_text', key.text, key.anchor));
  if (claim?.anchor) audits.push(audit('claim_anchor', 'claim', claim.statement, claim.anchor));
  if (revocation?.anchor) {
    audits.push(audit('revocation_anchor', 'key_text', revocation.text, revocation.anchor));
  }
  return Promise.all(audits);
}

/** Whether the owner stands by the result, or it was anchored in an earlier block than the revocation of its key. */
function isValidDespite(
  { text, anchor }: SignedKeyText,
  bundle: Bundle,
  { grant, kid, result }: { grant: KeyGrant; kid: string; result: ReadStatement },
): boolean {
  const revoked = readRevocationText(text);
  if (!revokes(revoked, grant, kid)) return false;
  const { last } = revoked;
  const { number } = result.statement;
  if (last !== null && number < last.number) return true;
  if (last !== null && number === last.number && result.signedHash === last.hash) return true;
  const block = BigInt(bundle.anchor.block_number);
  return anchor !== null && block < BigInt(anchor.anchor.block_number);
}

// The sentences of a verdict, for readers without knowledge of chains: the same in `svc verify`, browser and service.
import type { AuditCheckName } from '../audit-check.ts';

/** Every check whose failure refutes a proof: those of an audit, and those of `svc verify`. */
export type VerdictCheckName =
  | AuditCheckName
  | 'rpc_agreement'
  | 'service'
  | 'statement'
  | 'evidence_required'
  | 'files'
  | 'file'
  | 'part';

interface Reason {
  /** Of the failed checks of one topic, the first one in the table gives the reason: the others may follow from it. */
  readonly topic: 'evidence' | 'files' | 'service' | 'anchor' | 'signing';
  readonly text: string;
}

const evidence = (text: string): Reason => ({ topic: 'evidence', text });
const files = (text: string): Reason => ({ topic: 'files', text });
const service = (text: string): Reason => ({ topic: 'service', text });
const anchor = (text: string): Reason => ({ topic: 'anchor', text });
const signing = (text: string): Reason => ({ topic: 'signing', text });

const place = 'The anchor is in another block, or at another place of its block, than stated.';
const forged = 'A statement in this file was changed, or not signed by the key of the robot.';
const other = 'A statement in this file is about another task, robot, description or evidence.';
const batch = 'The transaction anchors another group of proofs than the one that is stated.';

/** Why a failed check refutes the proof. Within a topic, a cause is above what follows from it. */
const reasons: Readonly<Record<VerdictCheckName, Reason>> = {
  evidence: evidence('The evidence was changed.'),
  evidence_required: evidence('No evidence was given, and the evidence is required.'),
  files: files('The evidence lists no files, or was not given.'),
  file: files('A file is not as the evidence lists it, or was not given.'),
  part: files('A part of a file is not as the evidence lists it.'),
  service: service('The service does not confirm the anchor.'),
  statement: service('This file differs from what the service states.'),
  rpc_agreement: anchor('The nodes do not report the same, so nothing is proven.'),
  chain: anchor('The anchor or the node belongs to another blockchain than stated.'),
  header: anchor(
    'The block in this file is damaged, or is not the block that was named or that the blockchain has. If you gave the hash of the block, look up the stated block again.',
  ),
  transaction_path: anchor(
    'The path in this file is damaged: it does not show that the block contains the anchor.',
  ),
  transaction_found: anchor('The anchor was not found at the stated place in the blockchain.'),
  raw_tx: anchor('The anchor in this file is damaged: it does not have the stated hash.'),
  signature: anchor('The anchor in this file is damaged: its signature is not valid.'),
  status: anchor('The transaction of the anchor failed, or is in no block.'),
  canonical_block: anchor('The block of the anchor is not part of the blockchain.'),
  // Anyone can anchor anything: what another account anchored does not matter.
  sender: anchor(
    'The anchor was sent by another account than expected, or by an account that was retired before. If you typed the address, check it.',
  ),
  self_transfer: anchor('The stated transaction is not an anchor.'),
  payload: anchor(
    'The transaction does not contain the anchor of this evidence, task and robot: one of them was changed, or another transaction is stated.',
  ),
  leaf_count: anchor(batch),
  root: anchor(batch),
  proof_hash: anchor(
    'The anchor belongs to other evidence: the evidence was replaced together with its hash, or another transaction is stated.',
  ),
  leaf: anchor(
    "The title or description of the task, its id, its times or the robot's id differ from what was anchored.",
  ),
  inclusion_path: anchor(
    "The title or description of the task, its times or the robot's id differ from what was anchored, or the path in this file is damaged. Or the task's id was changed, or the evidence was replaced together with its hash.",
  ),
  block_hash: anchor(place),
  block_number: anchor(place),
  tx_index: anchor(place),
  anchored_at: anchor('The block of the anchor has another time than stated.'),
  stripped: signing(
    'No robot signed this work: the signature was removed, or there never was one.',
  ),
  wallet_signature: signing("The owner's wallet did not sign the text of the key."),
  robot_key: signing('The work is signed with another key than expected.'),
  owner: signing('The key belongs to another owner than expected, or the wallet is not checked.'),
  key: signing('The key in this file is not the one that the owner put into use for this robot.'),
  kid: signing('The statements in this file were signed with another key.'),
  claim_signature: signing(forged),
  result_signature: signing(forged),
  claim_statement: signing(other),
  result_statement: signing(other),
  numbers: signing('The numbers of the signed statements do not follow each other.'),
  revocation: signing('The owner took the key out of use before this result was anchored.'),
  key_anchor: signing('The anchor of the key text does not hold.'),
  claim_anchor: signing('The anchor of the signed claim does not hold.'),
  revocation_anchor: signing('The anchor of the revocation does not hold.'),
};

/** Why a proof is not verified: a sentence per topic. Empty if no check failed. */
export function reasonsOf(
  checks: readonly { readonly name: VerdictCheckName; readonly ok: boolean }[],
): string[] {
  const failed = new Set(checks.filter(({ ok }) => !ok).map(({ name }) => name));
  const ofTopic = new Map<Reason['topic'], string>();
  for (const [name, { topic, text }] of Object.entries(reasons)) {
    if (failed.has(name as VerdictCheckName) && !ofTopic.has(topic)) ofTopic.set(topic, text);
  }
  return [...ofTopic.values()];
}

/** Why a document with a member that the format does not have is not verified. */
export function notCovered(member: string, document: string): string {
  return `No check covers ${member} in ${document}: anyone may have added it.`;
}

/** Since when evidence has not changed. `blockTime` is ISO 8601 in UTC. */
export function unchangedSince(blockTime: string, has: { evidence: boolean }): string {
  const subject = has.evidence ? 'This evidence' : 'The evidence with this hash';
  const time = `${day.format(new Date(blockTime))}, ${blockTime.slice(11, 16)} UTC`;
  return `${subject} has not changed since ${time} (block time).`;
}

/** `29 November 2026, 10:00:05 UTC` */
export function utcTime(at: string): string {
  return `${day.format(new Date(at))}, ${new Date(at).toISOString().slice(11, 19)} UTC`;
}

const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });

/** Who signed the work, as `auditSigning` reports it. */
interface Signed {
  readonly key: string;
  readonly robot_id: string;
  readonly wallet: string;
  readonly wallet_check: string;
  readonly pinned: boolean;
  readonly outcome: string | null;
  readonly numbers: { readonly claim: number | null };
}

/** Who signed the work, and how far this is shown. */
export function signedBy(signed: Signed): string[] {
  const { key, robot_id, wallet, wallet_check, pinned, outcome, numbers } = signed;
  return [
    `Signed by key ${key} of robot ${robot_id}, outcome ${outcome}.`,
    ...(numbers.claim === null ? ['The robot did not sign the claim.'] : []),
    wallet_check === 'signed'
      ? `The wallet ${wallet} put this key into use.`
      : `Wallet not checked: only a node can tell whether ${wallet} signed the text of this key.`,
    ...(pinned ? [] : ['Not pinned: only this file states whose key it is.']),
  ];
}

/** What signatures do not prove. */
export const UNPROVEN_OF_SIGNED =
  'that the claim came before the work, that the key was not copied or revoked since';

export const NOT_FINAL =
  'The block is not final yet: a chain reorganization could still remove it.';

export const NOT_ANCHORED = 'The proof was submitted and is not in a block yet.';

export const REORGANIZED =
  'A chain reorganization removed the block of this proof. The service is anchoring it again.';

/** The chain of Anvil and Hardhat. */
const TEST_CHAIN = 31_337;

export function chainText(chainId: number): string {
  return `${chainId}${chainId === TEST_CHAIN ? ', a test chain' : ''}`;
}

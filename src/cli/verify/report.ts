// Prints the report of `svc verify`: checks, verdict, and what is not proven.
import { escapeText } from '../../base/escape.ts';
import type { Output } from '../../base/output/output.ts';
import { maxOf } from '../../base/output/table.ts';
import { type ComparedFile, fileText } from '../../proof/files/manifest.ts';
import {
  chainText,
  NOT_ANCHORED,
  NOT_FINAL,
  REORGANIZED,
  reasonsOf,
  signedBy,
  UNPROVEN_OF_SIGNED,
  unchangedSince,
} from '../../proof/subject/verdict.ts';
import { type AnchorResult, txHashOf } from './anchor.ts';
import { evidenceStatus } from './evidence.ts';
import type { Identity } from './identity.ts';
import type { SigningResult } from './signing.ts';
import { chainOptionsOf } from './subject.ts';

/** The result of `svc verify`: that of the anchor, with the checks of evidence, files and sender. */
export interface Report extends AnchorResult {
  /** `unnamed`: every check passes, but neither the caller nor a service named the sender. */
  outcome: 'verified' | 'not_verified' | 'pending' | 'unnamed';
  identity: Identity;
  signing: SigningResult;
  /** The files that the evidence lists. */
  files: readonly ComparedFile[];
}

export function printReport(output: Output, report: Report): void {
  const { asksJson, colors, json, line } = output;
  if (asksJson) {
    json(toJson(report));
    return;
  }
  printChecks(output, report);
  printVerdict(output, report);
  line(row('input', report.subject.kind));
  if (report.outcome === 'not_verified') {
    for (const [name, value] of Object.entries(factsOf(report))) {
      line(colors.dim(`${row(name, value)} (stated, not proven)`));
    }
  } else if (report.outcome !== 'pending') {
    printFacts(output, report);
    printUnproven(output, report);
    if (report.outcome === 'verified') printSince(output, report);
  }
}

function toJson(report: Report) {
  const { outcome, basis, subject, answer, checks, sender, identity, signing } = report;
  const evidence = evidenceStatus(checks);
  const skipped = (name: string, detail: string) => [{ name, detail, status: 'not_checked' }];
  const readsStatus = basis === 'chain' || basis === 'service';
  return {
    outcome,
    recognized: subject.kind,
    verified: outcome === 'verified',
    pending: outcome === 'pending',
    basis,
    service: answer?.url ?? null,
    proof_hash: subject.proofHash,
    tx_hash: txHashOf(report),
    sender,
    identity: identity.namedBy === null ? 'unnamed' : 'named',
    identity_by: identity.namedBy,
    evidence,
    files: report.files,
    confirmations: report.confirmations,
    finality: report.finality,
    checks: [
      ...checks.map(({ name, ok, detail }) => ({ name, status: ok ? 'passed' : 'failed', detail })),
      ...(evidence === 'not_included' ? skipped('evidence', NO_EVIDENCE) : []),
      ...(signing.report?.wallet_check === 'not_checked'
        ? skipped('wallet_signature', NO_WALLET)
        : []),
      ...(readsStatus ? [] : skipped('status', 'The commitment does not depend on it')),
    ],
    signing: signingToJson(signing),
    facts: factsOf(report),
    nodes: report.nodes.map((node) => ({
      rpc: node.label,
      failed: node.checks.filter(({ ok }) => !ok).map(({ name }) => name),
      sender: node.sender,
      confirmations: node.confirmations?.toString() ?? null,
      finality: node.finality,
    })),
    stated: unprovenOf(report),
  };
}

/** Null without a document. */
function signingToJson({ status, report }: SigningResult) {
  if (status === null) return null;
  const { checks: _, ...signed } = report ?? { checks: [] };
  return { status, ...signed };
}

const NO_WALLET = 'Only a node can tell whether the wallet signed: check it with --rpc-url URL';
const NO_EVIDENCE = 'No evidence was given: check it with --proof FILE';

/** A line with a label and a value. */
function row(name: string, value: string): string {
  return `  ${(name === 'anchored_at' ? 'time' : name).padEnd(8)}  ${escapeText(value)}`;
}

/** What the checks cover, by name. */
function factsOf({ subject: { bundle, stated } }: Report): Record<string, string> {
  if (stated === null) return {};
  const { chain_id, task_id, robot_id, block_number, anchored_at } = stated;
  return {
    ...(bundle && { title: bundle.claim.title }),
    task: task_id,
    robot: robot_id,
    ...(block_number !== undefined && { block: block_number }),
    ...(anchored_at !== undefined && { anchored_at }),
    chain: chainText(chain_id),
  };
}

/** What was read to check the anchor. */
const sources: Readonly<Record<Report['basis'], string>> = {
  chain: 'transaction, transaction receipt and block, from the chain',
  block:
    'block header, from the chain (--full also reads the transaction and its transaction receipt)',
  block_hash: 'nothing: the bundle proves that this block has the transaction',
  service: 'the statement of the service',
};

/** Statements that no check covers, by name; of these, the finality in a receipt only if it differs from the current one. */
export function unprovenOf({
  subject,
  answer,
  finality,
}: Report): Readonly<Record<string, string>> {
  const { finality: inReceipt, ...others } = subject.unproven;
  const isPending = answer?.stated === null;
  const isOutdated = finality !== null && finality !== inReceipt;
  return isPending || isOutdated ? subject.unproven : others;
}

function printChecks({ colors, line }: Output, { checks, files }: Report): void {
  const width = maxOf(checks.map(({ name }) => name.length));
  for (const { name, ok, detail } of checks) {
    const mark = ok ? colors.green('✔') : colors.red('✘');
    line(`${mark} ${name.padEnd(width)}  ${escapeText(detail)}`);
  }
  const details = new Set(checks.map(({ detail }) => detail));
  for (const text of files.map(fileText).filter((each) => !details.has(each))) {
    line(`${colors.yellow('–')} ${'file'.padEnd(width)}  ${escapeText(text)}`);
  }
}

function printVerdict({ colors, line }: Output, report: Report): void {
  const { outcome, basis, checks, sender, confirmations, finality } = report;
  const blocks = `${confirmations} confirmation${confirmations === '1' ? '' : 's'}`;
  const depth = escapeText(`${blocks}, ${finality}`);
  if (outcome === 'pending') {
    const isReorged = finality === 'reorged';
    const isAnchored = confirmations !== null && !isReorged;
    line(colors.yellow.bold(isAnchored ? `Pending: ${depth}.` : 'Pending.'));
    line(isAnchored ? NOT_FINAL : isReorged ? REORGANIZED : NOT_ANCHORED);
  } else if (outcome === 'not_verified') {
    line(colors.red.bold('NOT verified.'));
    for (const reason of reasonsOf(checks)) line(reason);
    if (sender === null || !checks.some(({ name, ok }) => name === 'sender' && !ok)) return;
    const prefix = basis === 'service' ? 'The service says: ' : '';
    line(colors.dim(escapeText(`${prefix}Sent by ${sender}`)));
  } else if (outcome === 'unnamed') {
    line(colors.yellow.bold('Anchored by an account you have not named.'));
    const service =
      basis === 'block_hash' ? 'save a service with svc trust add' : 'the service with --url';
    line(`Name the account that you expect with --anchor-address, or ${service}.`);
  } else {
    const verdicts = {
      chain: `Verified: ${depth}.`,
      block: `Verified: ${depth}.`,
      block_hash: 'Verified: the anchor is as final as the block whose hash you gave.',
      service: `The service says: ${depth}.`,
    };
    line(colors.green.bold(verdicts[basis]));
  }
  const isRead = outcome === 'verified' || outcome === 'unnamed';
  if (!isRead || report.signing.report === null) return;
  for (const text of signedBy(report.signing.report)) line(escapeText(text));
}

/** Prints what was checked: anyone can anchor anything, so the sender counts only if it was named. */
function printFacts({ line }: Output, report: Report): void {
  const { identity, sender, checks, basis } = report;
  const rows = factsOf(report);
  const naming = identity.namedBy === null ? 'not named' : `named by ${identity.namedBy}`;
  if (sender !== null) rows.sender = `${sender}, ${naming}`;
  rows.evidence = evidenceStatus(checks).replaceAll('_', ' ');
  rows.read = sources[basis];
  for (const [name, value] of Object.entries(rows)) line(row(name, value));
}

function printUnproven({ colors, line }: Output, report: Report): void {
  const stated = Object.entries(unprovenOf(report)).map(
    ([name, value]) => `Stated, not proven: ${statements[name] ?? name}, ${value}`,
  );
  for (const text of [...notProvenBy(report), ...stated]) line(colors.dim(escapeText(text)));
}

/** What the checks do not prove, in sentences. */
export function notProvenBy(report: Report): string[] {
  const { basis, subject, answer, identity } = report;
  const occurrences = answer?.verification.occurrences ?? 1;
  const lines = [
    basis === 'service' &&
      `Not checked against the chain: only ${answer?.url} states this. Check the chain with ${chainOptionsOf(subject)}.`,
    basis === 'block_hash' &&
      'Not proven: that the block whose hash you gave is final. Look it up in an explorer.',
    occurrences > 1 &&
      `${occurrences} tasks have this hash; this is one of them. Verify a receipt to name the task.`,
    identity.isUnsaved &&
      basis !== 'service' &&
      `Not proven: that the sender is the account of ${identity.namedBy}: only the service states it. Compare the address with one from another source, or use svc trust add.`,
    datedElsewhere(report),
    `Not proven: ${unprovenAuthor(report.signing)}, that no other anchor exists.`,
  ];
  return lines.filter((text) => typeof text === 'string');
}

function unprovenAuthor({ status }: SigningResult): string {
  if (status === 'signed') return UNPROVEN_OF_SIGNED;
  const note = {
    hash_only: ' (this receipt has only the hash of what it signed: verify the bundle)',
    unsigned: ' (unsigned)',
  };
  return `the identity of the robot${status === null ? '' : note[status]}, the author of the evidence`;
}

/** The anchors of key and claim are in other blocks, which only a node can compare with the chain. */
function datedElsewhere({ basis, subject: { bundle } }: Report): string | false {
  if (bundle?.signing === undefined || basis === 'chain' || basis === 'block') return false;
  const { key, claim, revocation } = bundle.signing;
  const blocks = [key, claim, revocation].flatMap((one) => one?.anchor?.anchor.block_number ?? []);
  if (blocks.length === 0) return false;
  return `Not proven: that the chain has the anchors of key and claim, in block ${blocks.join(', ')}. Check them with --rpc-url URL.`;
}

const statements: Readonly<Record<string, string>> = {
  robot_name: "the robot's name",
  title: "the task's title",
  explorer_url: 'the link to the explorer',
  finality: 'the finality in the receipt',
};

/** The last line of a success. */
function printSince({ colors, line }: Output, report: Report): void {
  const since = sinceOf(report);
  if (since !== null) line(colors.bold(since));
}

/** Since when the evidence has not changed; null without a time. */
export function sinceOf({ basis, subject, checks, finality }: Report): string | null {
  const time = subject.stated?.anchored_at;
  if (time === undefined || Number.isNaN(Date.parse(time))) return null;
  const since = unchangedSince(time, { evidence: evidenceStatus(checks) === 'matches' });
  const prefix = basis === 'service' ? 'The service states: ' : '';
  // The caller of --block-hash vouches for the block.
  const isFinal = finality === 'finalized' || basis === 'block_hash';
  return `${prefix}${since}${isFinal ? '' : ` ${NOT_FINAL}`}`;
}

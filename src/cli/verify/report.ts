// Prints the result of `svc verify`: checks, verdict, and what is not proven.

import { escapeText } from '../../base/escape.ts';
import type { Output } from '../../base/output/output.ts';
import { maxOf } from '../../base/output/table.ts';
import { fileText } from '../../proof/files/manifest.ts';
import {
  NOT_ANCHORED,
  NOT_FINAL,
  REORGANIZED,
  reasonsOf,
  unchangedSince,
} from '../../proof/subject/verdict.ts';
import { evidenceOf, type Finding } from './finding.ts';

/** Prints the finding. */
export function report(output: Output, finding: Finding): void {
  if (output.asksJson) {
    output.json(toJson(finding));
    return;
  }
  printChecks(output, finding);
  printVerdict(output, finding);
  output.line(`  ${'input'.padEnd(8)}  ${finding.recognized}`);
  if (finding.outcome === 'not_verified') printStated(output, finding);
  if (finding.outcome !== 'verified' && finding.outcome !== 'unnamed') return;
  printFacts(output, finding);
  printUnproven(output, finding);
  if (finding.outcome === 'verified') printSince(output, finding);
}

function toJson(finding: Finding) {
  const { outcome, basis, service, checks, sender, confirmations, finality, nodes } = finding;
  const evidence = evidenceOf(finding);
  const notChecked = notCheckedOf(finding).map((one) => ({ ...one, status: 'not_checked' }));
  return {
    outcome,
    recognized: finding.recognized,
    verified: outcome === 'verified',
    pending: outcome === 'pending',
    basis,
    service,
    proof_hash: finding.proofHash,
    tx_hash: finding.txHash,
    sender,
    identity: finding.identity.by === null ? 'unnamed' : 'named',
    identity_by: finding.identity.by,
    evidence,
    files: finding.files,
    confirmations,
    finality,
    checks: [
      ...checks.map(({ name, ok, detail }) => ({ name, status: ok ? 'passed' : 'failed', detail })),
      ...notChecked,
    ],
    facts: finding.facts,
    nodes: nodes.map((node) => ({
      rpc: node.label,
      failed: node.checks.filter(({ ok }) => !ok).map(({ name }) => name),
      sender: node.sender,
      confirmations: node.confirmations === null ? null : String(node.confirmations),
      finality: node.finality,
    })),
    stated: finding.stated,
  };
}

/** The checks that were not made, and why. */
function notCheckedOf(finding: Finding) {
  const readsStatus = finding.basis === 'chain' || finding.basis === 'service';
  return [
    ...(evidenceOf(finding) === 'not_included' ? [{ name: 'evidence', detail: NO_EVIDENCE }] : []),
    ...(readsStatus ? [] : [{ name: 'status', detail: 'The commitment does not depend on it' }]),
  ];
}

function printChecks({ colors, line }: Output, finding: Finding): void {
  const { checks } = finding;
  const width = maxOf(checks.map(({ name }) => name.length));
  for (const { name, ok, detail } of checks) {
    const mark = ok ? colors.green('✔') : colors.red('✘');
    line(`${mark} ${name.padEnd(width)}  ${escapeText(detail)}`);
  }
  const details = new Set(checks.map(({ detail }) => detail));
  for (const text of finding.files.map(fileText).filter((each) => !details.has(each))) {
    line(`${colors.yellow('–')} ${'file'.padEnd(width)}  ${escapeText(text)}`);
  }
}

function printVerdict({ colors, line }: Output, finding: Finding): void {
  const { outcome, basis, confirmations, finality } = finding;
  const blocks = `${confirmations} confirmation${confirmations === '1' ? '' : 's'}`;
  const seen = escapeText(`${blocks}, ${finality}`);
  if (outcome === 'pending') {
    const isAnchored = confirmations !== null && finality !== 'reorged';
    line(colors.yellow.bold(isAnchored ? `Pending: ${seen}.` : 'Pending.'));
    line(isAnchored ? NOT_FINAL : finality === 'reorged' ? REORGANIZED : NOT_ANCHORED);
  } else if (outcome === 'not_verified') {
    line(colors.red.bold('NOT verified.'));
    for (const reason of reasonsOf(finding.checks)) line(reason);
    const isOtherSender = finding.checks.some(({ name, ok }) => name === 'sender' && !ok);
    if (isOtherSender && finding.sender !== null) {
      const says = basis === 'service' ? 'The service says: ' : '';
      line(colors.dim(escapeText(`${says}Sent by ${finding.sender}`)));
    }
  } else if (outcome === 'unnamed') {
    line(colors.yellow.bold('Anchored by an account you have not named.'));
    const service =
      basis === 'block_hash' ? 'save a service with svc trust add' : 'the service with --url';
    line(`Name the account that you expect with --anchor-address, or ${service}.`);
  } else {
    const verdicts = {
      chain: `Verified: ${seen}.`,
      block: `Verified: ${seen}.`,
      block_hash: 'Verified: the anchor is as final as the block whose hash you gave.',
      service: `The service says: ${seen}.`,
    };
    line(colors.green.bold(verdicts[basis]));
  }
}

const NO_EVIDENCE = 'No evidence was given: check it with --proof FILE';

const evidenceWords = {
  matches: 'matches',
  does_not_match: 'does not match',
  not_included: 'not included',
} as const;

/** Names the document that is not verified. */
function printStated({ colors, line }: Output, { facts }: Finding): void {
  for (const [name, value] of Object.entries(facts)) {
    const label = (factLabels[name] ?? name).padEnd(8);
    line(colors.dim(`  ${label}  ${escapeText(value)} (stated, not proven)`));
  }
}

/** Lists what was checked: anyone can anchor anything, so the sender counts only if it was named. */
function printFacts({ line }: Output, finding: Finding): void {
  const { identity, sender, facts } = finding;
  const rows: Record<string, string> = {
    ...facts,
    ...(sender === null
      ? {}
      : { sender: `${sender}, ${identity.by === null ? 'not named' : `named by ${identity.by}`}` }),
    evidence: evidenceWords[evidenceOf(finding)],
    read: readWords[finding.basis],
  };
  for (const [name, value] of Object.entries(rows)) {
    line(`  ${(factLabels[name] ?? name).padEnd(8)}  ${escapeText(value)}`);
  }
}

/** What was read to check the anchor. */
const readWords: Readonly<Record<Finding['basis'], string>> = {
  chain: 'transaction, transaction receipt and block, from the chain',
  block:
    'block header, from the chain (--full also reads the transaction and its transaction receipt)',
  block_hash: 'nothing: the bundle proves that this block has the transaction',
  service: 'the statement of the service',
};

const factLabels: Readonly<Record<string, string>> = { anchored_at: 'time' };

/** Lists what is not proven. */
function printUnproven({ colors, line }: Output, finding: Finding): void {
  const { basis, service, stated, occurrences, chainOptions, identity } = finding;
  const lines = [
    ...(basis === 'service'
      ? [
          `Not checked against the chain: only ${service} states this. Check the chain with ${chainOptions}.`,
        ]
      : []),
    ...(basis === 'block_hash'
      ? ['Not proven: that the block whose hash you gave is final. Look it up in an explorer.']
      : []),
    ...(occurrences > 1
      ? [
          `${occurrences} tasks have this hash; this is one of them. Verify a receipt to name the task.`,
        ]
      : []),
    ...(identity.isStated && basis !== 'service'
      ? [
          `Not proven: that the sender is the account of ${identity.by}: only the service states it. Compare the address with one from another source, or use svc trust add.`,
        ]
      : []),
    'Not proven: the identity of the robot, the author of the evidence, that no other anchor exists.',
    ...Object.entries(stated).map(
      ([name, value]) => `Stated, not proven: ${statements[name] ?? name}, ${value}`,
    ),
  ];
  for (const text of lines) line(colors.dim(escapeText(text)));
}

/** The last line of a success: since when the evidence has not changed. */
function printSince({ colors, line }: Output, finding: Finding): void {
  const { basis, facts, finality } = finding;
  if (facts.anchored_at === undefined || Number.isNaN(Date.parse(facts.anchored_at))) return;
  const since = unchangedSince(facts.anchored_at, { evidence: evidenceOf(finding) === 'matches' });
  const says = basis === 'service' ? 'The service states: ' : '';
  // The caller of --block-hash vouches for the block.
  const isFinal = finality === 'finalized' || basis === 'block_hash';
  line(colors.bold(`${says}${since}${isFinal ? '' : ` ${NOT_FINAL}`}`));
}

const statements: Readonly<Record<string, string>> = {
  robot_name: "the robot's name",
  title: "the task's title",
  explorer_url: 'the link to the explorer',
  finality: 'the finality in the receipt',
};

// Prints the result of `svc verify`: checks, verdict, and what is not proven.

import { escapeText } from '../../base/escape.ts';
import type { AnchorAudit } from '../../chain/verify-anchor.ts';
import type { Output } from '../output/output.ts';

export interface Check {
  name: string;
  ok: boolean;
  /** A sentence for people. */
  detail: string;
}

/** The result of reading the chain, or of asking the service. */
export interface Finding {
  outcome: 'verified' | 'not_verified' | 'pending';
  /** Where the statement about the chain comes from. */
  basis: 'chain' | 'service';
  /** Origin of the service that was asked; null if none was. */
  service: string | null;
  proofHash: string;
  txHash: string | null;
  checks: readonly Check[];
  sender: string | null;
  /** Decimal. */
  confirmations: string | null;
  finality: string | null;
  nodes: AnchorAudit['nodes'];
  /** Number of tasks with the hash; 1 if the service was not asked. */
  occurrences: number;
  /** Statements that no check covers, by name. */
  stated: Readonly<Record<string, string>>;
}

/** Prints the finding. `pinned`: whether the caller named the account that must have sent the anchor. */
export function report(output: Output, finding: Finding, pinned: boolean): void {
  if (output.asksJson) {
    output.json(toJson(finding));
    return;
  }
  printChecks(output, finding.checks);
  printVerdict(output, finding);
  if (finding.outcome === 'verified') printUnproven(output, finding, pinned);
}

function toJson(finding: Finding) {
  const { outcome, basis, service, checks, sender, confirmations, finality, nodes } = finding;
  return {
    verified: outcome === 'verified',
    pending: outcome === 'pending',
    basis,
    service,
    proof_hash: finding.proofHash,
    tx_hash: finding.txHash,
    sender,
    confirmations,
    finality,
    checks,
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

function printChecks({ colors, line }: Output, checks: readonly Check[]): void {
  const width = Math.max(...checks.map(({ name }) => name.length));
  for (const { name, ok, detail } of checks) {
    const mark = ok ? colors.green('✔') : colors.red('✘');
    line(`${mark} ${name.padEnd(width)}  ${escapeText(detail)}`);
  }
}

function printVerdict({ colors, line }: Output, finding: Finding): void {
  const { outcome, basis, confirmations, finality } = finding;
  const blocks = `${confirmations} confirmation${confirmations === '1' ? '' : 's'}`;
  const seen = escapeText(`${blocks}, ${finality}`);
  if (outcome === 'pending') {
    const state = confirmations === null ? 'the anchor is not in the chain yet' : seen;
    line(colors.yellow.bold(`Pending: ${state}.`));
  } else if (outcome === 'not_verified') {
    line(colors.red.bold('NOT verified.'));
    const isOtherSender = finding.checks.some(({ name, ok }) => name === 'sender' && !ok);
    if (isOtherSender && finding.sender !== null) {
      const says = basis === 'chain' ? '' : 'The service says: ';
      line(colors.dim(escapeText(`${says}Sent by ${finding.sender}`)));
    }
  } else {
    line(
      colors.green.bold(basis === 'chain' ? `Verified: ${seen}.` : `The service says: ${seen}.`),
    );
  }
}

/** Lists what is not proven. Anyone can anchor anything, so an unpinned sender may be a forger. */
function printUnproven({ colors, line }: Output, finding: Finding, pinned: boolean): void {
  const { basis, service, sender, stated, occurrences } = finding;
  const lines = [
    ...(basis === 'service'
      ? [
          `Not checked against the chain: only ${service} states this. Check the chain with --rpc-url.`,
        ]
      : []),
    ...(sender === null || pinned
      ? []
      : [
          `Anchored by an account that you have not named. If it is the service's, add --anchor-address ${sender}`,
        ]),
    ...(occurrences > 1
      ? [
          `${occurrences} tasks have this hash; this is one of them. Verify a receipt to name the task.`,
        ]
      : []),
    'Not proven: the identity of the robot, the author of the evidence, that no other anchor exists.',
    ...Object.entries(stated).map(
      ([name, value]) => `Stated, not proven: ${statements[name] ?? name}, ${value}`,
    ),
  ];
  for (const text of lines) line(colors.dim(escapeText(text)));
}

const statements: Readonly<Record<string, string>> = {
  robot_name: "the robot's name",
  title: "the task's title",
};

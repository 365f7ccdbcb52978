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
  /** `unnamed`: every check passes, but the caller named neither the sender nor a service. */
  outcome: 'verified' | 'not_verified' | 'pending' | 'unnamed';
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
  identity: Identity;
  /** What the checks cover, by name. */
  facts: Readonly<Record<string, string>>;
}

/** The accounts of which one must have sent the anchor. */
export interface Identity {
  /** The option or the service that names them; null if neither was given. */
  by: string | null;
  addresses: readonly string[];
}

/** Whether the evidence is part of what was checked. */
export function evidenceOf({ checks }: Finding): 'matches' | 'does_not_match' | 'not_included' {
  const found = checks.filter(({ name }) => name === 'evidence');
  if (found.length === 0) return 'not_included';
  return found.every(({ ok }) => ok) ? 'matches' : 'does_not_match';
}

/** Prints the finding. */
export function report(output: Output, finding: Finding): void {
  if (output.asksJson) {
    output.json(toJson(finding));
    return;
  }
  printChecks(output, finding.checks);
  printVerdict(output, finding);
  if (finding.outcome !== 'verified' && finding.outcome !== 'unnamed') return;
  printFacts(output, finding);
  printUnproven(output, finding);
}

function toJson(finding: Finding) {
  const { outcome, basis, service, checks, sender, confirmations, finality, nodes } = finding;
  const evidence = evidenceOf(finding);
  const notChecked =
    evidence === 'not_included'
      ? [{ name: 'evidence', status: 'not_checked', detail: NO_EVIDENCE }]
      : [];
  return {
    outcome,
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
  } else if (outcome === 'unnamed') {
    line(colors.yellow.bold('Anchored by an account you have not named.'));
    line('Name the account that you expect with --anchor-address, or the service with --url.');
  } else {
    line(
      colors.green.bold(basis === 'chain' ? `Verified: ${seen}.` : `The service says: ${seen}.`),
    );
  }
}

const NO_EVIDENCE = 'No evidence was given: check it with --proof FILE';

const evidenceWords = {
  matches: 'matches',
  does_not_match: 'does not match',
  not_included: 'not included',
} as const;

/** Lists what was checked: anyone can anchor anything, so the sender counts only if it was named. */
function printFacts({ line }: Output, finding: Finding): void {
  const { identity, sender, facts } = finding;
  const rows: Record<string, string> = {
    ...facts,
    ...(sender === null || identity.by === null
      ? {}
      : { sender: `${sender}, named by ${identity.by}` }),
    evidence: evidenceWords[evidenceOf(finding)],
  };
  for (const [name, value] of Object.entries(rows)) {
    line(`  ${(factLabels[name] ?? name).padEnd(8)}  ${escapeText(value)}`);
  }
}

const factLabels: Readonly<Record<string, string>> = { anchored_at: 'time' };

/** Lists what is not proven. */
function printUnproven({ colors, line }: Output, finding: Finding): void {
  const { basis, service, stated, occurrences } = finding;
  const lines = [
    ...(basis === 'service'
      ? [
          `Not checked against the chain: only ${service} states this. Check the chain with --rpc-url.`,
        ]
      : []),
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

// `svc verify`: checks a proof with the service or with nodes of the chain.
import { SvcError } from '../../base/svc-error.ts';
import { auditBundleAlone } from '../../proof/audit-bundle.ts';
import { isProven } from '../../proof/audit-check.ts';
import type { Output } from '../output/output.ts';
import type { LoneCommand } from '../program/command.ts';
import type { Context } from '../program/context.ts';
import { type ExitCode, exitCodes } from '../program/exit-codes.ts';
import { positive } from '../program/options.ts';
import { type Check, type Finding, report } from '../verify/report.ts';
import { askService, checkWord, type Word } from '../verify/service.ts';
import { readSubject, type Subject } from '../verify/subject.ts';
import { watchFinding } from '../verify/watch.ts';
import { hashFile } from './hash.ts';

export const verifyCommand: LoneCommand = {
  path: 'verify',
  details: `The service is asked about a hash; with --rpc-url, its answer is checked against the chain. With --rpc-url a
receipt or a bundle needs no service. Without --rpc-url the service's word is taken for what the chain holds.`,
  arguments: [
    {
      syntax: '<hash-or-file>',
      summary: 'proof hash, or file with a receipt or a bundle; - is standard input',
    },
  ],
  options: [
    {
      flags: '--rpc-url <url>',
      summary: 'JSON-RPC endpoint to read the chain from; repeat it, and all must agree',
      parse: (url, urls: string[] = []) => [...urls, url],
    },
    { flags: '--proof <file>', summary: 'evidence: its hash is computed and compared' },
    { flags: '--anchor-address <address>', summary: 'account that must have sent the anchor' },
    { flags: '--watch', summary: 'wait until the anchor is final; progress on stderr' },
    {
      flags: '--timeout <seconds>',
      summary: 'with --watch: give up then, with exit code 8 (default: never)',
      parse: positive,
    },
  ],
  examples: [
    'svc verify 0x219f9568571e27344d43d9f29d2887bb000edfa6879f4e2a4ca3f723a9ee5b68',
    'svc verify receipt.json --rpc-url https://rpc.example.org',
    'svc verify bundle.json --rpc-url https://rpc.example.org --rpc-url https://rpc.example.net',
    'svc verify receipt.json --proof evidence.json --rpc-url http://127.0.0.1:8545 --json',
    'svc hash evidence.json | svc verify - --watch',
  ],
  run: verify,
};

interface VerifyInput {
  hashOrFile: string;
  rpcUrl?: string[];
  proof?: string;
  anchorAddress?: string;
  watch?: true;
  timeout?: number;
}

const exitCodeOf: Record<Finding['outcome'], ExitCode> = {
  verified: exitCodes.done,
  not_verified: exitCodes.notVerified,
  pending: exitCodes.pending,
};

async function verify(context: Context, input: VerifyInput): Promise<ExitCode> {
  const { anchorAddress, rpcUrl = [], watch, timeout } = input;
  if (anchorAddress !== undefined && !/^0x[0-9a-fA-F]{40}$/.test(anchorAddress)) {
    throw new SvcError('usage', '--anchor-address must be an address: 0x and 40 hex digits.');
  }
  // Compare in normal form: the same endpoint may be written in two ways.
  const endpoints = rpcUrl.map((url) => (URL.canParse(url) ? new URL(url).href : url));
  if (new Set(endpoints).size < endpoints.length) {
    throw new SvcError('usage', 'The same --rpc-url twice would agree with itself.');
  }
  if (timeout !== undefined && !watch) throw new SvcError('usage', '--timeout goes with --watch.');
  const subject = await readSubject(input.hashOrFile);
  const evidence =
    input.proof === undefined ? [] : [await checkFile(context.output, input.proof, subject)];
  const look = () => find(context, { subject, evidence, rpcUrls: rpcUrl, anchorAddress });
  const finding = watch ? await watchFinding(context, look, timeout) : await look();
  report(context.output, finding, anchorAddress !== undefined);
  return exitCodeOf[finding.outcome];
}

interface Sources {
  subject: Subject;
  evidence: readonly Check[];
  rpcUrls: readonly string[];
  anchorAddress: string | undefined;
}

/** With RPC URLs, a document is checked against the nodes alone; a hash is checked by what the service states. */
async function find(context: Context, sources: Sources): Promise<Finding> {
  const { subject, evidence, rpcUrls } = sources;
  const readsChain = rpcUrls.length > 0;
  const word = readsChain && subject.stated !== null ? null : await askService(context, subject);
  const stated = subject.stated ?? word?.stated ?? null;
  const known: Finding = {
    outcome: 'pending',
    basis: readsChain ? 'chain' : 'service',
    service: word?.url ?? null,
    proofHash: subject.proofHash,
    txHash: stated?.tx_hash ?? word?.answer.anchor.tx_hash ?? null,
    checks: evidence,
    sender: null,
    confirmations: null,
    finality: null,
    nodes: [],
    occurrences: word?.answer.occurrences ?? 1,
    stated: unproven(subject, word),
  };
  if (word !== null && word.stated === null) {
    return evidence.every(({ ok }) => ok) ? known : { ...known, outcome: 'not_verified' };
  }
  return { ...known, ...(readsChain ? await readChain(stated, sources) : takeWord(word, sources)) };
}

async function readChain(
  stated: Subject['stated'],
  { subject, evidence, rpcUrls, anchorAddress }: Sources,
): Promise<Partial<Finding>> {
  const document = subject.bundle ?? stated;
  if (document === null) throw new Error('nothing is stated');
  const { verifyAnchor } = await import('../../chain/verify-anchor.ts');
  const audit = await verifyAnchor(document, { rpcUrls, anchorAddress });
  const checks = [...evidence, ...audit.checks];
  return {
    outcome: isProven(checks) ? 'verified' : 'not_verified',
    checks,
    sender: audit.sender,
    confirmations: audit.confirmations === null ? null : String(audit.confirmations),
    finality: audit.finality,
    nodes: audit.nodes,
  };
}

function takeWord(
  word: Word | null,
  { subject, evidence, anchorAddress }: Sources,
): Partial<Finding> {
  if (word === null) throw new Error('nobody was asked');
  const checks = [
    ...evidence,
    ...(subject.bundle === null ? [] : auditBundleAlone(subject.bundle)),
    ...checkWord(word, subject.stated, anchorAddress),
  ];
  const { from, confirmations, finality } = word.answer.anchor;
  return {
    outcome: isProven(checks) ? 'verified' : 'not_verified',
    checks,
    sender: from?.toLowerCase() ?? null,
    confirmations,
    finality,
  };
}

/** Statements without a proof. A bundle proves its title with the claim; a receipt has neither title nor name. */
function unproven({ bundle }: Subject, word: Word | null): Record<string, string> {
  if (bundle !== null) return { robot_name: bundle.task.robot_name };
  if (word === null) return {};
  const { title, robot } = word.answer.task;
  return { title, robot_name: robot };
}

async function checkFile(output: Output, file: string, { proofHash }: Subject): Promise<Check> {
  const found = await hashFile(output, file);
  const ok = found === proofHash;
  const detail = ok
    ? `${file} hashes to the proof hash`
    : `${file} hashes to ${found}, the proof hash is ${proofHash}`;
  return { name: 'evidence', ok, detail };
}

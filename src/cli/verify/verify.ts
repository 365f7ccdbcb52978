// The steps of `svc verify`: read the subject, ask the service or the chain, report.
import { SvcError } from '../../base/svc-error.ts';
import type { StatedAnchor } from '../../proof/audit-anchor.ts';
import { auditBundleAlone } from '../../proof/audit-bundle.ts';
import { isProven } from '../../proof/audit-check.ts';
import { hashFile } from '../input/files.ts';
import type { Output } from '../output/output.ts';
import type { Context } from '../program/context.ts';
import { type ExitCode, exitCodes } from '../program/exit-codes.ts';
import { withIdentity } from './identity.ts';
import { type Check, evidenceOf, type Finding, report } from './report.ts';
import { askService, checkWord, type Word } from './service.ts';
import { readSubject, type Subject } from './subject.ts';
import { watchFinding } from './watch.ts';

export interface VerifyInput {
  hashOrFile: string;
  rpcUrl?: string[];
  proof?: string;
  anchorAddress?: string[];
  requireEvidence?: true;
  watch?: true;
  timeout?: number;
}

/** The chain id of local Anvil and Hardhat chains. */
const TEST_CHAIN = 31_337;

const exitCodeOf: Record<Finding['outcome'], ExitCode> = {
  verified: exitCodes.done,
  not_verified: exitCodes.notVerified,
  pending: exitCodes.pending,
  unnamed: exitCodes.unnamed,
};

export async function verify(context: Context, input: VerifyInput): Promise<ExitCode> {
  const { anchorAddress: named = [], rpcUrl = [], watch, timeout } = input;
  if (!named.every((address) => /^0x[0-9a-fA-F]{40}$/.test(address))) {
    throw new SvcError('usage', '--anchor-address must be an address: 0x and 40 hex digits.');
  }
  // Compare in normal form: the same endpoint may be written in two ways.
  const endpoints = rpcUrl.map((url) => (URL.canParse(url) ? new URL(url).href : url));
  if (new Set(endpoints).size < endpoints.length) {
    throw new SvcError('usage', 'The same --rpc-url twice would agree with itself.');
  }
  if (timeout !== undefined && !watch) throw new SvcError('usage', '--timeout needs --watch.');
  const subject = await readSubject(input.hashOrFile);
  const evidence =
    input.proof === undefined ? [] : [await checkFile(context.output, input.proof, subject)];
  const sources = { subject, evidence, rpcUrls: rpcUrl, named };
  const look = async () => {
    const finding = await find(context, sources);
    return input.requireEvidence ? requiringEvidence(finding) : finding;
  };
  const finding = watch ? await watchFinding(context, look, timeout) : await look();
  report(context.output, finding);
  return exitCodeOf[finding.outcome];
}

interface Sources {
  subject: Subject;
  evidence: readonly Check[];
  rpcUrls: readonly string[];
  /** The accounts of which one must have sent the anchor; empty: the service names it. */
  named: readonly string[];
}

/**
 * With RPC URLs, the nodes check a document, or what the service states about a hash. For a document the service is
 * asked only for its accounts, and only if the caller neither named an account nor saved the service.
 */
async function find(context: Context, sources: Sources): Promise<Finding> {
  const { subject, evidence, rpcUrls } = sources;
  const readsChain = rpcUrls.length > 0;
  const needsService = !readsChain || subject.stated === null;
  const word = needsService ? await askService(context, subject) : null;
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
    identity: { by: null, addresses: sources.named },
    facts: factsOf(subject, stated),
  };
  const named = { addresses: sources.named, stated, asked: word?.url ?? null };
  if (word !== null && word.stated === null) {
    const isSound = evidence.every(({ ok }) => ok);
    return withIdentity(context, isSound ? known : { ...known, outcome: 'not_verified' }, named);
  }
  const found = readsChain ? await readChain(stated, sources) : takeWord(word, sources);
  return withIdentity(context, { ...known, ...found }, named);
}

function factsOf({ bundle }: Subject, stated: StatedAnchor | null): Record<string, string> {
  if (stated === null) return {};
  const { chain_id, robot_id, block_number, anchored_at } = stated;
  return {
    ...(bundle === null ? {} : { title: bundle.claim.title }),
    robot: robot_id,
    ...(block_number === undefined ? {} : { block: block_number }),
    ...(anchored_at === undefined ? {} : { anchored_at }),
    chain: chain_id === TEST_CHAIN ? `${chain_id}, a test chain` : String(chain_id),
  };
}

function requiringEvidence(finding: Finding): Finding {
  if (evidenceOf(finding) !== 'not_included') return finding;
  const check = { name: 'evidence', ok: false, detail: 'No evidence was given' };
  return { ...finding, outcome: 'not_verified', checks: [check, ...finding.checks] };
}

async function readChain(
  stated: Subject['stated'],
  { subject, evidence, rpcUrls, named }: Sources,
): Promise<Partial<Finding>> {
  const document = subject.bundle ?? stated;
  if (document === null) throw new Error('nothing is stated');
  const { verifyAnchor } = await import('../../chain/verify-anchor.ts');
  const audit = await verifyAnchor(document, { rpcUrls, anchorAddresses: named });
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

function takeWord(word: Word | null, { subject, evidence, named }: Sources): Partial<Finding> {
  if (word === null) throw new Error('No node and no service was asked');
  const checks = [
    ...evidence,
    ...(subject.bundle === null ? [] : auditBundleAlone(subject.bundle)),
    ...checkWord(word, subject.stated, named),
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

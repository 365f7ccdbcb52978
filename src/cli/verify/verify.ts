// The steps of `svc verify`: read the subject, ask the service or the chain, report.
import { SvcError } from '../../base/svc-error.ts';
import type { StatedAnchor } from '../../proof/audit-anchor.ts';
import { auditBundleAlone } from '../../proof/audit-bundle.ts';
import { expectSender, isProven } from '../../proof/audit-check.ts';
import { auditChainProof, signerOf } from '../../proof/chain-proof.ts';
import type { Subject } from '../../proof/subject/subject.ts';
import type { Context } from '../context.ts';
import { type ExitCode, exitCodes } from '../program/exit-codes.ts';
import { requirePrivateNodes } from '../program/profiles.ts';
import { checkEvidence, type GivenEvidence, readEvidence, requiringEvidence } from './evidence.ts';
import { checkFiles, type FilesInput } from './files.ts';
import { type Check, chainOptionsOf, type Finding } from './finding.ts';
import { withIdentity } from './identity.ts';
import { report } from './report.ts';
import { askAbout, resolveSubject } from './resolve.ts';
import { checkWord, type Word } from './service.ts';
import { watchFinding } from './watch.ts';

export interface VerifyInput extends FilesInput {
  subject: string;
  rpcUrl?: string[];
  blockHash?: string;
  full?: true;
  proof?: string;
  anchorAddress?: string[];
  requireEvidence?: true;
  bigIntegers?: 'string';
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
  requireConsistent(input);
  await requireAddresses(input.anchorAddress ?? []);
  requirePrivateNodes(input.rpcUrl ?? [], context.options);
  const { anchorAddress: named = [], rpcUrl: rpcUrls = [], watch, timeout } = input;
  const { blockHash = null, full = false } = input;
  const numbers = input.bigIntegers;
  const subject = await resolveSubject(context, input.subject, {
    offline: blockHash !== null,
    numbers,
  });
  if (blockHash !== null && subject.bundle?.chain_proof === undefined) {
    throw new SvcError('usage', '--block-hash needs a bundle with a chain proof (svc-bundle/2).', {
      hint: 'Get one with svc bundle TASK or svc bundle --upgrade FILE, or use --rpc-url.',
    });
  }
  const files = { argument: input.subject, proof: input.proof, numbers };
  const given = await readEvidence(context.output, subject, files);
  const proof = subject.proof ?? given[0]?.proof ?? null;
  const listed = await checkFiles(context.output, proof, input);
  const sources = { subject, given, listed, rpcUrls, blockHash, full, named };
  const verifyOnce = async () => {
    const finding = await find(context, sources);
    return input.requireEvidence ? requiringEvidence(finding) : finding;
  };
  const finding = watch ? await watchFinding(context, verifyOnce, timeout) : await verifyOnce();
  report(context.output, finding);
  return exitCodeOf[finding.outcome];
}

/** @throws SvcError `usage`, also for a wrong checksum: a typing error must not look like a forgery. */
async function requireAddresses(addresses: readonly string[]): Promise<void> {
  if (addresses.length === 0) return;
  const { checksumAddress } = await import('../../chain/chain.ts');
  const wrong = addresses.find((address) => checksumAddress(address) === null);
  if (wrong === undefined) return;
  throw new SvcError('usage', `--anchor-address ${wrong} is no address.`, {
    hint: 'An address is 0x and 40 hex digits. Upper and lower case are a checksum: check it for typing errors.',
  });
}

/** @throws SvcError `usage` */
function requireConsistent(input: VerifyInput): void {
  const { rpcUrl = [], blockHash, full, watch, timeout } = input;
  const usage = (message: string) => new SvcError('usage', message);
  // Compare in normal form: the same endpoint may be written in two ways.
  const endpoints = rpcUrl.map((url) => (URL.canParse(url) ? new URL(url).href : url));
  if (new Set(endpoints).size < endpoints.length) {
    throw usage('The same --rpc-url twice would agree with itself.');
  }
  if (blockHash !== undefined) {
    if (!/^0x[0-9a-fA-F]{64}$/.test(blockHash)) {
      throw usage('--block-hash must be a hash: 0x and 64 hex digits.');
    }
    if (rpcUrl.length > 0) throw usage('Use either --block-hash or --rpc-url.');
    if (watch) throw usage('--watch needs the chain or the service; --block-hash uses neither.');
  }
  if (full && rpcUrl.length === 0) throw usage('--full needs --rpc-url.');
  if (timeout !== undefined && !watch) throw usage('--timeout needs --watch.');
}

interface Sources {
  subject: Subject;
  given: readonly GivenEvidence[];
  listed: Awaited<ReturnType<typeof checkFiles>>;
  rpcUrls: readonly string[];
  /** Null: ask the nodes or the service. */
  blockHash: string | null;
  full: boolean;
  /** The accounts of which one must have sent the anchor; empty: the service names it. */
  named: readonly string[];
}

/**
 * With RPC URLs, the nodes check a document, or what the service states about a hash. For a document the service is
 * asked only for its accounts, and only if the caller neither named an account nor saved the service.
 */
async function find(context: Context, sources: Sources): Promise<Finding> {
  const { given, listed, rpcUrls, blockHash } = sources;
  const readsChain = rpcUrls.length > 0;
  const needsService = blockHash === null && (!readsChain || sources.subject.stated === null);
  const alone = needsService ? checkAlone(sources) : [];
  // What contradicts itself is not verified, whatever the service states.
  const isContradiction = !alone.every(({ ok }) => ok);
  const { subject, word } =
    needsService && !isContradiction
      ? await askAbout(context, sources.subject)
      : { subject: sources.subject, word: null };
  const stated = subject.stated ?? word?.stated ?? null;
  const evidence = [...checkEvidence(given, subject), ...listed.checks];
  const known: Finding = {
    outcome: 'pending',
    recognized: subject.kind,
    basis: basisOf(sources),
    chainOptions: chainOptionsOf(subject),
    service: word?.url ?? null,
    proofHash: subject.proofHash,
    txHash: stated?.tx_hash ?? word?.answer.anchor.tx_hash ?? null,
    checks: [...evidence, ...alone],
    sender: null,
    confirmations: null,
    finality: word?.answer.anchor.finality ?? null,
    nodes: [],
    occurrences: word?.answer.occurrences ?? 1,
    stated: unproven(subject, word),
    identity: { by: null, isStated: false, addresses: sources.named },
    files: listed.files,
    facts: factsOf(subject, stated),
  };
  const named = {
    addresses: sources.named,
    stated,
    asked: word?.url ?? null,
    offline: blockHash !== null,
  };
  if (isContradiction || (word !== null && word.stated === null)) {
    const isSound = known.checks.every(({ ok }) => ok);
    return withIdentity(context, isSound ? known : { ...known, outcome: 'not_verified' }, named);
  }
  const found = await look(sources, { word, stated });
  const checks = [...evidence, ...found.checks];
  const outcome = isProven(checks) ? 'verified' : 'not_verified';
  const finding: Finding = { ...known, ...found, checks, outcome };
  const isSame = finding.finality === null || finding.finality === finding.stated.finality;
  const { finality: _, ...others } = finding.stated;
  return withIdentity(context, { ...finding, stated: isSame ? others : finding.stated }, named);
}

function basisOf({ subject, rpcUrls, blockHash, full }: Sources): Finding['basis'] {
  if (blockHash !== null) return 'block_hash';
  if (rpcUrls.length === 0) return 'service';
  return subject.bundle?.chain_proof === undefined || full ? 'chain' : 'block';
}

function factsOf({ bundle }: Subject, stated: StatedAnchor | null): Record<string, string> {
  if (stated === null) return {};
  const { chain_id, task_id, robot_id, block_number, anchored_at } = stated;
  return {
    ...(bundle === null ? {} : { title: bundle.claim.title }),
    task: task_id,
    robot: robot_id,
    ...(block_number === undefined ? {} : { block: block_number }),
    ...(anchored_at === undefined ? {} : { anchored_at }),
    chain: chain_id === TEST_CHAIN ? `${chain_id}, a test chain` : String(chain_id),
  };
}

/** The checks of a bundle that need neither the service nor the chain. */
function checkAlone({ subject, named }: Pick<Sources, 'subject' | 'named'>): Check[] {
  if (subject.bundle === null) return [];
  return expectSender(auditBundleAlone(subject.bundle), signerOf(subject.bundle), named);
}

/** The part of a finding that comes from the block hash, the nodes or the service. */
type Look = Pick<Finding, 'checks' | 'sender'> & Partial<Finding>;

function look(
  sources: Sources,
  known: { word: Word | null; stated: StatedAnchor | null },
): Look | Promise<Look> {
  const { subject, rpcUrls, blockHash, named } = sources;
  if (rpcUrls.length > 0) return readChain(known.stated, sources);
  if (blockHash === null || subject.bundle === null) return takeWord(known.word, sources);
  // Opens no socket.
  const sender = signerOf(subject.bundle);
  const checks = auditChainProof(subject.bundle, blockHash);
  return { checks: expectSender(checks, sender, named), sender };
}

async function readChain(
  stated: Subject['stated'],
  { subject, rpcUrls, full, named }: Sources,
): Promise<Look> {
  const document = subject.bundle ?? stated;
  if (document === null) throw new Error('nothing is stated');
  const { verifyAnchor } = await import('../../chain/verify-anchor.ts');
  const audit = await verifyAnchor(document, { rpcUrls, full, anchorAddresses: named });
  return {
    checks: audit.checks,
    sender: audit.sender,
    confirmations: audit.confirmations === null ? null : String(audit.confirmations),
    finality: audit.finality,
    nodes: audit.nodes,
  };
}

function takeWord(word: Word | null, { subject, named }: Sources): Look {
  if (word === null) throw new Error('No node and no service was asked');
  const checks = [...checkAlone({ subject, named }), ...checkWord(word, subject.stated, named)];
  const { from, confirmations, finality } = word.answer.anchor;
  return {
    checks,
    sender: from?.toLowerCase() ?? null,
    confirmations,
    finality,
  };
}

/** Statements without a proof. A bundle proves its title with the claim; a receipt has neither title nor name. */
function unproven({ stated, unproven }: Subject, word: Word | null): Record<string, string> {
  if (stated !== null || word === null) return { ...unproven };
  const { title, robot } = word.answer.task;
  return { title, robot_name: robot };
}

// The steps of `svc verify`: read the subject, verify its anchor, print the report.
import { setTimeout as sleep } from 'node:timers/promises';
import { SvcError } from '../../base/svc-error.ts';
import type { Recognized, Subject } from '../../proof/subject/subject.ts';
import type { Context } from '../context.ts';
import { type ExitCode, exitCodes } from '../program/exit-codes.ts';
import { requirePrivateNodes } from '../program/profiles.ts';
import { type Check, txHashOf, verifyOffline, verifyOnChain, verifyWithService } from './anchor.ts';
import { isArchive, linesOf, verifyArchive } from './archive.ts';
import { checkEvidence, checkFiles, evidenceStatus, readEvidence } from './evidence.ts';
import { openFolder } from './folder.ts';
import { identify } from './identity.ts';
import { ofAnchors, requireApplicable, requireConsistent, type VerifyInput } from './options.ts';
import { verifyPromise } from './promise.ts';
import { printReport, type Report } from './report.ts';
import { readTaskReceipt } from './service.ts';
import { askNodes, requirePinnable, verifySigning } from './signing.ts';
import { readSubject } from './subject.ts';

const exitCodeOf: Record<Report['outcome'], ExitCode> = {
  verified: exitCodes.done,
  not_verified: exitCodes.notVerified,
  pending: exitCodes.pending,
  unnamed: exitCodes.unnamed,
};

/** Shorter than the block time of most chains. */
const POLL_MS = 2_000;

export async function verify(context: Context, input: VerifyInput): Promise<ExitCode> {
  const { owner, robotKey, subject: argument, rpcUrl: rpcUrls = [], full } = input;
  requirePrivateNodes(rpcUrls, context.options);
  if (owner !== undefined) await requireAddresses('--owner', [owner]);
  const pins = { owner, robotKey };
  const refused: string[] = [];
  const lines = (await isArchive(argument))
    ? linesOf(argument)
    : await openFolder(argument, pins, (reason) => refused.push(reason));
  if (lines !== null) {
    requireApplicable(input, 'statements', [...ofAnchors, 'bundle']);
    const options = { ...pins, ...(await askNodes({ rpcUrls, full })) };
    return verifyArchive(context, lines, options, refused);
  }
  const { anchorAddress: anchorAddresses = [], blockHash } = input;
  requireConsistent(input);
  await requireAddresses('--anchor-address', anchorAddresses);
  const recognized = await readSubject(argument, { numbers: input.bigIntegers });
  if ('jws' in recognized) {
    requireApplicable(input, 'a promise', [...ofAnchors, 'owner', 'robotKey']);
    return verifyPromise(context, recognized.jws, input);
  }
  requireApplicable(input, 'an anchor', ['bundle']);
  const subject = await resolveSubject(context, recognized, blockHash !== undefined);
  requirePinnable(subject, pins);
  const evidence = await readEvidence(context.output, subject, input);
  const proof = subject.proof ?? evidence[0]?.proof ?? null;
  const { files, checks: fileChecks } = await checkFiles(context.output, proof, input);

  const anchorResult = () => {
    if (blockHash !== undefined) return verifyOffline(subject, blockHash, anchorAddresses);
    if (rpcUrls.length === 0) return verifyWithService(context, subject, anchorAddresses);
    return verifyOnChain(context, subject, { rpcUrls, full, anchorAddresses });
  };
  const verifyOnce = async (): Promise<Report> => {
    const result = await anchorResult();
    const identity = await identify(context, result, anchorAddresses);
    const evidenceChecks = checkEvidence(evidence, result.subject.proofHash);
    const signing = await verifySigning(result.subject, pins, { rpcUrls, full });
    const ownChecks = [...evidenceChecks, ...fileChecks, ...result.checks, ...signing.checks];
    const checks = withSender(ownChecks, identity.check);
    if (input.requireEvidence && evidenceStatus(checks) === 'not_included') {
      checks.unshift({ name: 'evidence_required', ok: false, detail: 'No evidence was given' });
    }
    const report = { ...result, checks, files, identity, signing };
    return { ...report, outcome: outcomeOf(report) };
  };
  const report = await (input.watch ? watch(context, verifyOnce, input.timeout) : verifyOnce());
  printReport(context.output, report);
  if (input.report !== undefined) {
    // Loaded on demand: it brings the QR code.
    const { writeCertificate } = await import('./certificate.ts');
    await writeCertificate(context, report, { ...input, report: input.report });
  }
  return exitCodeOf[report.outcome];
}

/** The subject of a task id is the receipt of the task, which the service has. */
async function resolveSubject(
  context: Context,
  recognized: Recognized,
  isOffline: boolean,
): Promise<Subject> {
  if (!('proofHash' in recognized)) {
    if (!isOffline) return readTaskReceipt(context, recognized.taskId);
    throw new SvcError('usage', '--block-hash needs a bundle with a chain proof.');
  }
  if (!isOffline || recognized.bundle?.chain_proof !== undefined) return recognized;
  const message = '--block-hash needs a bundle with a chain proof (svc-bundle/2, svc-bundle/3).';
  throw new SvcError('usage', message, {
    hint: 'Get one with svc bundle TASK or svc bundle --upgrade FILE, or use --rpc-url.',
  });
}

/** Replaces the check of the sender, unless it has failed already. */
function withSender(checks: Check[], sender: Check | null): Check[] {
  if (sender === null || checks.some(({ name, ok }) => name === 'sender' && !ok)) return checks;
  return [...checks.filter(({ name }) => name !== 'sender'), sender];
}

function outcomeOf({ answer, checks, identity }: Omit<Report, 'outcome'>): Report['outcome'] {
  if (checks.some(({ ok }) => !ok)) return 'not_verified';
  if (answer?.stated === null) return 'pending';
  return identity.namedBy === null ? 'unnamed' : 'verified';
}

/** @throws SvcError `usage`, also for a wrong checksum: a typing error must not look like a forgery. */
async function requireAddresses(option: string, addresses: readonly string[]): Promise<void> {
  if (addresses.length === 0) return;
  const { checksumAddress } = await import('../../chain/chain.ts');
  const wrong = addresses.find((address) => checksumAddress(address) === null);
  if (wrong === undefined) return;
  throw new SvcError('usage', `${option} ${wrong} is no address.`, {
    hint: 'An address is 0x and 40 hex digits. Upper and lower case are a checksum: check it for typing errors.',
  });
}

/**
 * Repeats `verifyOnce` until the anchor is final or refuted. After `timeout` seconds it resolves with the last report as
 * pending. Retryable errors, such as a node that does not answer, are retried until then.
 */
function watch(
  { output, wait }: Context,
  verifyOnce: () => Promise<Report>,
  timeout = Number.POSITIVE_INFINITY,
): Promise<Report> {
  const deadline = performance.now() + timeout * 1000;
  let noted = '';
  const noteOnce = (text: string) => {
    if (text !== noted) output.note(text);
    noted = text;
  };
  return wait('Waiting until the anchor is final', async () => {
    for (;;) {
      const isLast = performance.now() + POLL_MS > deadline;
      try {
        const report = await verifyOnce();
        const { outcome, finality } = report;
        if (outcome === 'not_verified' || finality === 'finalized') return report;
        if (isLast) return { ...report, outcome: 'pending' };
        const state = outcome === 'pending' ? 'not in the chain yet' : finality;
        const txHash = txHashOf(report);
        noteOnce(txHash === null ? `${state}` : `${state}, ${txHash}`);
      } catch (error) {
        if (isLast || !(error instanceof SvcError && error.retryable)) throw error;
        noteOnce(`${error.message} Retrying every 2 s.`);
      }
      await sleep(POLL_MS);
    }
  });
}

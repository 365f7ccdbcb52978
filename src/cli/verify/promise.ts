// Verifies a promise: whether the service has anchored each promised result in time.
import { SvcError } from '../../base/svc-error.ts';
import { auditBundleAlone } from '../../proof/audit-bundle.ts';
import { isProven } from '../../proof/audit-check.ts';
import { type Anchored, statedAnchorOf } from '../../proof/bundle-checks.ts';
import type { Hex } from '../../proof/bytes.ts';
import { signerOf } from '../../proof/chain-proof.ts';
import type { JsonValue } from '../../proof/json-value.ts';
import { leafHash } from '../../proof/leaf.ts';
import {
  type AnchorPromise,
  type PromisedLeaf,
  type ReadPromise,
  readPromise,
} from '../../proof/statements/promise.ts';
import { algorithmOf, openKey, readPublicKey } from '../../proof/statements/public-key.ts';
import { readAnchoredLeaf } from '../../proof/subject/anchor-members.ts';
import type { AnchorsList } from '../../protocol/anchoring-accounts.ts';
import type { Context } from '../context.ts';
import { nameOf } from '../input/files.ts';
import { type ExitCode, exitCodes } from '../program/exit-codes.ts';
import { checkList, entryOf, readList } from '../trust/check-list.ts';
import { savedLists, serviceOf } from './identity.ts';
import { namingDocument, readBundleFile } from './subject.ts';

/** From the worst: the promise has the worst outcome of its results. `not_shown`: the service did not answer. */
const outcomes = ['broken', 'kept_late', 'not_shown', 'unnamed', 'open', 'kept'] as const;

type Outcome = (typeof outcomes)[number] | 'not_verified';

const verdicts: Record<Outcome, { exitCode: ExitCode; headline: string }> = {
  kept: { exitCode: exitCodes.done, headline: 'Kept.' },
  kept_late: { exitCode: exitCodes.promiseBroken, headline: 'Kept late.' },
  open: { exitCode: exitCodes.pending, headline: 'Open.' },
  broken: { exitCode: exitCodes.promiseBroken, headline: 'BROKEN.' },
  not_shown: { exitCode: exitCodes.unreachable, headline: 'Broken, or not shown.' },
  unnamed: { exitCode: exitCodes.unnamed, headline: 'Not checked completely.' },
  not_verified: { exitCode: exitCodes.notVerified, headline: 'NOT verified.' },
};

/** Where a leaf is anchored. */
interface Place {
  block_number: string;
  anchored_at: string;
  tx_hash: string;
  sender: string;
  /** Whether the list has the sender for this block. */
  listed: boolean;
  /** Null without a node. */
  finality: string | null;
  /** The file or the service that stated the anchor. */
  stated_by: string;
}

interface PromiseReport extends Omit<AnchorPromise, 'leaves'> {
  outcome: Outcome;
  /** Whether nodes confirm the anchors, or only bundles and the service state them. */
  basis: 'chain' | 'stated';
  /** Thumbprint of the key. */
  key: string;
  key_retired: boolean;
  /** The newest final block of the chain; null without a node. */
  final_time: string | null;
  leaves: (PromisedLeaf & { outcome: Outcome; anchor: Place | null })[];
  notes: string[];
}

export async function verifyPromise(
  context: Context,
  jws: string,
  { rpcUrl: rpcUrls = [], bundle: files = [] }: { rpcUrl?: string[]; bundle?: string[] },
): Promise<ExitCode> {
  const { output, wait } = context;
  const read = namingDocument('the promise', () => readPromise(jws));
  const report = await wait('Verifying the promise', () => audit(context, read, rpcUrls, files));
  if (output.asksJson) output.json(report);
  else for (const text of sentencesOf(report)) output.text(text);
  return verdicts[report.outcome].exitCode;
}

async function audit(
  context: Context,
  { promise, header, signed, signature }: ReadPromise,
  rpcUrls: readonly string[],
  files: readonly string[],
): Promise<PromiseReport> {
  const { origin, chain_id, anchored_by } = promise;
  const report: PromiseReport = {
    outcome: 'not_verified',
    basis: rpcUrls.length === 0 ? 'stated' : 'chain',
    ...promise,
    key: header.kid,
    key_retired: false,
    final_time: null,
    leaves: [],
    notes: [],
  };
  const only = (outcome: Outcome, note: string) => ({ ...report, outcome, notes: [note] });
  const { list, isSaved } = await listOf(context, origin);
  if (list === null) {
    const how = `--url ${origin}, or save its list with svc trust add ${origin}`;
    return only('unnamed', `You have not named the service of this promise. Name it with ${how}.`);
  }
  const entries = list.accounts.filter(
    (one) => one.chain_id === chain_id && one.promise_key?.kid === header.kid,
  );
  const key = entries[0]?.promise_key && readPublicKey(entries[0].promise_key.public_key);
  if (key === undefined) {
    const hint = isSaved ? ` If it is new, run svc trust refresh ${origin}.` : '';
    return only(
      'not_verified',
      `The list of ${origin} does not have the key ${header.kid}.${hint}`,
    );
  }
  const isSigned = await openKey(key);
  if (header.alg !== algorithmOf(key) || !(await isSigned(signed, signature))) {
    return only('not_verified', `The key ${header.kid} did not sign this promise.`);
  }
  if (!isSaved) {
    report.notes.push(`Only the service itself names this key. Save its list with svc trust add.`);
  }
  report.key_retired = entries.every(({ last_block }) => last_block !== null);
  const nodes = rpcUrls.length === 0 ? null : await import('../../chain/verify-anchor.ts');
  report.final_time = (await nodes?.readFinalTime(chain_id, rpcUrls)) ?? null;
  const given = await bundlesOf(files);
  const locate = async (document: Anchored, stated_by: string): Promise<Place | null> => {
    const found = await placeOf(document, rpcUrls);
    if (found === null || document.chain_id !== chain_id) {
      report.notes.push(`The anchor that ${stated_by} states does not hold.`);
      return null;
    }
    const entry = entryOf(list, chain_id, found.sender);
    const last = entry?.last_block ?? found.block_number;
    const listed = entry !== null && BigInt(found.block_number) <= BigInt(last);
    return { ...found, listed, stated_by };
  };
  /** Without a node, the deadline has passed if the anchor is said to be later. */
  const outcomeOf = (place: Place | null, isSilent: boolean): Outcome => {
    if (place?.listed && place.anchored_at <= anchored_by) return 'kept';
    const { final_time } = report;
    const isPast = nodes === null ? place !== null : (final_time ?? '') > anchored_by;
    if (!isPast) return 'open';
    if (place !== null) return place.listed ? 'kept_late' : 'unnamed';
    return isSilent ? 'not_shown' : 'broken';
  };
  for (const one of promise.leaves) {
    const places: Place[] = [];
    for (const { document, file } of given.filter(({ leaf }) => leaf === one.leaf)) {
      const place = await locate(document, file);
      if (place !== null) places.push(place);
    }
    let anchor = bestOf(places);
    let isSilent = false;
    if (outcomeOf(anchor, isSilent) !== 'kept') {
      const answer = await askForLeaf(context, origin, one).catch((error: unknown) => {
        if (!(error instanceof SvcError)) throw error;
        isSilent = error.code !== 'leaf_not_anchored';
        if (isSilent) report.notes.push(`The service did not answer: ${error.message}`);
        return null;
      });
      const place = answer && (await locate(answer, origin));
      if (place !== null) anchor = bestOf([...places, place]);
    }
    report.leaves.push({ ...one, outcome: outcomeOf(anchor, isSilent), anchor });
  }
  report.notes = [...new Set(report.notes)];
  const worst = outcomes.find((each) => report.leaves.some(({ outcome }) => outcome === each));
  return { ...report, outcome: worst ?? 'not_verified' };
}

/** The saved list of an origin; its current one if the command line names this service. */
async function listOf(context: Context, origin: string) {
  const service = await serviceOf(context);
  const lists = savedLists(context);
  const saved = lists?.find((one) => one.origin === origin) ?? null;
  const isOther = service?.url !== origin;
  if (lists === null || (isOther && service?.isGiven)) return { list: null, isSaved: false };
  if (saved !== null || isOther) return { list: saved, isSaved: true };
  const list: AnchorsList = await readList(context, origin);
  await checkList(list, origin);
  return { list, isSaved: false };
}

/** The one by a listed account, and of several the earliest: no other anchor of a leaf takes that back. */
function bestOf(places: readonly Place[]): Place | null {
  const [best = null] = places.toSorted(
    (a, b) => Number(b.listed) - Number(a.listed) || (a.anchored_at < b.anchored_at ? -1 : 1),
  );
  return best;
}

/** The given bundles with their leaves. */
async function bundlesOf(files: readonly string[]) {
  const bundles: { leaf: Hex; document: Anchored; file: string }[] = [];
  for (const file of files) {
    const document = await readBundleFile(file);
    bundles.push({ leaf: leafHash(statedAnchorOf(document)), document, file: nameOf(file) });
  }
  return bundles;
}

async function askForLeaf({ client }: Context, origin: string, { task_id, leaf }: PromisedLeaf) {
  const input = { params: { leaf }, query: { task_id } };
  const { body } = await client(origin).call('readLeafAnchor', input);
  const name = 'the answer of the service';
  const read = namingDocument(name, () => readAnchoredLeaf(body as JsonValue));
  if (read.leaf === leaf) return read;
  throw new SvcError(
    'unexpected_answer',
    `Unexpected answer from ${origin}: it is about another leaf.`,
  );
}

/** Where the chain has the anchor now; without nodes, where the document states it. Null if a check fails. */
async function placeOf(document: Anchored, rpcUrls: readonly string[]) {
  const { block_number, anchored_at, tx_hash } = document.anchor;
  if (rpcUrls.length === 0) {
    const sender = signerOf(document);
    if (sender === null || !isProven(auditBundleAlone(document))) return null;
    return { block_number, anchored_at, tx_hash, sender, finality: null };
  }
  const { verifyAnchor } = await import('../../chain/verify-anchor.ts');
  let audit = await verifyAnchor(document, { rpcUrls });
  if (!isProven(audit.checks)) {
    // A reorganization may have moved the transaction to another block.
    const leaf = 'leaf' in document ? document.leaf : leafHash(statedAnchorOf(document));
    const { chain_id, inclusion } = document;
    audit = await verifyAnchor({ chain_id, leaf, inclusion, tx_hash }, { rpcUrls });
  }
  const { block, sender, finality } = audit;
  if (!isProven(audit.checks) || block === null || sender === null) {
    if (!audit.nodes.some(({ checks }) => isProven(checks))) return null;
    throw new SvcError('chain_unavailable', `The nodes do not agree on transaction ${tx_hash}.`);
  }
  return { block_number: block.number, anchored_at: block.timestamp, tx_hash, sender, finality };
}

function* sentencesOf(report: PromiseReport): Generator<string> {
  const { outcome, basis, origin, chain_id, anchored_by, final_time, leaves } = report;
  const isStated = basis === 'stated' && leaves.length > 0;
  yield `${isStated ? 'Stated: ' : ''}${verdicts[outcome].headline}`;
  if (leaves.length > 0) {
    const results = leaves.length === 1 ? '1 result' : `${leaves.length} results`;
    yield `${origin} signed that it would anchor ${results} on chain ${chain_id} by ${anchored_by}.`;
  }
  for (const { task_id, outcome: each, anchor } of leaves) {
    yield `Task ${task_id}: ${anchor === null ? 'no anchor was found' : textOf(anchor, each)}.`;
  }
  if (isStated) yield 'Not checked against the chain. Check it with --rpc-url URL.';
  else if (outcome === 'open') {
    yield `The time of the newest final block is ${final_time ?? 'not known'}.`;
  }
  if (report.key_retired) yield 'The key of this promise is retired.';
  yield* report.notes;
  if (outcome === 'not_shown') yield 'Silence does not show that the promise was broken.';
}

function textOf(
  { block_number, anchored_at, sender, listed, finality, stated_by }: Place,
  outcome: Outcome,
) {
  const when = outcome === 'kept' ? 'in time' : outcome === 'kept_late' ? 'too late' : '';
  const parts = [
    `anchored in block ${block_number} at ${anchored_at}`,
    ...(when === '' ? [] : [when]),
    ...(listed ? [] : [`by ${sender}, which is not in the list for this block`]),
    ...(finality === null ? [`as ${stated_by} states`] : []),
    ...(finality === null || finality === 'finalized' ? [] : ['not final yet']),
  ];
  return parts.join(', ');
}

// Verifies an anchor against RPC endpoints of the caller's choice.
import { isDeepStrictEqual } from 'node:util';
import { SvcError } from '../base/svc-error.ts';
import {
  auditAnchor,
  type ChainFacts,
  type StatedAnchor,
  type StatedLeaf,
} from '../proof/audit-anchor.ts';
import { auditBundle } from '../proof/audit-bundle.ts';
import { type AuditCheck, type AuditCheckName, expectSender } from '../proof/audit-check.ts';
import type { Anchored } from '../proof/bundle-checks.ts';
import type { Hex } from '../proof/bytes.ts';
import { auditChainProof, signerOf } from '../proof/chain-proof.ts';
import { ProviderError } from './errors.ts';
import { finalityRule, headCalls, headsOf } from './finality.ts';
import {
  type AnchorReading,
  listsTransaction,
  lowestDepth,
  prunedError,
  readAnchor,
  readBlockAt,
  type StatedPlace,
} from './read-anchor.ts';
import { type Ask, readingAt } from './rpc.ts';

export interface VerifyOptions {
  /** One or more http or https URLs. With several, all must answer and agree. */
  rpcUrls: readonly string[];
  /** The accounts of which one must have sent the anchor, regardless of the document; empty: any. */
  anchorAddresses?: readonly string[] | undefined;
  /** Read transaction and receipt even if the document has a chain proof. */
  full?: boolean | undefined;
}

interface AnchorCheck extends Omit<AuditCheck, 'name'> {
  /** `rpc_agreement` only with several URLs. */
  readonly name: AuditCheckName | 'rpc_agreement';
}

/** The audit against the node behind one URL. */
interface NodeAudit extends Pick<AnchorReading, 'confirmations' | 'finality'> {
  /** Number and host of the URL, such as `rpc-2 (rpc.example.org)`; no credentials, path or query. */
  readonly label: string;
  readonly checks: AuditCheck[];
  /** The sender of the transaction, in lower case; null if the node does not know the transaction. */
  readonly sender: string | null;
}

export interface AnchorAudit extends Pick<AnchorReading, 'confirmations' | 'finality'> {
  /** A check passes if it passes at every node; otherwise its detail names the nodes where it fails. */
  readonly checks: AnchorCheck[];
  /** As in `NodeAudit`; also null if the nodes do not agree. */
  readonly sender: string | null;
  /** The current block of the transaction, at the first node. Of several nodes, `rpc_agreement` compares it. */
  readonly block: ChainFacts['canonical_block'];
  /** In the order of the URLs. The overall `confirmations` and `finality` are the lowest of these. */
  readonly nodes: readonly NodeAudit[];
}

/**
 * Checks a stated anchor, a bundle or a free leaf against the chain behind any RPC URLs, without contacting the service:
 * every check of `auditAnchor` or `auditBundle`. Of a bundle with a chain proof, only the current block at its number is
 * read, and the checks are those of `auditChainProof`. With another bundle, a node that no longer knows the transaction
 * by its hash is asked for it by block hash and index. Rejects with `chain_unavailable` if the chain cannot be read at
 * one of the URLs, and with `invalid_rpc_url`.
 */
export async function verifyAnchor(document: Stated, options: VerifyOptions): Promise<AnchorAudit> {
  const labels = options.rpcUrls.map(labelOf);
  const proven = !options.full && 'chain_proof' in document ? document : null;
  const subject = { document, proven };
  const answers = await Promise.allSettled(
    options.rpcUrls.map((url) => readingAt(url, (ask) => readFrom(ask, subject))),
  );
  const nodes = readingsOf(answers, labels).map(({ facts, ...standing }, i) => ({
    label: labels[i] ?? '',
    ...standing,
    facts,
    ...auditAt(subject, facts, options),
  }));
  const [first, ...others] = nodes;
  if (first === undefined) throw new RangeError('No RPC URL is configured.');
  return {
    ...lowestDepth(nodes),
    sender: others.every(({ sender }) => sender === first.sender) ? first.sender : null,
    block: first.facts.canonical_block,
    checks: [
      ...first.checks.map((check, i) => combined(check, nodes, i)),
      ...(others.length === 0 ? [] : [agreement(first, others)]),
    ],
    nodes: nodes.map(({ facts: _, ...node }) => node),
  };
}

type Stated = StatedAnchor | StatedLeaf | Anchored;

/**
 * The time of the newest block of this chain that is final at each of the nodes; null if a node has none. Rejects with
 * `usage` if a node is on another chain, and with `chain_unavailable`.
 */
export async function readFinalTime(
  chainId: number,
  rpcUrls: readonly string[],
): Promise<string | null> {
  const times = await Promise.all(
    rpcUrls.map((url) =>
      readingAt(url, async (ask) => {
        const rule = finalityRule(null);
        const { finalized } = headsOf(await ask(headCalls(rule)), rule);
        const { facts } = await readBlockAt(ask, finalized ?? 0n);
        if (facts.chain_id !== chainId) {
          throw new SvcError('usage', `The node is on chain ${facts.chain_id}, not ${chainId}.`);
        }
        return finalized === null ? '' : (facts.canonical_block?.timestamp ?? '');
      }),
    ),
  );
  return times.toSorted()[0] || null;
}

interface Subject {
  readonly document: Stated;
  /** The document, if the block at its number suffices to check it. */
  readonly proven: Anchored | null;
}

async function readFrom(ask: Ask, { document, proven }: Subject): Promise<AnchorReading> {
  if (proven !== null) return readBlockAt(ask, BigInt(proven.anchor.block_number));
  const isBundle = 'anchor' in document;
  const { tx_hash, block_number } = isBundle ? document.anchor : document;
  const place = isBundle ? { place: placeOf(document) } : {};
  const reading = await readAnchor(ask, tx_hash as Hex, place);
  const isPruned =
    (reading.facts.tx === null || reading.facts.receipt === null) &&
    /^\d{1,18}$/.test(block_number ?? '') &&
    (await listsTransaction(ask, BigInt(block_number ?? 0), tx_hash as Hex));
  if (isPruned) throw prunedError();
  return reading;
}

function placeOf({ anchor }: Anchored): StatedPlace {
  return { blockHash: anchor.block_hash, txIndex: anchor.tx_index };
}

/** Requires an answer of every node: silence is not agreement. */
function readingsOf(
  answers: readonly PromiseSettledResult<AnchorReading>[],
  labels: readonly string[],
): AnchorReading[] {
  const readings: AnchorReading[] = [];
  const silent: string[] = [];
  for (const [i, answer] of answers.entries()) {
    if (answer.status === 'fulfilled') readings.push(answer.value);
    else if (!(answer.reason instanceof ProviderError)) throw answer.reason;
    else silent.push(`${labels[i]}: ${answer.reason.reason}`);
  }
  if (silent.length > 0) throw new ProviderError(silent.join('; '));
  return readings;
}

function auditAt(
  { document, proven }: Subject,
  facts: ChainFacts,
  { anchorAddresses = [] }: VerifyOptions,
): Pick<NodeAudit, 'checks' | 'sender'> {
  if (proven !== null) {
    const sender = signerOf(proven);
    return { checks: expectSender(auditByBlock(proven, facts), sender, anchorAddresses), sender };
  }
  const isBundle = 'anchor' in document;
  const [anyOf] = anchorAddresses;
  const sender = facts.tx?.from ?? null;
  const from = isBundle ? document.anchor.from : document.from;
  const checks = isBundle
    ? auditBundle(document, facts)
    : auditAnchor({ ...document, from: from ?? (anyOf && (sender ?? anyOf)) }, facts);
  return { checks: expectSender(checks, sender, anchorAddresses), sender };
}

function auditByBlock(bundle: Anchored, { chain_id, canonical_block }: ChainFacts): AuditCheck[] {
  return auditChainProof(bundle, canonical_block?.hash ?? '').map((check) => {
    if (check.name === 'header') {
      const detail = check.ok
        ? 'The node has the block of the header'
        : 'The node has another block at the stated number';
      return { ...check, detail };
    }
    if (check.name !== 'chain' || chain_id === bundle.chain_id) return check;
    return { ...check, ok: false, detail: `The node is on chain ${chain_id}` };
  });
}

/** Combines one check over all nodes. The set of checks depends only on the document. */
function combined(first: AuditCheck, nodes: readonly NodeAudit[], at: number): AnchorCheck {
  const said = nodes.map(({ label, checks }) => ({ label, ...checks[at] }));
  const failed = said.filter(({ ok }) => !ok);
  const everywhere = said.every(({ detail }) => detail === first.detail);
  const detail = everywhere
    ? first.detail
    : failed.map((check) => `${check.label}: ${check.detail}`).join('; ');
  return { name: first.name, ok: failed.length === 0, detail };
}

const factNames: Readonly<Record<keyof ChainFacts, string>> = {
  chain_id: 'chain',
  tx: 'transaction',
  receipt: 'receipt',
  canonical_block: 'block',
};

interface Witness {
  readonly label: string;
  readonly facts: ChainFacts;
}

/** Two nodes may each confirm the document and still report different blocks. */
function agreement(first: Witness, others: readonly Witness[]): AnchorCheck {
  const names = Object.entries(factNames) as [keyof ChainFacts, string][];
  const differing = others.flatMap(({ label, facts }) => {
    const about = names.filter(([key]) => !isDeepStrictEqual(facts[key], first.facts[key]));
    return about.length === 0 ? [] : [`${label} (${about.map(([, name]) => name).join(', ')})`];
  });
  return {
    name: 'rpc_agreement',
    ok: differing.length === 0,
    detail:
      differing.length === 0
        ? `All ${others.length + 1} RPC URLs say the same`
        : `Not the same as ${first.label} says: ${differing.join('; ')}`,
  };
}

function labelOf(url: string, i: number): string {
  return `rpc-${i + 1} (${URL.canParse(url) ? new URL(url).host : 'not a URL'})`;
}

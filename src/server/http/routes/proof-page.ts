// The parts of the dashboard's document that state a final anchor: for previews of links, and without JavaScript.
import type { Hex } from '../../../proof/bytes.ts';
import type { Deps } from '../../core/deps.ts';
import { readStatedProof, type StatedProof } from '../../core/verification.ts';

const HASH = /^0x[0-9a-f]{64}$/;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Parts of the document by what they replace: title, Open Graph, and facts. Only the title while the anchor is not
 * final, or cannot be read: the page reads it again by itself.
 */
export async function proofParts(deps: Deps, proofHash: string, taskId: unknown) {
  const hash = proofHash.toLowerCase() as Hex;
  if (!HASH.test(hash)) return {};
  const id = String(taskId).toLowerCase();
  const read = readStatedProof(deps, hash, UUID.test(id) ? id : null);
  const proof = await read.catch(() => null);
  if (proof === null) {
    return { [TITLE]: `<title>Proof ${hash.slice(0, 10)}…${hash.slice(-6)} · svc</title>` };
  }
  const title = escaped(`${proof.task.title} by ${proof.robotName}`);
  const sentences = escaped(sentencesOf(proof, new URL(deps.settings.baseUrl).host));
  const address = `${deps.settings.baseUrl}/verify/${hash}${UUID.test(id) ? `?task_id=${id}` : ''}`;
  return {
    [TITLE]: `<title>${title} · svc</title>
    <meta property="og:type" content="website">
    <meta property="og:title" content="${title}">
    <meta property="og:description" content="${sentences}">
    <meta property="og:url" content="${escaped(address)}">`,
    [ROOT]: `<div id="root"><main class="public-main stated">
      <h1><bdi>${escaped(proof.task.title)}</bdi> by <bdi>${escaped(proof.robotName)}</bdi></h1>
      <p>This service states: ${sentences} The title and the name are not proven.</p>
      <dl class="facts">${factsOf(hash, proof)}</dl>
      <p>Your browser has not checked this yet. The checks need JavaScript. Without it, run <code>svc verify ${hash}</code>.</p>
    </main></div>`,
  };
}

/** Places in `src/dashboard/index.html`. */
const TITLE = '<title>svc</title>';
const ROOT = '<div id="root"><noscript>This page needs JavaScript.</noscript></div>';

const toTheMinute = { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' } as const;
const minute = new Intl.DateTimeFormat('en-GB', toTheMinute);

function sentencesOf({ receipt, isPublished }: StatedProof, host: string): string {
  const { anchoredAt, from } = receipt;
  const account = isPublished ? 'the published account' : 'an account outside of the list';
  const sender = `${from.slice(0, 6)}…${from.slice(-4)}, ${account} of ${host}`;
  return `The evidence with this hash has not changed since ${minute.format(anchoredAt)} UTC. Anchored by ${sender}.`;
}

function factsOf(hash: Hex, { receipt }: StatedProof): string {
  const { txHash, blockNumber, chainId, from } = receipt;
  const facts = {
    'Proof hash': hash,
    Transaction: txHash,
    Block: `${blockNumber} of chain ${chainId}, final`,
    Sender: from,
  };
  return Object.entries(facts)
    .map(([name, value]) => `<dt>${name}</dt><dd>${escaped(value)}</dd>`)
    .join('');
}

/** As text of an element or an attribute. */
function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

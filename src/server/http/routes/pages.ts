// Serves the pages outside the routes table: dashboard, proof pages, API reference, metrics.
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import files from '@fastify/static';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isLoopback } from '../../../base/addresses.ts';
import { packageFolder } from '../../../base/version.ts';
import type { Hex } from '../../../proof/bytes.ts';
import { escaped } from '../../../proof/subject/certificate.ts';
import { unchangedSince } from '../../../proof/subject/verdict.ts';
import { formatTimestamp } from '../../../protocol/timestamp.ts';
import type { Deps } from '../../core/deps.ts';
import { readStatedProof, type StatedProof } from '../../core/verification.ts';
import { wireError } from '../../ports/errors.ts';
import { bearerKey, sameSecret } from '../server/credentials.ts';
import { allowStyles } from '../server/security-headers.ts';
import type { HttpDeps } from '../server/strangers.ts';

const folder = path.join(packageFolder, 'dist/dashboard');

/** Paths of the dashboard's pages; one document serves them all. */
const dashboardPaths = [
  '/',
  '/sign-in',
  '/robots',
  '/robots/:id',
  '/fleets',
  '/tasks',
  '/tasks/:id',
  '/events',
  '/account',
  '/access',
  '/cli-login',
  '/alerts',
  '/webhooks',
  '/verify',
  '/verify/:proofHash',
  '/tx/:txHash',
] as const;

const namedFiles = [
  'icon.svg',
  'color-scheme.js',
  'sample-bundle.json',
  'third-party-licenses.txt',
  'docs.html',
];

/** Serves the built dashboard: one document, and files whose names change with their content. */
export async function dashboardPages(scope: FastifyInstance, deps: HttpDeps): Promise<void> {
  const options = { config: { page: 'html' as const } };
  await scope.register(files, {
    root: folder,
    serve: false,
    cacheControl: false,
    // The build writes a .br and a .gz file for each script and style.
    preCompressed: true,
  });
  for (const page of dashboardPaths) {
    scope.get(page, options, async (request, reply) => {
      const { proofHash } = request.params as { proofHash?: string };
      const { task_id: taskId } = request.query as { task_id?: unknown };
      if (proofHash === undefined) return sendDocument(reply);
      const read = () => proofParts(deps, proofHash, taskId);
      return sendDocument(reply, await deps.strangersWork.run(request, read));
    });
  }
  const immutable = { maxAge: '1y', immutable: true, cacheControl: true };
  scope.get('/assets/*', options, async (request, reply) =>
    reply.sendFile(`assets/${(request.params as { '*': string })['*']}`, immutable),
  );
  for (const file of namedFiles) {
    scope.get(file === 'docs.html' ? '/docs' : `/${file}`, options, async (_, reply) => {
      reply.header('cache-control', 'no-cache');
      return reply.sendFile(file);
    });
  }
}

/** Sends the dashboard's document. `parts`: what replaces parts of it, which may hold text of strangers in escaped form. */
export async function sendDocument(
  reply: FastifyReply,
  parts: Readonly<Record<string, string>> = {},
): Promise<FastifyReply> {
  const document = await readFile(path.join(folder, 'index.html'), 'utf8');
  // The component library adds style elements at run time; only those with the nonce are applied.
  const nonce = randomBytes(16).toString('hex');
  allowStyles(reply, nonce);
  const all = Object.entries({
    ...parts,
    '<meta name="csp-nonce" content="">': `<meta name="csp-nonce" content="${nonce}">`,
  });
  // By a function: a title may have `$&`.
  const html = all.reduce((text, [part, by]) => text.replace(part, () => by), document);
  return reply.type('text/html; charset=utf-8').send(html);
}

export interface Metrics {
  /** The Bearer token that every reader must send; without one, only peers on loopback may read. */
  token: string | null;
  read(readiness: HttpDeps['readReadiness']): Promise<{ contentType: string; text: string }>;
}

/** Serves `/metrics` to authorized readers. Anyone else gets the error of an unknown endpoint. */
export async function metricsPage(
  scope: FastifyInstance,
  metrics: Metrics,
  readiness: HttpDeps['readReadiness'],
): Promise<void> {
  scope.get('/metrics', { config: { page: 'text' } }, async (request, reply) => {
    if (!mayRead(request, metrics.token))
      throw wireError('not_found', 'This endpoint does not exist.');
    const { contentType, text } = await metrics.read(readiness);
    return reply.header('content-type', contentType).send(text);
  });
}

function mayRead(request: FastifyRequest, token: string | null): boolean {
  if (token !== null) return sameSecret(bearerKey(request) ?? '', token);
  // A local proxy, or a browser sent here by a DNS name, acts for someone else: refuse both.
  const proxied = Object.keys(request.headers).some((name) =>
    /^(via|forwarded|x-real-ip|x-forwarded-.*)$/.test(name),
  );
  const peer = (request.socket.remoteAddress ?? '').replace(/^::ffff:/, '');
  return !proxied && isLoopback(peer) && isLoopback(request.hostname);
}

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

function sentencesOf({ receipt, isPublished }: StatedProof, host: string): string {
  const { anchoredAt, from } = receipt;
  const account = isPublished ? 'the published account' : 'an account outside of the list';
  const sender = `${from.slice(0, 6)}…${from.slice(-4)}, ${account} of ${host}`;
  const since = unchangedSince(formatTimestamp(anchoredAt), { evidence: false });
  return `${since} Anchored by ${sender}.`;
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

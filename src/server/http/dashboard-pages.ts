import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import files from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import { packageFolder } from '../../base/package-folder.ts';
import { allowStyles } from './security-headers.ts';

const folder = path.join(packageFolder, 'dist/dashboard');

/** Paths of the dashboard's own pages; one document answers them all. */
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
  '/verify',
  '/verify/:proofHash',
  '/tx/:txHash',
] as const;

/** The dashboard, as it was built: one document, and files whose names change with their content. */
export async function dashboardPages(scope: FastifyInstance): Promise<void> {
  const options = { config: { page: 'html' as const } };
  await scope.register(files, {
    root: folder,
    serve: false,
    cacheControl: false,
    // The build writes a .gz beside each script and style.
    preCompressed: true,
  });
  for (const page of dashboardPaths) {
    scope.get(page, options, async (request, reply) => {
      const { proofHash } = request.params as { proofHash?: string };
      const document = await readFile(path.join(folder, 'index.html'), 'utf8');
      // The component library writes some style elements at run time; only those with the nonce count.
      const nonce = randomBytes(16).toString('hex');
      allowStyles(reply, nonce);
      return reply.type('text/html; charset=utf-8').send(documentFor(document, nonce, proofHash));
    });
  }
  const immutable = { maxAge: '1y', immutable: true, cacheControl: true };
  scope.get('/assets/*', options, async (request, reply) =>
    reply.sendFile(`assets/${(request.params as { '*': string })['*']}`, immutable),
  );
  for (const file of ['icon.svg', 'color-scheme.js', 'third-party-licenses.txt']) {
    scope.get(`/${file}`, options, async (_, reply) => {
      reply.header('cache-control', 'no-cache');
      return reply.sendFile(file);
    });
  }
}

/** A link to a proof is shared, so that its title is there before any script runs. */
function documentFor(document: string, nonce: string, proofHash: string | undefined): string {
  const nonced = document.replace(
    '<meta name="csp-nonce" content="">',
    `<meta name="csp-nonce" content="${nonce}">`,
  );
  if (!/^0x[0-9a-fA-F]{64}$/.test(proofHash ?? '')) return nonced;
  const title = `Proof ${proofHash?.slice(0, 10)}…${proofHash?.slice(-6)} · svc`;
  return nonced.replace('<title>svc</title>', `<title>${title}</title>`);
}

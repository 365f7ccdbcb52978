// Serves the pages: dashboard, API reference, CLI sign-in.
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import files from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import { packageFolder } from '../../../base/version.ts';
import { allowStyles } from '../server/security-headers.ts';

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
  '/verify',
  '/verify/:proofHash',
  '/tx/:txHash',
] as const;

/** Serves the built dashboard: one document, and files whose names change with their content. */
export async function dashboardPages(scope: FastifyInstance): Promise<void> {
  const options = { config: { page: 'html' as const } };
  await scope.register(files, {
    root: folder,
    serve: false,
    cacheControl: false,
    // The build writes a .gz file for each script and style.
    preCompressed: true,
  });
  for (const page of dashboardPaths) {
    scope.get(page, options, async (request, reply) => {
      const { proofHash } = request.params as { proofHash?: string };
      const document = await readFile(path.join(folder, 'index.html'), 'utf8');
      // The component library adds style elements at run time; only those with the nonce are applied.
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

const viewer = path.dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>svc: HTTP interface</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="/docs/swagger-ui.css">
  </head>
  <body>
    <div id="viewer"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`;

// Without `validatorUrl: null` the viewer would contact a validator on the web.
const start = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#viewer',
  deepLinking: true,
  validatorUrl: null,
});
`;

/** Serves `/docs`: the OpenAPI document in a viewer that is served from here. */
export async function docsPage(scope: FastifyInstance): Promise<void> {
  const options = { config: { page: 'html' as const } };
  await scope.register(files, { root: viewer, serve: false });
  scope.get('/docs', options, async (_, reply) =>
    reply.type('text/html; charset=utf-8').send(page),
  );
  scope.get('/docs/start.js', options, async (_, reply) =>
    reply.type('text/javascript; charset=utf-8').send(start),
  );
  for (const file of ['swagger-ui.css', 'swagger-ui-bundle.js']) {
    scope.get(`/docs/${file}`, options, async (_, reply) => reply.sendFile(file));
  }
}

const loginFolder = path.join(packageFolder, 'dist/dashboard/cli-login');

/** Serves `/cli-login`, where a wallet opens a session for the CLI. */
export async function cliLoginPage(scope: FastifyInstance): Promise<void> {
  const options = { config: { page: 'html' as const } };
  await scope.register(files, { root: loginFolder, serve: false, cacheControl: false });
  scope.get('/cli-login', options, async (_, reply) => reply.sendFile('index.html'));
  for (const file of ['page.css', 'page.js']) {
    scope.get(`/cli-login/${file}`, options, async (_, reply) => reply.sendFile(file));
  }
}

/** Prepares the document. Links to proofs are shared, so the title of a proof is set without running scripts. */
function documentFor(document: string, nonce: string, proofHash: string | undefined): string {
  const nonced = document.replace(
    '<meta name="csp-nonce" content="">',
    `<meta name="csp-nonce" content="${nonce}">`,
  );
  if (!/^0x[0-9a-fA-F]{64}$/.test(proofHash ?? '')) return nonced;
  const title = `Proof ${proofHash?.slice(0, 10)}…${proofHash?.slice(-6)} · svc`;
  return nonced.replace('<title>svc</title>', `<title>${title}</title>`);
}

// Serves the pages: dashboard and API reference.
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import files from '@fastify/static';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { packageFolder } from '../../../base/version.ts';
import { allowStyles } from '../server/security-headers.ts';
import type { HttpDeps } from '../server/strangers.ts';
import { proofParts } from './proof-page.ts';

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
    scope.get(`/${file}`, options, async (_, reply) => {
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

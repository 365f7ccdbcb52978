import { createRequire } from 'node:module';
import path from 'node:path';
import files from '@fastify/static';
import type { FastifyInstance } from 'fastify';

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

// Without a null validator the viewer would ask one on the web.
const start = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#viewer',
  deepLinking: true,
  validatorUrl: null,
});
`;

/** `/docs`: the OpenAPI document for people, by a viewer that is served from here. */
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

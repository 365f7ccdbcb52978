import path from 'node:path';
import files from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import { packageFolder } from '../../base/package-folder.ts';

const loginFolder = path.join(packageFolder, 'pages/cli-login');

/** `/cli-login`: where a wallet hands a session to the command line. */
export async function cliLoginPage(scope: FastifyInstance): Promise<void> {
  const options = { config: { page: 'html' as const } };
  await scope.register(files, { root: loginFolder, serve: false, cacheControl: false });
  scope.get('/cli-login', options, async (_, reply) => reply.sendFile('index.html'));
  for (const file of ['page.css', 'page.js']) {
    scope.get(`/cli-login/${file}`, options, async (_, reply) => reply.sendFile(file));
  }
}

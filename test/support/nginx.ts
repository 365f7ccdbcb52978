import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Balancer } from './balancer.ts';
import { freePort } from './free-port.ts';
import { waitFor } from './wait-for.ts';

const file = path.resolve(import.meta.dirname, '../../deploy/nginx.conf');

/** `deploy/nginx.conf` on a free port, without TLS, in front of these instances. `ofSource`: connections of a source. */
export async function startNginx(
  ports: readonly number[],
  { ofSource = 10_000 } = {},
): Promise<Balancer> {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-nginx-'));
  const port = await freePort();
  const site = (await readFile(file, 'utf8'))
    .replace(/^ *ssl_.*\n/gm, '')
    .replace('limit_conn svc_sources 10000', `limit_conn svc_sources ${ofSource}`)
    .replace('listen 443 ssl http2', `listen 127.0.0.1:${port}`)
    .replaceAll(/127\.0\.0\.1:300([123])/g, (_, n) => `127.0.0.1:${ports[Number(n) - 1]}`);
  const config = path.join(folder, 'nginx.conf');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `${kind}_temp_path ${folder}/${kind};`)
    .join('\n');
  await writeFile(
    config,
    `daemon off; pid ${folder}/pid; error_log stderr crit; worker_processes 1;
events { worker_connections 4096; }
http {
${temporary}
access_log off;
${site}
}
`,
  );
  const child = spawn('nginx', ['-p', folder, '-c', config], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(child, 'close');
  const url = `http://127.0.0.1:${port}`;
  await Promise.race([
    waitFor('nginx', async () => (await fetch(url).catch(() => null)) !== null),
    ended.then(() => {
      throw new Error('nginx did not start');
    }),
  ]);
  return {
    url,
    async close() {
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Balancer } from './balancer.ts';
import { freePort } from './free-port.ts';
import { findProgram } from './require-program.ts';
import { waitFor } from './wait-for.ts';

const deploy = path.resolve(import.meta.dirname, '../../deploy');
const read = (file: string) => readFile(path.join(deploy, file), 'utf8');

/** What makes nginx know `stream`: a line of its configuration, or none. Null without nginx or its module. */
export function streamModule(): string | null {
  const nginx = findProgram('nginx');
  if (nginx === null) return null;
  const isBuiltIn = / --with-stream(\s|$)/.test(spawnSync(nginx, ['-V']).stderr.toString());
  const module = path.resolve(nginx, '../../lib/nginx/modules/ngx_stream_module.so');
  if (isBuiltIn) return '';
  return existsSync(module) ? `load_module ${module};` : null;
}

interface NginxLimits {
  /** Requests of a source, and connections of an address. */
  ofSource?: number;
  ofAddress?: number;
  /** Of nginx. */
  connections?: number;
}

/** `deploy/nginx.conf` and `nginx-main.conf` on a free port, without TLS, in front of these instances. */
export async function startNginx(
  ports: readonly number[],
  { ofSource = 2000, ofAddress = 2000, connections = 20480 }: NginxLimits = {},
): Promise<Balancer> {
  const module = streamModule();
  if (module === null) throw new Error('nginx or libnginx-mod-stream is not on this machine');
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-nginx-'));
  const [port, inner] = [await freePort(), await freePort()];
  const site = (await read('nginx.conf'))
    .replace(/^ *ssl_.*\n/gm, '')
    .replace('limit_conn svc_sources 2000', `limit_conn svc_sources ${ofSource}`)
    .replace('127.0.0.1:8443 ssl http2', `127.0.0.1:${inner}`)
    .replace(/^( *server )127\.0\.0\.1:3000(.*\n)/m, (_, before, after) =>
      ports.map((port) => `${before}127.0.0.1:${port}${after}`).join(''),
    );
  const config = path.join(folder, 'nginx.conf');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `${kind}_temp_path ${folder}/${kind};`)
    .join('\n');
  const main = (await read('nginx-main.conf'))
    // Its workers must be able to write into the folder.
    .replace('user www-data;', process.getuid?.() === 0 ? 'daemon off; user root;' : 'daemon off;')
    .replace('/run/nginx.pid', `${folder}/pid`)
    .replace('/var/log/nginx/error.log', 'stderr crit')
    .replace('include /etc/nginx/modules-enabled/*.conf;', module)
    .replace('worker_processes auto', 'worker_processes 1')
    .replace('worker_connections 20480', `worker_connections ${connections}`)
    .replace('listen 443;', `listen 127.0.0.1:${port};`)
    .replace('limit_conn svc_addresses 2000', `limit_conn svc_addresses ${ofAddress}`)
    .replace('proxy_pass 127.0.0.1:8443', `proxy_pass 127.0.0.1:${inner}`)
    .replace('include /etc/nginx/conf.d/*.conf;', `${temporary}\naccess_log off;\n${site}`);
  await writeFile(config, main);
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

// A registry on this machine that has the packed package, and all others from the configured registry.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import packageJson from '../../package.json' with { type: 'json' };
import { publishedManifest } from './packed-package.ts';

const exec = promisify(execFile);
const sqlite = path.resolve(import.meta.dirname, '../../node_modules/better-sqlite3');

export interface LocalRegistry {
  /** Settings of npm that use it. */
  env: Record<string, string>;
  close(): void;
}

/** It also has the binary of better-sqlite3 for this Node.js, which else comes from a host on the internet. */
export async function startLocalRegistry(tarball: string): Promise<LocalRegistry> {
  const upstream = (await exec('npm', ['config', 'get', 'registry'])).stdout.trim();
  const bytes = await readFile(tarball);
  const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
  const published = await publishedManifest();
  const { name, version } = published;
  const answers: Record<string, () => unknown> = {
    [`/${name}`]: () => {
      const dist = { tarball: `${url}/p.tgz`, integrity };
      // A registry says this of a package with npm-shrinkwrap.json, or npm does not look for it.
      const manifest = { ...published, dist, _hasShrinkwrap: true };
      return JSON.stringify({
        name,
        'dist-tags': { latest: version },
        versions: { [version]: manifest },
      });
    },
    '/p.tgz': () => bytes,
    [binaryPath()]: binary,
  };
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://registry');
    const own = answers[pathname];
    if (own !== undefined) {
      response.end(await own());
      return;
    }
    const answer = await fetch(new URL(pathname.slice(1), upstream)).catch(() => null);
    response.statusCode = answer?.status ?? 502;
    response.end(answer && Buffer.from(await answer.arrayBuffer()));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    env: { npm_config_registry: `${url}/`, npm_config_better_sqlite3_binary_host: url },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** As prebuild-install asks for it. */
function binaryPath(): string {
  const version = packageJson.dependencies['better-sqlite3'];
  const { platform, arch, versions } = process;
  return `/v${version}/better-sqlite3-v${version}-node-v${versions.modules}-${platform}-${arch}.tar.gz`;
}

async function binary(): Promise<Buffer> {
  const args = ['czf', '-', '-C', sqlite, 'build/Release/better_sqlite3.node'];
  return (await exec('tar', args, { encoding: 'buffer', maxBuffer: 2 ** 28 })).stdout;
}

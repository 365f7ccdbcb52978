// Starts and stops `svc-server dev` for the demo.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export const programs = {
  server: fileURLToPath(new URL('../../bin/svc-server.js', import.meta.url)),
  cli: fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url)),
};

/**
 * `svc-server dev` on free ports: the service with its own local chain.
 *
 * @param {string} dataDir
 */
export async function startDevService(dataDir) {
  const child = spawn(
    process.execPath,
    [programs.server, 'dev', '--json', '--port', '0', '--data-dir', dataDir],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let failure = 'svc-server dev ended before it was ready';
  createInterface(child.stderr).on('line', (line) => {
    const { error, message, hint } = line.startsWith('{"error"') ? JSON.parse(line) : {};
    if (error === undefined) process.stderr.write(`${line}\n`);
    else failure = [message, hint].filter(Boolean).join('\n');
  });
  const ended = once(child, 'close');
  const [line] = await Promise.race([
    once(createInterface(child.stdout), 'line'),
    ended.then(() => Promise.reject(new Error(failure))),
  ]);
  /** @type {{ url: string, rpc_url: string, chain_id: number, data_dir: string }} */
  const { url, rpc_url } = JSON.parse(line);
  return {
    url,
    rpcUrl: rpc_url,
    ended,
    async close() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/**
 * Runs `svc` in a folder, as a person would.
 *
 * @param {string} cwd
 * @param {...string} args
 */
export async function svc(cwd, ...args) {
  const child = spawn(process.execPath, [programs.cli, ...args], {
    cwd,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  const [exitCode] = await once(child, 'close');
  return { exitCode, output };
}

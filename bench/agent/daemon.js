import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { agentInstallation } from '../../dist/agent/installation.js';
import { askAgent } from '../../dist/agent/local-client.js';
import { residentMb } from '../resident.js';
import { environmentOf } from '../unit-environment.js';

const program = fileURLToPath(new URL('../../bin/svc-agent.js', import.meta.url));
const monitor = new URL('../event-loop.js', import.meta.url).href;

/**
 * A folder for one agent after another, each `svc-agent run` as the installed service runs it.
 *
 * @param {{ url: string, apiKey: string, environment?: Record<string, string> }} options
 */
export async function prepareAgent({ url, apiKey, environment }) {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-bench-'));
  const socket = path.join(folder, 'agent.sock');
  const keyFile = path.join(folder, 'robot-key');
  await writeFile(keyFile, apiKey, { mode: 0o600 });
  const settings = {
    PATH: process.env.PATH,
    ...environmentOf(agentInstallation),
    SVC_AGENT_URL: url,
    SVC_AGENT_KEY_FILE: keyFile,
    SVC_AGENT_STATE_DIR: folder,
    SVC_AGENT_SOCKET: socket,
    ...environment,
  };
  return {
    socket,
    spoolFile: path.join(folder, 'spool.db'),
    /** @param {{ url?: string, monitored?: boolean }} [options] `monitored`: with what measures its event loop. */
    start: ({ url: otherUrl = url, monitored = false } = {}) =>
      startAgent({
        log: path.join(folder, 'log'),
        socket,
        env: { ...settings, SVC_AGENT_URL: otherUrl },
        monitored,
      }),
    remove: () => rm(folder, { recursive: true }),
  };
}

async function startAgent({ log, socket, env, monitored }) {
  const logFile = await open(log, 'w');
  const monitoring = monitored ? ['--import', monitor] : [];
  const child = spawn(process.execPath, [...monitoring, program, 'run'], {
    stdio: ['ignore', 'ignore', logFile.fd, 'ipc'],
    env,
  });
  await logFile.close();
  await listening(child, log);
  return {
    status: async () => (await askAgent(socket, 'GET', '/api/v1/status')).body,
    /** Resident memory in MB. */
    residentMb: () => residentMb(child.pid),
    /** Begins to measure the event loop. */
    async measure() {
      child.send('reset');
      await once(child, 'message');
    },
    /** @returns {Promise<{ p99Ms: number, maxMs: number, cpuMs: number }>} */
    async measured() {
      child.send('read');
      const [answer] = await once(child, 'message');
      return answer;
    },
    /** @param {NodeJS.Signals} signal */
    async end(signal) {
      child.kill(signal);
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}

async function listening(child, log) {
  for (;;) {
    const text = await readFile(log, 'utf8');
    if (text.includes('"msg":"listening"')) return;
    if (child.exitCode !== null) throw new Error(`The agent did not start:\n${text}`);
    await sleep(20);
  }
}

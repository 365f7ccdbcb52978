import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { askAgent } from '../../dist/agent/commands/local-client.js';
import { agentInstallation } from '../../dist/agent/installation.js';
import { startProgram } from '../measured-program.js';
import { environmentOf } from '../unit-environment.js';

const program = fileURLToPath(new URL('../../bin/svc-agent.js', import.meta.url));

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
        socket,
        command: [program, 'run'],
        log: path.join(folder, 'log'),
        env: { ...settings, SVC_AGENT_URL: otherUrl },
        monitored,
      }),
    remove: () => rm(folder, { recursive: true }),
  };
}

/** With its own account of itself. */
async function startAgent({ socket, ...options }) {
  const agent = await startProgram(options);
  return { ...agent, status: async () => (await askAgent(socket, 'GET', '/api/v1/status')).body };
}

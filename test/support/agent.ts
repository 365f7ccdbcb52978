import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { type Agent, startAgent } from '../../src/agent/agent.ts';
import type { AgentClock } from '../../src/agent/clock.ts';
import { readConfig } from '../../src/agent/config.ts';
import type { UploaderPauses } from '../../src/agent/uploads/retry.ts';
import { recordLog } from './failure-records.ts';
import { callLocally } from './local-call.ts';
import { quickUploaderPauses } from './quick-pauses.js';
import type { Send } from './wire.ts';

export interface TestAgentOptions {
  url: string;
  apiKey: string;
  clock?: AgentClock;
  pauses?: UploaderPauses;
  env?: Record<string, string>;
}

export type TestAgent = Awaited<ReturnType<typeof createTestAgent>>;

/** An agent with a folder and a key file of its own, which can be stopped and started again. */
export async function createTestAgent({
  url,
  apiKey,
  clock,
  pauses = quickUploaderPauses,
  env,
}: TestAgentOptions) {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-agent-'));
  const keyFile = path.join(folder, 'robot-key');
  const socketPath = path.join(folder, 'run', 'agent.sock');
  await writeFile(keyFile, `${apiKey}\n`, { mode: 0o600 });
  const logLines: string[] = [];
  const logger = pino({ level: 'debug' }, { write: (line) => logLines.push(line) });
  const logEnded = recordLog('agent.log', () => logLines.join(''));
  let agent: Agent | null = null;
  const environment = {
    SVC_AGENT_URL: url,
    SVC_AGENT_KEY_FILE: keyFile,
    SVC_AGENT_STATE_DIR: path.join(folder, 'state'),
    SVC_AGENT_SOCKET: socketPath,
    ...env,
  };
  const stop = async () => {
    await agent?.close();
    agent = null;
  };
  const call = (method: string, target: string, sent?: Pick<Send, 'body' | 'raw' | 'headers'>) =>
    callLocally({ socketPath }, method, target, sent);
  return {
    folder,
    keyFile,
    socketPath,
    environment,
    logLines,
    async start(changes: Record<string, string> = {}) {
      const config = readConfig({ ...environment, ...changes }, { service: true });
      agent = await startAgent(config, {
        logger,
        pauses,
        ...(clock && { clock }),
      });
    },
    stop,
    call,
    async claim(body: object = { title: 'Sort the parcels' }): Promise<string> {
      return (await call('POST', '/api/v1/tasks', { body })).body.task.id;
    },
    complete: (id: string, proof: unknown, headers: Record<string, string> = {}) =>
      call('POST', `/api/v1/tasks/${id}/complete`, { body: { proof }, headers }),
    record: (samples: object[]) => call('POST', '/api/v1/telemetry', { body: { samples } }),
    status: async () => (await call('GET', '/api/v1/status')).body,
    async remove() {
      await stop();
      logEnded();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

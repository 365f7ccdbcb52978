import { open, rename } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { SvcError } from '../../base/svc-error.ts';
import { createClient } from '../../client/client.ts';
import { createHttpFetch } from '../../client/http-fetch.ts';
import { readConfig } from '../config.ts';
import { isKey, keyHint } from '../key.ts';
import { askAgent } from '../local-client.ts';

/** The daemon looks at the file every few seconds. */
const TAKEN_UP_MS = 15_000;
const CHECK_MS = 250;

/**
 * `svc-agent key set`: proves the key on standard input with one call, and only then replaces the file, as a whole.
 * Throws `usage`, the service's own error when it refuses the key, `foreign_key` when it is another robot's
 * than the daemon's records, and `agent_unreachable` where no daemon takes it up, which is then said on stderr alone.
 */
export async function setKey(environment: NodeJS.ProcessEnv): Promise<void> {
  const { serviceUrl: baseUrl, socket, values } = readConfig(environment);
  const file = values.SVC_AGENT_KEY_FILE;
  if (baseUrl === null) throw new SvcError('usage', 'SVC_AGENT_URL is not set.');
  if (file === undefined) {
    throw new SvcError('usage', 'SVC_AGENT_KEY_FILE is not set: there is no file to write.');
  }
  const key = (await text(process.stdin)).trim();
  if (!isKey(key)) throw new SvcError('usage', 'Standard input holds no API key.');
  const client = createClient({ baseUrl, fetch: createHttpFetch(), credential: { apiKey: key } });
  const { robot } = (await client.call('getOwnRobot')).body;
  const robotOfRecords = await robotOfDaemon(socket);
  if (robotOfRecords !== null && robotOfRecords !== robot.id) {
    throw new SvcError(
      'foreign_key',
      `The key is of ${robot.name} (${robot.id}); the daemon keeps records of ${robotOfRecords}.`,
      { hint: 'Give another robot another SVC_AGENT_STATE_DIR.' },
    );
  }
  await replace(file, `${key}\n`);
  process.stderr.write(`${file} holds the key ${keyHint(key)}… of ${robot.name}.\n`);
  await untilTakenUp(socket, keyHint(key));
}

/** Null without a daemon, or while it does not know. */
async function robotOfDaemon(socket: string): Promise<string | null> {
  try {
    return (await askAgent(socket, 'GET', '/api/v1/status')).body.robot_id;
  } catch {
    return null;
  }
}

/** There is the old key or the new one in the file, whatever happens, and nobody else can read it. */
async function replace(file: string, content: string): Promise<void> {
  const target = path.resolve(file);
  const temporary = `${target}.${process.pid}`;
  const handle = await open(temporary, 'wx', 0o600);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, target);
}

async function untilTakenUp(socket: string, hint: string): Promise<void> {
  const end = performance.now() + TAKEN_UP_MS;
  try {
    for (;;) {
      const { key_hint: known, connected } = (await askAgent(socket, 'GET', '/api/v1/status')).body;
      if (known === hint && connected) break;
      if (performance.now() > end) {
        throw new SvcError('key_not_taken_up', 'The daemon does not use the key yet.', {
          hint: 'svc-agent status says why.',
        });
      }
      await sleep(CHECK_MS);
    }
    process.stderr.write('The daemon uses it.\n');
  } catch (error) {
    if (!(error instanceof SvcError) || error.code !== 'agent_unreachable') throw error;
    process.stderr.write('No daemon runs; it will use the key when it starts.\n');
  }
}

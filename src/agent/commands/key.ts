// `svc-agent key set`: replaces the robot's API key.
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { escapeText } from '../../base/escape.ts';
import { replacePrivateFile } from '../../base/private-file.ts';
import { SvcError } from '../../base/svc-error.ts';
import type { Robot } from '../../protocol/resources.ts';
import { environmentToLookAfter, readAgentUnit } from '../installation.ts';
import { isKey, keyHint } from '../key.ts';
import { askAgent } from './local-client.ts';

/** The daemon looks at the key file every few seconds. */
const TAKEN_UP_MS = 15_000;
const CHECK_MS = 250;

export function addCommands(program: Command): void {
  const key = program.command('key').description("Replace the robot's API key");
  key
    .command('set')
    .description(
      "Read an API key from standard input, test the key with one request to the service, and write the key to SVC_AGENT_KEY_FILE, or, if this variable is not set, to the key file of the agent's systemd service",
    )
    .addHelpText(
      'after',
      '\nA daemon that you started without systemd uses the new key within seconds. If systemd runs the daemon, restart the daemon.\n\nExample:\n  svc robots rotate-key arm-1 --yes | sudo svc-agent key set && sudo systemctl restart svc-agent',
    )
    .action(async () => {
      if (process.stdin.isTTY) {
        process.stderr.write('Paste the key, then press Enter and Ctrl-D.\n');
      }
      await setKey(process.env, await text(process.stdin));
    });
}

/**
 * Verifies the key with one call, then replaces the key file atomically and durably. The file is
 * `SVC_AGENT_KEY_FILE` or that of the installed service. If systemd gave the daemon a copy, prints the
 * command that makes it use the new key. `root`: the root folder, for images of other systems.
 * @throws SvcError `usage`, the service's own error if it refuses the key, `foreign_key` if the key is
 * another robot's than the daemon's records, `key_not_taken_up`
 */
export async function setKey(own: NodeJS.ProcessEnv, text: string, root = '/'): Promise<void> {
  const { readConfig } = await import('../config.ts');
  const unit = await readAgentUnit(root);
  const { adoptProxies } = await import('../../base/proxy/variables.ts');
  const environment = await environmentToLookAfter(own, unit);
  adoptProxies(environment);
  const { serviceUrl, socket, values } = readConfig(environment);
  if (serviceUrl === null)
    throw new SvcError('usage', 'SVC_AGENT_URL is not set.', {
      hint: 'Set it to the origin of the service.',
    });
  if (values.SVC_AGENT_KEY_FILE === undefined) {
    throw new SvcError('usage', 'SVC_AGENT_KEY_FILE is not set.', {
      hint: 'Set it to the file to write.',
    });
  }
  const key = text.trim();
  if (!isKey(key)) {
    throw new SvcError('usage', 'Standard input is not an API key.', {
      hint: 'Pipe only the key: svc_ and 40 lowercase hex digits.',
    });
  }
  const { name } = await proveKey(key, serviceUrl, socket);
  const file = path.resolve(values.SVC_AGENT_KEY_FILE);
  await replace(file, `${key}\n`);
  say(`Wrote key ${keyHint(key)}… of ${escapeText(name)} to ${file}.`);
  await untilTakenUp(socket, keyHint(key), file === unit?.keyFile);
}

async function proveKey(apiKey: string, baseUrl: string, socket: string): Promise<Robot> {
  const { createReader } = await import('../uploads/answers.ts');
  const { proxiedFetch: fetch } = await import('../../base/proxy/connections.ts');
  const client = createReader({ baseUrl, fetch, credential: { apiKey } });
  const { robot } = (await client.call('getOwnRobot')).body;
  const robotOfRecords = await robotOfDaemon(socket);
  if (robotOfRecords === null || robotOfRecords === robot.id) return robot;
  const message = `The key belongs to ${robot.name} (${robot.id}), but the spool has records of ${robotOfRecords}.`;
  throw new SvcError('foreign_key', message, {
    hint: 'Use another SVC_AGENT_STATE_DIR for another robot.',
  });
}

/** Null if no daemon answers or it does not know its robot yet. */
async function robotOfDaemon(socket: string): Promise<string | null> {
  const status = await askAgent(socket, 'GET', '/api/v1/status').catch(() => null);
  return status?.body.robot_id ?? null;
}

async function replace(file: string, content: string): Promise<void> {
  await replacePrivateFile(file, content).catch((cause: NodeJS.ErrnoException) => {
    throw new SvcError('usage', `Cannot write SVC_AGENT_KEY_FILE ${file} (${cause.code}).`, {
      hint: 'Run this with sudo, or as the account that owns the file.',
      cause,
    });
  });
}

/** `copied`: systemd gave the daemon a copy of the file at its start, which does not change. */
async function untilTakenUp(socket: string, hint: string, copied: boolean): Promise<void> {
  const end = performance.now() + TAKEN_UP_MS;
  try {
    for (;;) {
      const { key_hint: known, connected } = (await askAgent(socket, 'GET', '/api/v1/status')).body;
      if (known === hint && connected) return say('The daemon uses the new key.');
      if (copied) {
        say('The daemon still uses the old key, which systemd copied when it started.');
        return say('To use the new key, run: sudo systemctl restart svc-agent');
      }
      if (performance.now() > end) {
        const message = `The daemon does not use the new key after ${TAKEN_UP_MS / 1000} s.`;
        throw new SvcError('key_not_taken_up', message, {
          hint: 'Run svc-agent status to see why.',
        });
      }
      await sleep(CHECK_MS);
    }
  } catch (error) {
    if (!(error instanceof SvcError) || error.code !== 'agent_unreachable') throw error;
    say('No daemon runs. It will use the key when it starts.');
  }
}

function say(sentence: string): void {
  process.stderr.write(`${sentence}\n`);
}

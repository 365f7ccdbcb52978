// `svc-agent` as a systemd service: what `install` writes, and what other commands read of it.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { type Installation, unitPath } from '../base/install/service.ts';
import { SvcError } from '../base/svc-error.ts';

/** Members of the group svc-agent may call the socket. */
export const agentInstallation: Installation = {
  name: 'svc-agent',
  description: "svc-agent, which delivers a robot's claims, evidence and telemetry",
  subcommand: 'run',
  credential: 'robot-key',
  directives: [
    // Robots have little memory, and the agent needs 15 MiB of heap. docs/performance.md says what each setting saves.
    'Environment="NODE_OPTIONS=--max-semi-space-size=1 --max-old-space-size=128"',
    'Environment=MALLOC_ARENA_MAX=1',
    'RuntimeDirectory=svc-agent',
    'RuntimeDirectoryMode=0750',
    'RuntimeDirectoryPreserve=restart',
    // Recovering a damaged spool delays the start.
    'TimeoutStartSec=infinity',
    'WatchdogSec=2min',
  ],
  environment: `# Environment of svc-agent; see svc-agent config --describe. svc-agent key set writes the key.
#SVC_AGENT_URL=https://svc.example.com
#SVC_AGENT_LISTEN=127.0.0.1:3800
#SVC_AGENT_TOKEN_FILE=/etc/svc-agent/token
#SVC_AGENT_SPOOL_MAX_MB=256
`,
  nextSteps: [
    'set SVC_AGENT_URL in /etc/svc-agent/environment',
    "svc-agent key set             with the robot's key on standard input",
    'usermod -aG svc-agent NAME    for each account that calls the agent',
    'systemctl restart svc-agent',
  ],
};

/** Absolute paths in the unit that `svc-agent install` wrote. */
interface InstalledUnit {
  /** Environment file of the service. */
  readonly environmentFile: string;
  /** File that systemd copies the key from whenever the service starts. */
  readonly keyFile: string;
}

/** The installed unit; null where the agent is not installed. `root`: the root folder, for images of other systems. */
export async function readInstalledUnit(root = '/'): Promise<InstalledUnit | null> {
  const { name, credential } = agentInstallation;
  const text = await readIfThere(path.join(root, unitPath(name)));
  const environmentFile = /^EnvironmentFile=-?(.+)$/m.exec(text)?.[1];
  const keyFile = new RegExp(`^LoadCredential=${credential}:(.+)$`, 'm').exec(text)?.[1];
  if (environmentFile === undefined || keyFile === undefined) return null;
  return {
    environmentFile: path.join(root, environmentFile),
    keyFile: path.join(root, keyFile),
  };
}

/**
 * The environment of the agent to maintain: the caller's if it names a key, else that of the installed
 * service, overridden by the caller's.
 * @throws SvcError `usage` if only root can read the environment of the service
 */
export async function environmentToLookAfter(
  own: NodeJS.ProcessEnv,
  unit: InstalledUnit | null,
): Promise<NodeJS.ProcessEnv> {
  if (unit === null || namesKey(own)) return own;
  const both = { ...parseEnv(await readIfThere(unit.environmentFile)), ...own };
  return namesKey(both) ? both : { ...both, SVC_AGENT_KEY_FILE: unit.keyFile };
}

/**
 * The environment for commands that call the daemon or read its spool: as `environmentToLookAfter`, but the
 * caller's alone if only root can read that of the service.
 */
export async function environmentOfAgent(own: NodeJS.ProcessEnv): Promise<NodeJS.ProcessEnv> {
  try {
    return await environmentToLookAfter(own, await readInstalledUnit());
  } catch (error) {
    if (error instanceof SvcError && error.code === 'usage') return own;
    throw error;
  }
}

function namesKey(environment: NodeJS.ProcessEnv): boolean {
  const { SVC_AGENT_KEY, SVC_AGENT_KEY_FILE, CREDENTIALS_DIRECTORY } = environment;
  return Boolean(SVC_AGENT_KEY || SVC_AGENT_KEY_FILE || CREDENTIALS_DIRECTORY);
}

async function readIfThere(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return '';
    throw new SvcError('usage', `Cannot read ${file} (${code}).`, {
      hint: 'Run this with sudo, or set SVC_AGENT_KEY_FILE for an agent that is not installed.',
      cause: error,
    });
  }
}

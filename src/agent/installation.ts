// `svc-agent` as a systemd service: what `install` writes, and what other commands read of it.
import {
  type InstalledUnit,
  readInstalledUnit,
  readUnitEnvironment,
} from '../base/install/installed-unit.ts';
import type { Installation } from '../base/install/service.ts';
import { SvcError } from '../base/svc-error.ts';

/** Members of the group svc-agent may call the socket. */
export const agentInstallation: Installation = {
  name: 'svc-agent',
  description: "svc-agent, which delivers a robot's claims, evidence and telemetry",
  subcommand: 'run',
  credential: 'robot-key',
  otherCredentials: [],
  directives: [
    // Robots have little memory, and the agent needs 15 MiB of heap. These two lines lower its memory
    // during a delivery from 96 MB to 80.
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

/** The installed unit; null where the agent is not installed. `root`: the root folder, for images of other systems. */
export function readAgentUnit(root?: string): Promise<InstalledUnit | null> {
  return readInstalledUnit(agentInstallation, root).catch(onlyForRoot);
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
  const both = { ...(await readUnitEnvironment(unit).catch(onlyForRoot)), ...own };
  return namesKey(both) ? both : { ...both, SVC_AGENT_KEY_FILE: unit.keyFile };
}

/**
 * The environment for commands that call the daemon or read its spool: as `environmentToLookAfter`, but the
 * caller's alone if only root can read that of the service.
 */
export async function environmentOfAgent(own: NodeJS.ProcessEnv): Promise<NodeJS.ProcessEnv> {
  try {
    return await environmentToLookAfter(own, await readAgentUnit());
  } catch (error) {
    if (error instanceof SvcError && error.code === 'usage') return own;
    throw error;
  }
}

function namesKey(environment: NodeJS.ProcessEnv): boolean {
  const { SVC_AGENT_KEY, SVC_AGENT_KEY_FILE, CREDENTIALS_DIRECTORY } = environment;
  return Boolean(SVC_AGENT_KEY || SVC_AGENT_KEY_FILE || CREDENTIALS_DIRECTORY);
}

function onlyForRoot(error: NodeJS.ErrnoException): never {
  throw new SvcError('usage', `Cannot read ${error.path} (${error.code}).`, {
    hint: 'Run this with sudo, or set SVC_AGENT_KEY_FILE for an agent that is not installed.',
    cause: error,
  });
}

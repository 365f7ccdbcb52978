import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { setKey } from '../../src/agent/commands/key.ts';
import {
  agentInstallation,
  environmentToLookAfter,
  readAgentUnit,
} from '../../src/agent/installation.ts';
import { unitText } from '../../src/base/install/systemd-unit.ts';
import { createTestAgent } from '../support/agent.ts';
import { startServiceWithRobot } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

let root: string;
let keyFile: string;

/** A system on which `svc-agent install` has run. */
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'svc-root-'));
  keyFile = path.join(root, 'etc/svc-agent/robot-key');
  const unit = unitText({
    ...agentInstallation,
    command: ['/usr/bin/node', '/usr/lib/svc-agent.js', 'run'],
    user: 'svc-agent',
    inHome: false,
  });
  await mkdir(path.join(root, 'etc/systemd/system'), { recursive: true });
  await mkdir(path.join(root, 'etc/svc-agent'), { recursive: true });
  await writeFile(path.join(root, 'etc/systemd/system/svc-agent.service'), unit);
});

afterEach(() => rm(root, { recursive: true, force: true }));

function writeEnvironment(text: string): Promise<void> {
  return writeFile(path.join(root, 'etc/svc-agent/environment'), text, { mode: 0o600 });
}

async function lookAfter(own: NodeJS.ProcessEnv): Promise<NodeJS.ProcessEnv> {
  return environmentToLookAfter(own, await readAgentUnit(root));
}

describe('the agent that a command works on', () => {
  it('is the installed one, with the key file of its unit', async () => {
    await writeEnvironment(
      `${agentInstallation.environment}SVC_AGENT_URL=https://svc.example.com\n`,
    );

    expect(await lookAfter({ PATH: '/bin' })).toEqual({
      PATH: '/bin',
      SVC_AGENT_URL: 'https://svc.example.com',
      SVC_AGENT_KEY_FILE: keyFile,
    });
  });

  it('is the one whose key the caller gives', async () => {
    await writeEnvironment('SVC_AGENT_URL=https://svc.example.com\n');
    const own = { SVC_AGENT_KEY_FILE: '/home/robot/key' };

    expect(await lookAfter(own)).toEqual(own);
  });

  it('is that of the caller if none is installed', async () => {
    await rm(path.join(root, 'etc/systemd/system/svc-agent.service'));

    expect(await lookAfter({ PATH: '/bin' })).toEqual({ PATH: '/bin' });
  });

  it('has the key of its own environment', async () => {
    await writeEnvironment('SVC_AGENT_KEY_FILE=/srv/key\n');

    expect(await lookAfter({})).toEqual({ SVC_AGENT_KEY_FILE: '/srv/key' });
  });
});

describe('key set with an installed daemon', () => {
  it('writes the key file of the unit, and prints the command that makes the daemon use it', async () => {
    const { service, owner, robot } = await startServiceWithRobot();
    const daemon = await createTestAgent({ url: service.url, apiKey: robot.apiKey });
    const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    try {
      await writeEnvironment(
        `SVC_AGENT_URL=${service.url}\nSVC_AGENT_SOCKET=${daemon.socketPath}\n`,
      );
      await daemon.start();
      await waitFor('the connection', async () => (await daemon.status()).connected);
      const { body } = await service.call('POST', `/api/v1/robots/${robot.id}/rotate-key`, {
        session: owner.session,
      });

      await setKey({}, `${body.api_key}\n`, root);

      expect(await readFile(keyFile, 'utf8')).toBe(`${body.api_key}\n`);
      expect((await stat(keyFile)).mode & 0o777).toBe(0o600);
      expect(said.mock.lastCall?.[0]).toContain('sudo systemctl restart svc-agent');
    } finally {
      said.mockRestore();
      await daemon.remove();
      await service.close();
    }
  });

  it('reports that no daemon runs', async () => {
    const { service, robot } = await startServiceWithRobot();
    const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    try {
      await writeEnvironment(
        `SVC_AGENT_URL=${service.url}\nSVC_AGENT_SOCKET=${path.join(root, 'none')}\n`,
      );

      await setKey({}, robot.apiKey, root);

      expect(said.mock.lastCall?.[0]).toContain('No daemon runs');
      expect(await readFile(keyFile, 'utf8')).toBe(`${robot.apiKey}\n`);
    } finally {
      said.mockRestore();
      await service.close();
    }
  });
});

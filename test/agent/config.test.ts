import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../src/agent/config.ts';
import { keyHint, readKey } from '../../src/agent/key.ts';

const key = `svc_${'0123456789'.repeat(4)}`;

function faultsOf(variables: NodeJS.ProcessEnv, needed = { service: false }): string[] {
  try {
    readConfig(variables, needed);
  } catch (error) {
    expect(error).toMatchObject({ code: 'invalid_configuration', hint: expect.any(String) });
    return (error as Error).message.split('\n');
  }
  return [];
}

describe("the agent's configuration", () => {
  it('has a default for everything except the service and the key', () => {
    expect(readConfig({})).toMatchObject({
      serviceUrl: null,
      stateDir: '/var/lib/svc-agent',
      socket: '/run/svc-agent/agent.sock',
      listen: null,
      spoolBytes: 256 * 1024 * 1024,
      key: null,
    });
    expect(faultsOf({}, { service: true })).toEqual([
      'SVC_AGENT_URL is not set',
      'SVC_AGENT_KEY_FILE (or SVC_AGENT_KEY) is not set',
    ]);
  });

  it.each([
    ['http://127.0.0.1:3000'],
    ['http://localhost:3000/'],
    ['http://[::1]:3000'],
    ['https://svc.example.org'],
  ])('accepts the service URL %s', (SVC_AGENT_URL) => {
    expect(readConfig({ SVC_AGENT_URL }).serviceUrl).toBe(new URL(SVC_AGENT_URL).origin);
  });

  it.each([
    [{ SVC_AGENT_URL: 'svc.example.org' }, /is not a URL, such as https:\/\/svc\.example\.com$/],
    [{ SVC_AGENT_URL: 'http://svc.example.org' }, /https:\/\/, or the key would be sent/],
    [{ SVC_AGENT_URL: 'http://127.0.0.1.example.org' }, /https:\/\//],
    [{ SVC_AGENT_URL: 'https://svc.example.org/api' }, /origin alone/],
    [{ SVC_AGENT_URL: 'https://me:pw@svc.example.org' }, /origin alone/],
    [{ SVC_AGENT_LISTEN: '0.0.0.0:80', SVC_AGENT_TOKEN_FILE: 't' }, /^SVC_AGENT_LISTEN/],
    [{ SVC_AGENT_LISTEN: '127.0.0.1:3800' }, /^SVC_AGENT_LISTEN needs SVC_AGENT_TOKEN_FILE/],
    [{ SVC_AGENT_SPOOL_MAX_MB: '1' }, /^SVC_AGENT_SPOOL_MAX_MB/],
    [{ SVC_AGENT_TYPO: '1' }, /is not a variable of this program/],
    [{ SVC_AGENT_KEY: key, SVC_AGENT_KEY_FILE: 'k' }, /exclude each other/],
    [{ SVC_AGENT_SOCKET: `/${'s'.repeat(120)}` }, /^SVC_AGENT_SOCKET/],
  ])('refuses %j', (variables, fault) => {
    expect(faultsOf(variables)).toEqual([expect.stringMatching(fault)]);
  });

  it('never shows a key in an error', () => {
    expect(faultsOf({ SVC_AGENT_KEY: key.slice(0, 40) }).join()).not.toContain(key.slice(4, 40));
  });

  it('uses the folder and credential of systemd, unless the operator sets others', () => {
    const systemd = { STATE_DIRECTORY: '/s', CREDENTIALS_DIRECTORY: '/c' };

    expect(readConfig(systemd)).toMatchObject({ stateDir: '/s', key: { file: '/c/robot-key' } });
    expect(readConfig({ ...systemd, SVC_AGENT_KEY_FILE: '/k' }).key).toEqual({ file: '/k' });
  });
});

describe("the robot's key", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'svc-key-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const write = async (name: string, text: string, mode: number) => {
    const file = path.join(folder, name);
    await writeFile(file, text);
    await chmod(file, mode);
    return file;
  };

  it.each([0o600, 0o400])('is read again at each use from a file of mode %o', async (mode) => {
    const file = await write(`good-${mode}`, `${key}\n`, mode);

    expect(await readKey({ file })).toBe(key);
    await chmod(file, 0o600);
    const other = key.replaceAll('1', 'a');
    await writeFile(file, other);
    expect(await readKey({ file })).toBe(other);
  });

  it.each([0o640, 0o604, 0o666])('is refused in a file of mode %o', async (mode) => {
    const file = await write(`open-${mode}`, key, mode);

    await expect(readKey({ file })).rejects.toMatchObject({
      code: 'key_unusable',
      hint: expect.stringContaining('chmod 600'),
    });
  });

  it.each([
    ['nothing', ''],
    ['another text', 'hello'],
    ['two keys', `${key}\n${key}`],
    ['capitals', key.toUpperCase()],
  ])('is refused if the file has %s, and is not shown', async (_, text) => {
    const file = await write('wrong', text, 0o600);

    const error = await readKey({ file }).catch((reason: Error) => reason);

    expect(error).toMatchObject({ code: 'key_unusable' });
    expect(String(error)).not.toContain('0123456789');
  });

  it('is refused if the file does not exist', async () => {
    const reading = readKey({ file: path.join(folder, 'none') });

    await expect(reading).rejects.toMatchObject({ code: 'key_unusable' });
  });

  it('is identified by the hint that the service shows', () => {
    expect(keyHint(key)).toMatch(/^[0-9a-f]{8}$/);
    expect(keyHint(key)).not.toBe(keyHint(key.replaceAll('1', 'a')));
  });
});

import { writeFile } from 'node:fs/promises';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../support/service.ts';
import { createSvcUser, type SvcUser } from '../support/svc.ts';

let service: TestService;
let user: SvcUser;

beforeAll(async () => {
  service = await startTestService({ chain: 'manual' });
});
afterAll(() => service.close());
beforeEach(async () => {
  user = await createSvcUser(service.url);
  await user.signIn();
  await user.svc(['robots', 'create', 'arm']);
});
afterEach(() => user.remove());

describe('svc account export', () => {
  it('prints JSON lines once the key file has signed', async () => {
    const args = ['account', 'export', '--key-file', user.keyFile];
    const { exitCode, stdout, stderr } = await user.svc(args);

    expect([exitCode, stderr]).toEqual([0, '']);
    const lines = stdout.trimEnd().split('\n');
    const kinds = lines.map((line) => JSON.parse(line).kind);
    expect(kinds.slice(0, 2)).toEqual(['account', 'robot']);
    expect((await user.json('audit', '--limit', '1')).items[0].kind).toBe('account_exported');
  });

  it('prints one object with --json', async () => {
    const { lines } = await user.json('account', 'export', '--key-file', user.keyFile);

    expect(lines[0]).toMatchObject({ kind: 'account', record: { wallet: user.wallet } });
  });

  it('shows the message to sign on stderr, so that stdout has nothing but the export', async () => {
    const signature = await user.account.signMessage({ message: 'something else' });
    const { exitCode, stdout, stderr } = await user.svc(['account', 'export'], {
      input: `${signature}\n`,
    });

    expect([exitCode, stdout]).toEqual([1, '']);
    expect(stderr).toContain('Export the data of my account');
    expect(stderr).toContain('matches no open challenge of this wallet');
  });

  it.each([['export'], ['delete', '--yes']])(
    'names both wallets if the key file is of another wallet, and asks for no message: %s',
    async (...command) => {
      const [other, key] = [user.file('other-key'), generatePrivateKey()];
      await writeFile(other, key, { mode: 0o600 });
      const args = ['account', ...command, '--key-file', other];
      const { exitCode, stdout, stderr } = await user.svc(args);

      expect([exitCode, stdout]).toEqual([2, '']);
      const { address } = privateKeyToAccount(key);
      expect(stderr).toContain(
        `is of the wallet ${address}, but the session is of ${user.wallet}.`,
      );
      expect((await user.json('audit', '--limit', '1')).items[0].kind).toBe('robot_created');
    },
  );

  it('fails if the export breaks off', async () => {
    const { listTasks } = service.store;
    service.store.listTasks = () => Promise.reject(new Error('disk failure'));
    try {
      const args = ['account', 'export', '--key-file', user.keyFile];
      const { exitCode, stderr } = await user.svc(args);
      expect([exitCode, stderr]).toEqual([7, expect.stringContaining('No answer from')]);
    } finally {
      service.store.listTasks = listTasks;
    }
  });
});

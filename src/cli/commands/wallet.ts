// `svc wallet`: creates a wallet for a person who has none.
import { existsSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { syncFolderOf } from '../../base/durable-folder.ts';
import { SvcError } from '../../base/svc-error.ts';
import type { Context } from '../context.ts';
import type { CommandSpec } from '../program/command.ts';
import { passwordFileOption } from '../program/options.ts';

interface NewWallet {
  keystore?: string;
  passwordFile?: string;
}

export const walletCommands: readonly CommandSpec[] = [
  {
    path: 'wallet new',
    summary: 'Create a wallet: a new private key in a new keystore file (version 3)',
    details:
      'svc encrypts the key with your password. Sign in with --key-file, let svc-server anchor with the key (SVC_ANCHOR_KEY_FILE), or import the file into your wallet software.',
    options: [
      { flags: '--keystore <file>', summary: 'path of the new file; no file is overwritten' },
      passwordFileOption,
    ],
    examples: [
      'svc wallet new --keystore wallet.json',
      'svc wallet new --keystore anchor-key.json --password-file anchor-key.password',
    ],
    async run(context, { keystore: file, passwordFile }: NewWallet) {
      if (file === undefined) throw new SvcError('usage', 'Name the new file with --keystore.');
      if (existsSync(file)) throw notWritten(file, 'EEXIST');
      const password = await newPassword(context, passwordFile);
      const { newKeystore } = await import('../../chain/keys/keystore.ts');
      const { address, text } = await context.wait('Encrypting the key', () =>
        newKeystore(password),
      );
      await writeNew(file, `${text}\n`);
      await context.output.record({ address, keystore: file }, [
        ['address', address],
        ['keystore', file],
      ]);
      context.output.note(
        'Keep a copy of this file, and its password in another place. If you lose the file or the password, the wallet is lost, with its account, credits and funds.',
      );
    },
  },
];

async function newPassword(context: Context, passwordFile?: string): Promise<string> {
  const { askPassword } = await import('../sign-in/key-file.ts');
  const password = await askPassword(context, 'Password for the new wallet: ', passwordFile);
  if (password === '') throw new SvcError('usage', 'The password is empty.');
  if (password !== password.normalize('NFKC')) {
    throw new SvcError('usage', 'The password has characters that wallets encode differently.', {
      hint: 'Use letters, digits and signs of ASCII.',
    });
  }
  const again = () => askPassword(context, 'The same password again: ');
  if (passwordFile !== undefined || (await again()) === password) return password;
  throw new SvcError('usage', 'The passwords differ; no file was written.');
}

/** Durable on resolve. Writes the whole file or none. */
async function writeNew(file: string, text: string): Promise<void> {
  const refuse = (error: NodeJS.ErrnoException) => Promise.reject(notWritten(file, error.code));
  const opened = await open(file, 'wx', 0o600).catch(refuse);
  try {
    await opened.writeFile(text);
    await opened.sync();
    syncFolderOf(file);
  } catch (error) {
    await rm(file).catch(() => {});
    await refuse(error as NodeJS.ErrnoException);
  } finally {
    await opened.close();
  }
}

const reasons: Readonly<Record<string, string>> = {
  EEXIST: 'the file exists',
  ENOENT: 'there is no such folder',
  EACCES: 'permission denied',
};

function notWritten(file: string, code = 'unknown'): SvcError {
  return new SvcError('usage', `Cannot write --keystore ${file}: ${reasons[code] ?? code}.`, {
    hint: 'Choose another path.',
  });
}

// The wallet of the session's account, which signs once more.
import { SvcError } from '../../base/svc-error.ts';
import type { Context } from '../context.ts';
import type { KeyFile } from './key-file.ts';
import type { Signer } from './signature.ts';

/**
 * The wallet from its key file, or else a wallet elsewhere. `show` prints the message. Throws `usage` for the key of another
 * wallet.
 */
export async function ownerSigner(
  context: Context,
  wallet: string,
  { keyFile, ...password }: Partial<KeyFile>,
  show?: (message: string) => void,
): Promise<Signer> {
  const { manualSigner } = await import('./signature.ts');
  const { keyFileSigner } = await import('./key-file.ts');
  const signer = keyFile
    ? await keyFileSigner(context, { keyFile, ...password })
    : manualSigner(context, wallet, show);
  if (signer.address.toLowerCase() !== wallet.toLowerCase()) {
    const message = `--key-file ${keyFile} is of the wallet ${signer.address}, but the session is of ${wallet}.`;
    throw new SvcError('usage', message, { hint: 'Use the key file of this account.' });
  }
  return signer;
}

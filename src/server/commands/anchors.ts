// `svc-server anchors`: shows the list of anchoring accounts, and retires one.
import { SvcError } from '../../base/svc-error.ts';
import { loadAnchorKeys } from '../../chain/anchor-key.ts';
import { checksumAddress } from '../../chain/chain.ts';
import { readConfig } from '../config.ts';
import type { Retirement } from '../ports/anchoring-accounts.ts';
import { withStore } from './database.ts';

interface Output {
  json?: boolean;
}

/** `svc-server anchors list`: prints every account of the list. */
export async function listAnchors(environment: NodeJS.ProcessEnv, options: Output): Promise<void> {
  const { sequence, accounts } = await withStore(environment, options, (store) =>
    store.listAnchoringAccounts(),
  );
  const items = accounts.map(({ chainId, address, firstBlock, lastBlock, statement }) => ({
    address,
    chain_id: chainId,
    first_block: String(firstBlock),
    last_block: lastBlock === null ? null : String(lastBlock),
    signed_for: statement?.origin ?? null,
  }));
  const lines = items.map(
    ({ address, chain_id, first_block, last_block, signed_for }) =>
      `${address}  chain ${chain_id}  blocks ${first_block} to ${last_block ?? 'now'}  ` +
      `${signed_for === null ? 'not signed' : `signed for ${signed_for}`}\n`,
  );
  process.stdout.write(
    options.json ? `${JSON.stringify({ sequence, items })}\n` : lines.join('') || 'No accounts.\n',
  );
}

const refusals = {
  unknown: {
    message: 'The service never anchored with this account.',
    hint: 'List its accounts with svc-server anchors list.',
  },
  in_use: {
    message: 'The key of this account is configured, or a server has just used it.',
    hint: 'Remove the key from the configuration of every server, and restart them.',
  },
  not_final: {
    message: 'An anchor of this account is not final yet.',
    hint: 'Keep a server running until it is final, and run the command again.',
  },
};

/** `svc-server anchors retire`: sets the last block of an account, also while the server runs with other keys. */
export async function retireAnchor(
  environment: NodeJS.ProcessEnv,
  text: string,
  options: Output,
): Promise<void> {
  const address = checksumAddress(text);
  if (address === null) {
    throw new SvcError('usage', '<address> must be an address: 0x and 40 hex digits.');
  }
  const keys = await loadAnchorKeys(readConfig(environment).anchorKeys);
  const isConfigured = keys.some((key) => key.address === address);
  const retired = await withStore(environment, options, async (store): Promise<Retirement> => {
    const { accounts } = await store.listAnchoringAccounts();
    const account = accounts.find((one) => one.address === address);
    if (account === undefined) return { outcome: 'unknown' };
    if (isConfigured) return { outcome: 'in_use' };
    return store.retireAnchoringAccount(account, Date.now());
  });
  if (retired.outcome !== 'retired') {
    const { message, hint } = refusals[retired.outcome];
    const code = retired.outcome === 'unknown' ? 'not_found' : `account_${retired.outcome}`;
    throw new SvcError(code, message, { hint });
  }
  const lastBlock = String(retired.lastBlock);
  process.stdout.write(
    options.json
      ? `${JSON.stringify({ address, last_block: lastBlock })}\n`
      : `Retired ${address}. Its last block is ${lastBlock}: verification fails for later anchors.\n`,
  );
}

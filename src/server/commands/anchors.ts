// `svc-server anchors`: shows the list of anchoring accounts, and retires one.
import { v7 as newId } from 'uuid';
import { SvcError } from '../../base/svc-error.ts';
import { openChain } from '../../chain/chain.ts';
import { loadAnchorKeys } from '../../chain/keys/anchor-key.ts';
import { readConfig, type ServerConfig } from '../config.ts';
import type { AnchoringAccount } from '../ports/operations.ts';
import type { Store } from '../ports/store.ts';
import { withStore } from './database.ts';
import { type Output, outputOf } from './print.ts';

/** `svc-server anchors list`: prints every account of the list. */
export async function listAnchors(environment: NodeJS.ProcessEnv, options: Output) {
  const accounts = await withStore(environment, options, (store) => store.listAnchoringAccounts());
  await printAccounts(accounts, options);
}

const LEASE_MS = 15_000;

/**
 * `svc-server anchors retire`: sets the last block of an account, also while servers run with other keys. Reads the
 * newest block from the chain if the database does not know the last anchor of the account.
 */
export async function retireAnchor(
  environment: NodeJS.ProcessEnv,
  address: string,
  { leaveNone = false, ...options }: Output & { leaveNone?: boolean },
): Promise<void> {
  const config = readConfig(environment);
  const keys = await loadAnchorKeys(config.anchorKeys);
  const retired = await withStore(environment, options, async (store) => {
    const account = await find(store, address);
    if (keys.some((key) => key.address === account.address)) throw inUse(account);
    if (!leaveNone && keys.length === 0 && (await isLast(store, account))) throw last(account);
    const head = account.endsElsewhere ? await readHead(store, config) : 0n;
    // The lease keeps every server from anchoring with the account meanwhile.
    const lease = await store.acquireLease(account, newId(), LEASE_MS, Date.now());
    if (lease === null) throw await refusalOf(store, account);
    try {
      const open = await store.listOpenSenders();
      if (open.some((sender) => sender.address === account.address)) {
        throw new SvcError('not_final', `An anchor of ${account.address} is not final yet.`, {
          hint: 'Keep a server running until it is final, and run the command again.',
        });
      }
      await store.retireAnchoringAccount(lease, head);
    } finally {
      await store.releaseLease(lease);
    }
    return find(store, address);
  });
  await printAccounts([retired], options);
}

async function find(store: Store, address: string): Promise<AnchoringAccount> {
  const accounts = await store.listAnchoringAccounts();
  const found = accounts.find((one) => one.address.toLowerCase() === address.toLowerCase());
  if (found !== undefined) return found;
  throw new SvcError('not_found', `The service never anchored with ${address}.`, {
    hint: 'List its accounts with svc-server anchors list.',
  });
}

/** The newest block: accepted anchors of the account are not above it, and later ones cannot be below. */
async function readHead(store: Store, { rpcUrls, values }: ServerConfig): Promise<bigint> {
  if (rpcUrls.length === 0) {
    throw new SvcError('invalid_configuration', 'SVC_CHAIN_RPC_URL is not set.', {
      hint: 'The account sent transactions that this database does not have; only the chain knows its last block.',
    });
  }
  const chain = openChain({ urls: rpcUrls, finalityDepth: values.SVC_ANCHOR_FINALITY_DEPTH });
  try {
    await store.bindChain(
      await chain.anchoring.identity(undefined, await store.getChainIdentity()),
    );
    return (await chain.readHeads()).head;
  } finally {
    await chain.close();
  }
}

/** Why there is no lease: the database was restored and not reconciled, or a server has it. */
async function refusalOf(store: Store, account: AnchoringAccount): Promise<SvcError> {
  const status = await store.getChainStatus();
  const held = ['restored', 'key_not_reconciled'];
  if (!status?.degraded.some((reason) => held.includes(reason))) return inUse(account);
  const message = `Anchoring is held, so the last block of ${account.address} is not known.`;
  return new SvcError('restored', message, {
    hint: 'Run svc-server reconcile, then this command again.',
  });
}

async function isLast(store: Store, { address }: AnchoringAccount): Promise<boolean> {
  const accounts = await store.listAnchoringAccounts();
  return accounts.every((one) => one.lastBlock !== null || one.address === address);
}

function last({ address }: AnchoringAccount): SvcError {
  return new SvcError('last_account', `${address} is the last account that can anchor.`, {
    hint: 'Configure another key first. If the service shall anchor no more, add --leave-none.',
  });
}

function inUse({ address }: AnchoringAccount): SvcError {
  return new SvcError('account_in_use', `The key of ${address} is configured or in use.`, {
    hint: 'Remove the key from the configuration of every server, and restart them.',
  });
}

async function printAccounts(accounts: readonly AnchoringAccount[], options: Output) {
  const items = accounts.map(({ address, chainId, firstBlock, lastBlock, origin }) => ({
    address,
    chain_id: chainId,
    first_block: String(firstBlock),
    last_block: lastBlock === null ? null : String(lastBlock),
    signed_for: origin,
  }));
  await outputOf(options).table({ items }, items, [
    { title: 'address', value: ({ address }) => address },
    { title: 'chain', value: ({ chain_id }) => chain_id },
    { title: 'first block', value: ({ first_block }) => first_block },
    {
      title: 'last block',
      value: ({ last_block }) => last_block,
      shown: ({ last_block }) => last_block ?? 'in use',
    },
    { title: 'signed for', value: ({ signed_for }) => signed_for, shrinks: true },
  ]);
}

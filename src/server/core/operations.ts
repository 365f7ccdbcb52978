// Readiness, the status for an account, the details of the anchoring chain, and the public list of anchoring accounts.
import { inTime } from '../../base/async/in-time.ts';
import { knownChain } from '../../chain/known-chain.ts';
import { thumbprintOf } from '../../proof/statements/public-key.ts';
import { type AnchorsList, listText } from '../../protocol/anchoring-accounts.ts';
import type { ChainDetails } from '../../protocol/resources.ts';
import type { Answer } from '../../protocol/routes.ts';
import { formatIfAny } from '../../protocol/timestamp.ts';
import type { ServerConfig } from '../config.ts';
import { wireError } from '../ports/errors.ts';
import type { Deps, Network, Settings } from './deps.ts';

const HEAD_READ_MS = 2_000;

/** A reading of the readiness writes to the database and calls the chain. All calls in this time, in ms, share one. */
const READINESS_MS = 1_000;

/** How long the first reading waits for the first check of funds and chain, in ms. */
const FIRST_CHECK_MS = 2_000;

type Readiness = Promise<Answer<'getReadiness'>['body']>;

/**
 * Whether the service can handle requests, and what is degraded, as it was within the last second. The first answer
 * waits for the first check of funds and chain, at most 2 s. Throws
 * `storage_unavailable` if a write would not become durable, or if the server is shutting down.
 */
export function createReadiness(deps: Deps): () => Readiness {
  const { checked = Promise.resolve(), stopping } = deps;
  let isChecked = false;
  const checking = checked.then(() => {
    isChecked = true;
  });
  let first: Promise<void> | null = null;
  let last: { readAt: number; readiness: Readiness } | null = null;
  return async () => {
    if (stopping.aborted) {
      throw wireError('storage_unavailable', 'The service is shutting down.');
    }
    first ??= inTime(FIRST_CHECK_MS, checking, undefined);
    const now = performance.now();
    if (last === null || now - last.readAt >= READINESS_MS) {
      const checkedBy = first.then(() => isChecked);
      last = { readAt: now, readiness: readReadiness(deps, checkedBy) };
    }
    return last.readiness;
  };
}

/** Claimed tasks of an account that are looked through for waiting proofs. */
const WAITING_AMONG = 1000;

/** What `readReadiness` found to be degraded, and the proofs of an account that wait for a block. */
export async function readStatus(
  { store }: Deps,
  readReadiness: () => Readiness,
  wallet: string,
): Promise<Answer<'getServiceStatus'>['body']> {
  const [{ degraded }, { proofs, since }] = await Promise.all([
    readReadiness(),
    store.countWaiting(wallet, WAITING_AMONG),
  ]);
  return { degraded, waiting: { proofs, since: formatIfAny(since) } };
}

async function readReadiness(
  { store, chain, network, clock }: Deps,
  checked: Promise<boolean>,
): Readiness {
  // At the same time, so that the waits for a chain that hangs and for the first check do not add up.
  const [isChecked, head] = await Promise.all([
    checked,
    inTime(HEAD_READ_MS, chain.headNumber(), null).catch(() => null),
  ]);
  const [, status, isLacking, hasRoom] = await Promise.all([
    store.probe(),
    store.getChainStatus(),
    lacksPublicRpcUrl({ store, network }),
    store.hasRoom(),
  ]);
  const degraded = new Set(status?.degraded);
  // The anchorer saves its first status once it knows its chain and holds its lease.
  if (status === null || !isChecked) degraded.add('anchoring_not_started');
  if (head === null) degraded.add('chain_unreachable');
  if (!hasRoom) degraded.add('disk_low');
  if (clock.isImplausible) degraded.add('clock_implausible');
  if (isLacking) degraded.add('no_public_rpc_url');
  const underfunded = (status?.underfunded ?? []).map(({ address, balanceWei, neededWei }) => ({
    address,
    balance_wei: balanceWei,
    needed_wei: neededWei,
  }));
  return {
    status: degraded.size === 0 ? 'ready' : 'degraded',
    degraded: [...degraded].sort(),
    ...(underfunded.length > 0 && { underfunded }),
  };
}

/** Whether wallets cannot add the anchoring chain, because the service knows no URL that they may call. */
export async function lacksPublicRpcUrl({ store, network }: Pick<Deps, 'store' | 'network'>) {
  const identity = await store.getChainIdentity();
  return identity !== null && (await network(identity.chainId)).rpcUrls.length === 0;
}

/** Id of the anchoring chain, stored or configured. Throws `chain_unavailable` while neither is known. */
export async function anchoringChainId({ store, settings }: Deps): Promise<number> {
  const identity = await store.getChainIdentity();
  const chainId = identity?.chainId ?? settings.chainId;
  if (chainId === null) {
    throw wireError('chain_unavailable', 'The anchoring chain has not been reached yet.');
  }
  return chainId;
}

/** Details of the anchoring chain (docs/http-api.md). Throws `chain_unavailable` while the chain is not known. */
export async function getChainDetails(deps: Deps): Promise<ChainDetails> {
  const chainId = await anchoringChainId(deps);
  const network = await deps.network(chainId);
  return {
    chain_id: chainId,
    name: network.name,
    testnet: network.testnet,
    explorer_url: network.explorerUrl,
    params: {
      chainId: `0x${chainId.toString(16)}`,
      chainName: network.name,
      nativeCurrency: network.nativeCurrency,
      rpcUrls: network.rpcUrls,
      blockExplorerUrls: [network.explorerUrl],
    },
    anchor_addresses: await deps.store.listAnchorAddresses(),
  };
}

/** URL of a transaction in the network's block explorer (EIP-3091). */
export function explorerUrlOf(network: Network, txHash: string): string {
  return `${network.explorerUrl}/tx/${txHash}`;
}

/**
 * Looks up the details of networks: configured values first, then those of known chains. A chain without an explorer
 * gets the service's own address as its explorer URL.
 */
export function createNetworkLookup(
  { values, nativeCurrency }: ServerConfig,
  settings: Settings,
): (chainId: number) => Promise<Network> {
  const lookUps = new Map<number, ReturnType<typeof knownChain>>();
  return async (chainId) => {
    const lookUp = lookUps.get(chainId) ?? knownChain(chainId);
    lookUps.set(chainId, lookUp);
    const known = await lookUp;
    const rpcUrl = values.SVC_PUBLIC_RPC_URL ?? known?.publicRpcUrl;
    return {
      name: values.SVC_CHAIN_NAME ?? known?.name ?? `Chain ${chainId}`,
      testnet: values.SVC_CHAIN_TESTNET ?? known?.testnet ?? false,
      explorerUrl: (values.SVC_EXPLORER_URL ?? known?.explorerUrl ?? settings.baseUrl).replace(
        /\/+$/,
        '',
      ),
      nativeCurrency: nativeCurrency ??
        known?.nativeCurrency ?? { name: 'Ether', symbol: 'ETH', decimals: 18 },
      rpcUrls: rpcUrl === undefined || rpcUrl === null ? [] : [rpcUrl],
    };
  };
}

/**
 * Reads the list as the service states it now, signed by each configured account in it that is in use. A list is signed
 * once per process. Before an account was used, it is empty.
 */
export function createListReader({ store, settings, keys }: Deps): () => Promise<AnchorsList> {
  let signed: { text: string; signatures: Promise<AnchorsList['signatures']> } | null = null;
  return async () => {
    const origin = settings.baseUrl;
    const accounts = await store.listAnchoringAccounts();
    const list = {
      format: 'svc-anchors/1' as const,
      origin,
      sequence: Math.max(0, ...accounts.map(({ changedIn }) => changedIn)),
      accounts: accounts.map((account) => ({
        chain_id: account.chainId,
        address: account.address,
        first_block: String(account.firstBlock),
        last_block: account.lastBlock === null ? null : String(account.lastBlock),
        // A signature for another origin does not count here: the origin alone states that account.
        signature: account.origin === origin ? account.signature : null,
        ...(account.promiseKey && {
          promise_key: { kid: thumbprintOf(account.promiseKey), public_key: account.promiseKey },
        }),
      })),
    };
    const text = listText(list);
    if (signed?.text !== text) {
      const signers = keys.filter((key) => {
        const entries = accounts.filter(({ address }) => address === key.address);
        return entries.length > 0 && entries.every(({ lastBlock }) => lastBlock === null);
      });
      const signatures = Promise.all(
        signers.map(async ({ address, signText }) => {
          return { address, signature: await signText(text) };
        }),
      );
      signed = { text, signatures };
    }
    return { ...list, signatures: await signed.signatures };
  };
}

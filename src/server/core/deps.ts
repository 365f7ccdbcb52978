// What every use case works with: store, chain, clock, settings.
import type { Clock } from '../../base/clock.ts';
import type { Chain, Network } from '../ports/chain.ts';
import { wireError } from '../ports/errors.ts';
import type { Store } from '../ports/store.ts';

export interface Settings {
  /** Origin of the service, without a slash at the end; read anew at each request. */
  baseUrl: string;
  /** The anchoring chain as configured; used until the store knows it. */
  chainId: number | null;
  /** How long a completion waits for its anchor. */
  anchorTimeoutMs: number;
  /** How old the chain read behind a public verification may be; 0 asks for one of its own. */
  verifyMaxAgeMs: number;
  /** Older samples are acknowledged and not stored; null keeps all. */
  telemetryRetentionMs: number | null;
  /** Null where no token is asked for; the balance is in the token's smallest unit. */
  gate: { token: string; minBalance: bigint } | null;
  /** `gate` opens accounts for holders of the token only. */
  signup: { mode: 'open' | 'gate'; anchors: number; gasWei: bigint };
}

/** Everything the use cases work with. */
export interface Deps {
  store: Store;
  chain: Chain;
  clock: Clock;
  settings: Settings;
  /** Details of a network by chain id; configured values win over known ones. */
  network(chainId: number): Promise<Network>;
  /** Aborts when the server shuts down: waiting requests end and answer by what is stored. */
  stopping: AbortSignal;
}

/**
 * For what may wait: new claims, telemetry and events. Completions go on below the floor, so that work
 * that was done is not lost. Throws `storage_unavailable` while the disk has too little room.
 */
export async function requireDiskRoom({ store }: Pick<Deps, 'store'>): Promise<void> {
  if (await store.hasRoom()) return;
  throw wireError(
    'storage_unavailable',
    'The disk has too little room; only completions are taken. Nothing was stored.',
  );
}

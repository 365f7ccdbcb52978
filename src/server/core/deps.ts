// The dependencies of every use case: store, chain, clock, settings.

import { FairQueue } from '../../base/async/fair-queue.ts';
import type { Clock } from '../../base/clock.ts';
import type { Chain } from '../../chain/chain.ts';
import type { AnchorKey } from '../../chain/keys/anchor-key.ts';
import { wireError } from '../ports/errors.ts';
import type { RobotCaller } from '../ports/robots.ts';
import type { SignupGrant } from '../ports/sign-in.ts';
import type { Store } from '../ports/store.ts';
import { ROW_BYTES } from '../rules/storage.ts';
import type { MayConnect } from '../rules/webhooks.ts';

export interface Settings {
  /** Origin of the service, without a trailing slash. Read at each request, because it can change after the start. */
  baseUrl: string;
  /** The anchoring chain as configured; used until the store knows it. */
  chainId: number | null;
  /** How long a completion waits for its anchor, in milliseconds. */
  anchorTimeoutMs: number;
  /** Within this time after a result was accepted, the service promises to anchor it, in milliseconds. */
  promiseMs: number;
  /** Older samples are acknowledged but not stored; null keeps all. */
  telemetryRetentionMs: number | null;
  /** Where an owner gets credits; null if the operator names no place. */
  creditUrl: string | null;
  /** The token gate; null if there is none. `minBalance` is in the token's smallest unit. */
  gate: { token: string; minBalance: bigint } | null;
  /** `gate`: only holders of the token may open an account. */
  signup: SignupGrant & { mode: 'open' | 'gate' };
}

/** What webhooks need: the key that seals their secrets, and where those of a wallet may connect to. */
export interface WebhookSettings {
  key: Buffer;
  ruleOf: (wallet: string) => MayConnect;
  /** Whether they may use http to 127.0.0.1 and ::1; only in `svc-server dev`. */
  localHttp?: boolean;
}

/** Public details of a network for wallets and explorers. */
export interface Network {
  name: string;
  testnet: boolean;
  /** No trailing slash. */
  explorerUrl: string;
  nativeCurrency: { name: string; symbol: string; decimals: number };
  /** Public endpoints only; empty if none is known. */
  rpcUrls: string[];
}

export interface Deps {
  store: Store;
  chain: Chain;
  clock: Clock;
  settings: Settings;
  /** The configured anchoring accounts, to sign the list of them and promises. */
  keys: readonly Pick<AnchorKey, 'address' | 'signText' | 'promiseKey'>[];
  /** Details of a network by chain id. Configured values take precedence over known ones. */
  network(chainId: number): Promise<Network>;
  /** Null: webhooks are off. */
  webhooks: WebhookSettings | null;
  /** Resolves when each anchoring account was checked once. Absent: nothing anchors in this process. */
  checked?: Promise<void>;
  /** Aborts when the server shuts down: waiting requests end and respond with what is stored. */
  stopping: AbortSignal;
}

/** Anonymous work that waits, per source and in total. */
const WAITING = { ofOne: 512, inAll: 4096 };

/** A queue in which the sources of anonymous work take turns. Above its limits, work is refused with `overloaded`. */
export function strangersQueue(
  running: { atOnce: number; ofOneAtOnce?: number },
  waiting = WAITING,
): FairQueue {
  return new FairQueue({
    ...running,
    waiting,
    refusal: () => wireError('overloaded', 'Too many requests are waiting. Nothing was done.'),
  });
}

/** The answer to a deletion. */
export const deleted = { deleted: true } as const;
export type Deleted = typeof deleted;

/** The record, if the account has it. Throws `not_found`. */
export function found<Found>(what: Parameters<typeof noSuch>[0], record: Found | null): Found {
  if (record === null) throw noSuch(what);
  return record;
}

/** The error for a resource that the account does not have. */
export function noSuch(what: 'robot' | 'fleet' | 'session' | 'token' | 'alert') {
  return wireError('not_found', `This account has no ${what} with this id.`);
}

export function keyRevoked() {
  return wireError('invalid_api_key', 'The API key has been revoked.');
}

/**
 * Runs a write of `bytes` that adds to what is stored, if the account's quota and the disk have room for it.
 * Completions continue below these limits, so that finished work is not lost. Throws `storage_quota`, and
 * `storage_unavailable` while the disk has too little free space.
 */
export async function storing<T>(
  { store, clock }: Pick<Deps, 'store' | 'clock'>,
  { wallet }: Pick<RobotCaller, 'wallet'>,
  bytes: number,
  write: () => Promise<T>,
): Promise<T> {
  const room = await store.takeStorage(wallet, bytes, clock.now());
  switch (room.outcome) {
    case 'taken':
      return write().finally(room.release);
    case 'storage_quota':
      throw wireError(
        'storage_quota',
        'The account has no storage left, so nothing more is stored. Delete robots, or ask the operator for a grant.',
      );
    case 'disk_full':
      throw wireError(
        'storage_unavailable',
        'The disk is almost full, so only completions are accepted. Nothing was stored.',
      );
  }
}

/** Runs a change that adds an entry to the audit log. Throws as `storing`. */
export function recording<T>(deps: Deps, wallet: string, change: () => Promise<T>): Promise<T> {
  return storing(deps, { wallet }, ROW_BYTES, change);
}

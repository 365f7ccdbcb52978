import type { Clock } from '../../base/clock.ts';
import type { Chain, Store } from './ports.ts';

/** What wallets and explorers need to know of a network; nothing in it is secret. */
export interface Network {
  name: string;
  testnet: boolean;
  /** Without a slash at the end. */
  explorerUrl: string;
  nativeCurrency: { name: string; symbol: string; decimals: number };
  /** Public endpoints only; empty where none is known. */
  rpcUrls: string[];
}

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

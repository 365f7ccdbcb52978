// `svc-server accounts export`: reads an account as its owner would.

import { systemClock } from '../../base/clock.ts';
import { openChain } from '../../chain/chain.ts';
import type { ServerConfig } from '../config.ts';
import { operator } from '../core/account.ts';
import { exportAccount } from '../core/account-export.ts';
import { createNetworkLookup } from '../core/operations.ts';
import { settingsOf } from '../main.ts';
import type { Store } from '../ports/store.ts';

/** Yields what `svc account export` prints. */
export async function* exportOf(config: ServerConfig, store: Store, wallet: string) {
  const settings = settingsOf(config);
  const chain = openChain({ urls: config.rpcUrls, verifyPerSecond: 1 });
  const deps = {
    store,
    chain,
    clock: systemClock,
    settings,
    keys: [],
    network: createNetworkLookup(config, settings),
    webhooks: null,
    stopping: new AbortController().signal,
  };
  try {
    yield* exportAccount(deps, { wallet, by: operator('accounts export') });
  } finally {
    await chain.close();
  }
}

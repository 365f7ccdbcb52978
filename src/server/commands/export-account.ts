// `svc-server accounts export`: reads an account as its owner would, through the HTTP application in this process.
import { pino } from 'pino';
import { systemClock } from '../../base/clock.ts';
import { openChain } from '../../chain/chain.ts';
import type { ServerConfig } from '../config.ts';
import { createNetworkLookup } from '../core/operations.ts';
import { exportAccount } from '../http/routes/account.ts';
import { buildApp } from '../http/server/app.ts';
import { settingsOf } from '../main.ts';
import type { SessionRecord } from '../ports/sign-in.ts';
import type { Store } from '../ports/store.ts';

/** Yields what `svc account export` prints. */
export async function* exportOf(config: ServerConfig, store: Store, wallet: string) {
  const settings = settingsOf(config);
  const chain = openChain({ urls: config.rpcUrls, verifyPerSecond: 1 });
  const app = buildApp({
    store: signedIn(store, wallet),
    chain,
    clock: systemClock,
    settings,
    keys: [],
    network: createNetworkLookup(config, settings),
    webhooks: null,
    stopping: new AbortController().signal,
    logger: pino({ level: 'silent' }),
  });
  try {
    yield* exportAccount(app, 'f'.repeat(64));
  } finally {
    await app.close();
    await chain.close();
  }
}

/** The store with one session, of the wallet, that is not in the database. */
function signedIn(store: Store, wallet: string): Store {
  const now = systemClock.now();
  const session: SessionRecord = {
    ...{ id: '', wallet, signedInWith: 'wallet', createdAt: now, expiresAt: now },
    ...{ name: null, scope: null, lastUsedAt: null, isSuspended: false },
  };
  const count = { allowed: true, limit: 1, remaining: 1, resetMs: 1 };
  return { ...store, authenticateSession: async () => ({ session, count }) };
}

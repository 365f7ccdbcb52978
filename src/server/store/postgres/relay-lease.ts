// Lets one instance at a time send webhook messages.

import type { WebhookStore } from '../../ports/webhooks.ts';
import { NOW, sql } from '../db/sql.ts';
import type { PostgresDb } from './engine/database.ts';

export function relayLease({ alone }: PostgresDb) {
  return {
    async holdRelay(holder, ttlMs) {
      const held = await alone((tx) =>
        tx.run(sql`INSERT INTO relay_lease AS l (id, holder, expires_at)
          VALUES (1, ${holder}, ${NOW} + ${ttlMs})
          ON CONFLICT (id) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
          WHERE l.holder = excluded.holder OR l.expires_at <= ${NOW}`),
      );
      return held > 0;
    },
  } satisfies Partial<WebhookStore>;
}

// Makes one instance at a time the leader.
import { randomUUID } from 'node:crypto';
import { LEAD_MS, type Store } from '../../ports/store.ts';
import { NOW, sql } from '../db/sql.ts';
import type { PostgresDb } from './engine/database.ts';

export function leaderStore({ alone }: PostgresDb) {
  const holder = randomUUID();
  return {
    async lead() {
      const held = await alone.run(sql`INSERT INTO relay_lease AS l (id, holder, expires_at)
        VALUES (1, ${holder}, ${NOW} + ${LEAD_MS})
        ON CONFLICT (id) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
        WHERE l.holder = excluded.holder OR l.expires_at <= ${NOW}`);
      return held > 0;
    },
  } satisfies Partial<Store>;
}

// Stores the keys that robots sign with, and the texts that put them into use and out of use.

import type { Hex } from '../../../proof/bytes.ts';
import { canonicalJson } from '../../../proof/canonical-json.ts';
import { hashText } from '../../../proof/statements/jws.ts';
import { type PublicKey, thumbprintOf } from '../../../proof/statements/public-key.ts';
import type { Actor } from '../../ports/account.ts';
import type {
  IdentityRecord,
  IdentityStore,
  KeyTextDecision,
  NewKeyText,
  RobotKey,
} from '../../ports/identity.ts';
import { decideKeyText, nextNumber } from '../../rules/identity.ts';
import { rowBytes } from '../../rules/storage.ts';
import { addFreeLeaf } from '../anchoring/free-leaves.ts';
import { recordAudit } from '../audit-log.ts';
import type { Db, Tx } from '../db/database.ts';
import { forUpdate, lockAccount } from '../db/dialect.ts';
import { raw, type Sql, sql } from '../db/sql.ts';
import type { StorageUsage } from '../storage-usage.ts';

export function identityStore({ read, write }: Db, usage: StorageUsage): IdentityStore {
  return {
    proposeKey: ({ id, wallet, keyHash }, key) =>
      write(async (tx) => {
        const isCaller = sql`wallet = ${wallet} AND key_hash = ${keyHash}`;
        const identity = await find(tx, id, sql`${isCaller} ${forUpdate}`);
        if (identity === null) return null;
        const newest = identity.keys.at(-1);
        // A revoked key may be in the hands of a thief: it cannot be proposed again.
        const isKnown = identity.keys.some(
          (one) =>
            (one === newest || one.revocation !== null) &&
            thumbprintOf(one.publicKey) === thumbprintOf(key),
        );
        const proposedKey = isKnown ? null : key;
        const text = proposedKey && canonicalJson(proposedKey);
        await tx.run(sql`UPDATE robots SET proposed_key = ${text}
          WHERE id = ${id} AND proposed_key IS DISTINCT FROM ${text}`);
        return { ...identity, proposedKey };
      }),

    getIdentity: (robotId, wallet) => read((tx) => find(tx, robotId, sql`wallet = ${wallet}`)),

    getKey: (robotId, kid) => read((tx) => findKey(tx, robotId, kid)),

    async saveKeyText(text, by) {
      const decision = await write(async (tx) => {
        await lockAccount(tx, text.wallet);
        const identity = await find(tx, text.robotId, sql`wallet = ${text.wallet} ${forUpdate}`);
        if (identity === null) return null;
        const decision = decideKeyText(text.text, identity, text.origin);
        await apply(tx, text, identity, decision, by);
        return decision;
      });
      if (decision?.outcome === 'granted') usage.add(text.wallet, keyBytes(decision.key, text));
      return decision;
    },
  };
}

/** The bytes of a key, as `bytesIn` counts them. */
function keyBytes({ publicKey }: Pick<RobotKey, 'publicKey'>, text: NewKeyText): number {
  return rowBytes(canonicalJson(publicKey), text.text, text.signature);
}

async function apply(
  tx: Tx,
  { robotId, wallet, text, signature, now }: NewKeyText,
  { keys }: IdentityRecord,
  decision: KeyTextDecision,
  by: Actor | undefined,
): Promise<void> {
  const { outcome } = decision;
  if (outcome === 'granted') {
    const { kid, publicKey, firstNumber } = decision.key;
    await tx.run(sql`UPDATE robot_keys SET last_number = ${firstNumber - 1}
      WHERE robot_id = ${robotId} AND last_number IS NULL`);
    await tx.run(sql`INSERT INTO robot_keys (kid, robot_id, place, public_key, first_number,
        grant_text, grant_signature, granted_at)
      VALUES (${kid}, ${robotId}, ${keys.length + 1}, ${canonicalJson(publicKey)}, ${firstNumber},
        ${text}, ${signature}, ${now})`);
    await tx.run(sql`UPDATE robots SET signs = 1, proposed_key = NULL WHERE id = ${robotId}`);
  } else if (outcome === 'revoked') {
    const { kid, lastNumber } = decision;
    await tx.run(sql`UPDATE robot_keys SET last_number = ${lastNumber}, revocation_text = ${text},
      revocation_signature = ${signature}, revoked_at = ${now} WHERE kid = ${kid}`);
  } else return;
  const kid = outcome === 'granted' ? decision.key.kid : decision.kid;
  await recordAudit(tx, wallet, `signing_key_${outcome}`, by, { target_id: robotId, detail: kid });
  await addFreeLeaf(tx, { wallet, kind: 'key_text', hash: hashText(text), now });
}

export interface KeyRow {
  kid: string;
  public_key: string;
  first_number: number;
  last_number: number | null;
  grant_text: string;
  grant_signature: Hex;
  granted_at: number;
  revocation_text: string | null;
  revocation_signature: Hex | null;
  revoked_at: number | null;
}

/** The columns of a `KeyRow`, of the table `sk`. */
export const KEY_COLUMNS =
  raw(`sk.kid, sk.public_key, sk.first_number, sk.last_number, sk.grant_text,
  sk.grant_signature, sk.granted_at, sk.revocation_text, sk.revocation_signature, sk.revoked_at`);

/** The identity of the robot if the condition is met. The condition may end with a lock. */
async function find(tx: Tx, id: string, condition: Sql): Promise<IdentityRecord | null> {
  const robot = await tx.get<{ wallet: string; proposed_key: string | null }>(
    sql`SELECT wallet, proposed_key FROM robots WHERE id = ${id} AND ${condition}`,
  );
  if (robot === null) return null;
  const rows = await tx.all<KeyRow & { highest: number | null }>(sql`SELECT ${KEY_COLUMNS},
      (SELECT max(number) FROM statements s WHERE s.kid = sk.kid) AS highest
    FROM robot_keys sk WHERE robot_id = ${id} ORDER BY place`);
  const keys = rows.map(toKey);
  const newest = rows.at(-1);
  const last =
    newest === undefined
      ? null
      : await tx.get<NonNullable<IdentityRecord['last']>>(sql`SELECT number,
          signed_hash AS "signedHash", statement AS text FROM statements
        WHERE kid = ${newest.kid} AND number = ${newest.highest} AND place = 1`);
  return {
    robotId: id,
    wallet: robot.wallet,
    proposedKey: robot.proposed_key === null ? null : JSON.parse(robot.proposed_key),
    keys,
    nextNumber: nextNumber(
      rows.map(({ last_number: lastNumber, highest }) => ({ lastNumber, highest })),
    ),
    last,
  };
}

export async function findKey(tx: Tx, robotId: string, kid: string): Promise<RobotKey | null> {
  const row = await tx.get<KeyRow>(
    sql`SELECT ${KEY_COLUMNS} FROM robot_keys sk WHERE kid = ${kid} AND robot_id = ${robotId}`,
  );
  return row === null ? null : toKey(row);
}

export function toKey(row: KeyRow): RobotKey {
  const { revocation_text: text, revocation_signature: signature, revoked_at: signedAt } = row;
  const publicKey: PublicKey = JSON.parse(row.public_key);
  return {
    kid: row.kid,
    publicKey,
    firstNumber: row.first_number,
    lastNumber: row.last_number,
    grant: { text: row.grant_text, signature: row.grant_signature, signedAt: row.granted_at },
    revocation:
      text === null || signature === null || signedAt === null
        ? null
        : { text, signature, signedAt },
  };
}

// Stores the list of anchoring accounts.

import type { AnchoringAccountStore, Retirement } from '../../ports/anchoring-accounts.ts';
import type { SenderKey } from '../../ports/operations.ts';
import {
  ACCOUNT_COLUMNS,
  type AnchoringAccountRow,
  toAccountList,
} from '../rows/anchoring-accounts.ts';
import { IS_OPEN } from './anchor-attempts.ts';
import type { Access } from './engine/connections.ts';

export function anchoringAccountStore({
  reader,
  writer,
  write,
  read,
}: Access): AnchoringAccountStore {
  const all = reader.prepare<[], AnchoringAccountRow>(
    `SELECT ${ACCOUNT_COLUMNS} FROM anchoring_accounts ORDER BY first_block, chain_id, address`,
  );
  const next = '(SELECT coalesce(max(changed_in), 0) + 1 FROM anchoring_accounts)';
  const add = writer.prepare<[number, string, bigint, string | null, string | null]>(
    `INSERT INTO anchoring_accounts (chain_id, address, first_block, changed_in, origin, signature)
     VALUES (?, ?, ?, ${next}, ?, ?) ON CONFLICT (chain_id, address) DO NOTHING`,
  );
  const sign = writer.prepare<[number, string, string, number, string]>(
    `UPDATE anchoring_accounts SET list_sequence = ?, list_origin = ?, list_signature = ?
     WHERE chain_id = ? AND address = ?`,
  );
  const find = writer.prepare<SenderKey, { first_block: number; last_block: number | null }>(
    `SELECT first_block, last_block FROM anchoring_accounts
     WHERE chain_id = :chainId AND address = :address`,
  );
  const leased = writer.prepare<SenderKey & { now: number }>(
    `SELECT 1 FROM leases WHERE chain_id = :chainId AND address = :address
       AND holder IS NOT NULL AND expires_at > :now`,
  );
  const notFinal = ['attempts_open', 'attempts_included'].map((index) =>
    writer.prepare<SenderKey>(
      `SELECT 1 FROM attempts INDEXED BY ${index} WHERE chain_id = :chainId AND sender = :address
         AND ${index === 'attempts_open' ? IS_OPEN : "state = 'included'"} LIMIT 1`,
    ),
  );
  const lastMined = writer.prepare<SenderKey, { mined_block_number: number }>(
    `SELECT mined_block_number FROM attempts
     WHERE chain_id = :chainId AND sender = :address AND state = 'finalized'
     ORDER BY nonce DESC LIMIT 1`,
  );
  const retire = writer.prepare<SenderKey & { lastBlock: number }>(
    `UPDATE anchoring_accounts SET last_block = :lastBlock, changed_in = ${next}
     WHERE chain_id = :chainId AND address = :address`,
  );

  return {
    listAnchoringAccounts: () => read(() => toAccountList(all.all())),

    addAnchoringAccount: ({ chainId, address, firstBlock, statement }) =>
      write(() => {
        const { origin = null, signature = null } = statement ?? {};
        add.run(chainId, address, firstBlock, origin, signature);
      }),

    saveListSignature: ({ chainId, address }, { sequence, origin, signature }) =>
      write(() => {
        sign.run(sequence, origin, signature, chainId, address);
      }),

    retireAnchoringAccount: ({ chainId, address }, now) =>
      write((): Retirement => {
        const sender = { chainId, address };
        const known = find.get(sender);
        if (known === undefined) return { outcome: 'unknown' };
        if (known.last_block !== null) {
          return { outcome: 'retired', lastBlock: BigInt(known.last_block) };
        }
        if (leased.get({ ...sender, now }) !== undefined) return { outcome: 'in_use' };
        if (notFinal.some((one) => one.get(sender) !== undefined)) return { outcome: 'not_final' };
        const lastBlock = lastMined.get(sender)?.mined_block_number ?? known.first_block;
        retire.run({ ...sender, lastBlock });
        return { outcome: 'retired', lastBlock: BigInt(lastBlock) };
      }),
  };
}

// Reserves what signed anchors may cost, for the cap on an hour's spend, on either database.

import { SvcError } from '../../base/svc-error.ts';
import type { NewAttempt } from '../ports/anchoring.ts';
import { rows, type Steps } from './steps.ts';

const HOUR_MS = 60 * 60_000;

export const spendSql = {
  // One reservation at a time, among all instances and accounts.
  serialize: 'UPDATE queue_round SET round = round WHERE id = 1',
  expire: 'DELETE FROM anchor_spend WHERE at <= $1',
  read: 'SELECT wei FROM anchor_spend',
  reserve: 'INSERT INTO anchor_spend (attempt_id, at, wei) VALUES ($1, $2, $3)',
} as const;

/** Call it in the commit of the attempt. Throws `spend_cap`, which undoes that commit. */
export function* reserveSpend({ id, spend, now }: NewAttempt): Steps<void> {
  if (spend === null) return;
  yield* rows(spendSql.serialize);
  yield* rows(spendSql.expire, now - HOUR_MS);
  const reserved = yield* rows<{ wei: string }>(spendSql.read);
  const sum = reserved.reduce((total, { wei }) => total + BigInt(wei), spend.maxCostWei);
  if (sum > spend.capWei) {
    throw new SvcError('spend_cap', 'The anchors of the last hour may cost as much as is allowed.');
  }
  yield* rows(spendSql.reserve, id, now, String(spend.maxCostWei));
}

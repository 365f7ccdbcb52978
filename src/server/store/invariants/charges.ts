import { chargeOf } from '../../core/money.ts';

/** The end of a reservation, what was reserved, and the first leaf that was settled of its task. */
export interface EndedReserveRow {
  seq: number;
  kind: 'settle' | 'release';
  task_id: string;
  gas_wei: string;
  reserved: string;
  leaf_index: number | null;
  leaf_count: number | null;
  cost_wei: string | null;
}

/** What is wrong with it: a release returns all that was reserved; a settlement all but the leaf's charge. */
export function wrongReturns(row: EndedReserveRow): string[] {
  const reservedWei = -BigInt(row.reserved);
  const charge = row.kind === 'release' ? 0n : chargeOfRow(row, reservedWei);
  if (charge !== null && BigInt(row.gas_wei) === reservedWei - charge) return [];
  return [
    `${row.kind} ${row.seq} of task ${row.task_id} returns ${row.gas_wei} of ${reservedWei} wei`,
  ];
}

function chargeOfRow(row: EndedReserveRow, reservedWei: bigint): bigint | null {
  const { leaf_index: index, leaf_count: count, cost_wei: cost } = row;
  if (index === null || count === null || cost === null) return null;
  return chargeOf(BigInt(cost), { index, count, reservedWei });
}

// Reads what a report sums up: reported hours, errors, claimed tasks and settled charges.

import type { ChargeRecord, ClaimRecord, ErrorRecord, ReportStore } from '../ports/report.ts';
import type { Db } from './db/database.ts';
import { newestBelow } from './db/dialect.ts';
import { NO_ID } from './db/rows.ts';
import { page, sql } from './db/sql.ts';

type HourRow = { at: number; samples: number; states: string };
type ChargeRow = Omit<ChargeRecord, 'costWei'> & { reservedWei: string; backWei: string };

export function reportStore({ all }: Db): ReportStore {
  return {
    async listReportedHours(robotId, { from, to }, { limit, last }) {
      const hours = await all<HourRow>(sql`SELECT at, samples, states FROM telemetry_rollups
        WHERE robot_id = ${robotId} AND resolution = 'hour'
          AND at >= ${last === null ? from : last.at + 1} AND at < ${to}
        ORDER BY at LIMIT ${limit}`);
      return hours.map(({ states, ...hour }) => {
        return { ...hour, states: new Map(Object.entries<number>(JSON.parse(states))) };
      });
    },

    listErrors: (robotId, { limit, last }) =>
      all<ErrorRecord>(
        page(sql`SELECT seq, event_type AS "eventType", occurred_at AS "occurredAt",
            created_at AS "createdAt" FROM events
          WHERE ${newestBelow(['robot_id', 'severity'], [robotId, 'error'], last?.seq ?? Number.MAX_SAFE_INTEGER)}
          LIMIT ${limit}`),
      ),

    listClaims: ({ wallet, status }, { from, to }, { limit, last }) =>
      all<ClaimRecord>(
        page(sql`SELECT t.id, t.robot_id AS "robotId", t.created_at AS "createdAt", c.outcome
          FROM tasks t LEFT JOIN completions c ON c.task_id = t.id
          WHERE t.wallet = ${wallet} AND t.status = ${status} AND t.created_at < ${to}
            AND (t.created_at, t.id) > (${last?.createdAt ?? from}, ${last?.id ?? NO_ID})
          ORDER BY t.created_at, t.id LIMIT ${limit}`),
      ),

    async listCharges(wallet, { from, to }, { limit, last }) {
      const charges = await all<ChargeRow>(
        page(sql`SELECT s.seq, s.at, s.gas_wei AS "backWei", r.gas_wei AS "reservedWei",
            t.robot_id AS "robotId"
          FROM ledger s
          JOIN ledger r ON r.task_id = s.task_id AND r.cycle = s.cycle AND r.kind = 'reserve'
          LEFT JOIN tasks t ON t.id = s.task_id
          WHERE s.wallet = ${wallet} AND s.kind = 'settle' AND s.at < ${to}
            AND (s.at, s.seq) > (${last?.at ?? from}, ${last?.seq ?? 0})
          ORDER BY s.at, s.seq LIMIT ${limit}`),
      );
      return charges.map(({ backWei, reservedWei, ...charge }) => {
        return { ...charge, costWei: -(BigInt(reservedWei) + BigInt(backWei)) };
      });
    },
  };
}

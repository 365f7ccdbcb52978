// Stores alerts and their rules, and finds the rules that hold, on either database.

import { v7 as newId } from 'uuid';
import type { AlertRule } from '../../protocol/alerts.ts';
import { limits } from '../../protocol/limits.ts';
import type {
  AlertRecord,
  AlertStore,
  AnchorCursor,
  CreditRule,
  Firing,
  OpenAlert,
  RefusedTasks,
} from '../ports/alerts.ts';
import { FUNDED_MS } from '../rules/storage.ts';
import { recordAudit } from './audit-log.ts';
import {
  among,
  first,
  insert,
  LAST_ID,
  NO_ID,
  rows,
  type StepRunner,
  type Steps,
} from './engine/steps.ts';
import { isFundedSince } from './storage-usage.ts';
import { type Message, queueMessages } from './webhook-outbox.ts';

const COLUMNS = 'id, kind, threshold, robot_id, opened_at, acknowledged_at, closed_at';

/** Accounts that are evaluated together, and after how many of their robots no further account joins them. */
const ACCOUNTS_AT_ONCE = 100;
const ROBOTS_AT_ONCE = 250;
/** Completions that are read together. */
const ANCHORS_AT_ONCE = 500;
/** The longest threshold, in ms. */
const OLDEST_MS = 10_080 * 60_000;

const ofRobots = (kind: string, condition: string) =>
  `SELECT r.wallet, r.kind, r.threshold, b.id AS robot_id
   FROM alert_rules r JOIN robots b ON b.wallet = r.wallet
   WHERE r.kind = '${kind}' AND r.wallet ${among('text', 1)} AND ${condition}`;

/** By kind. $1 is a JSON array of wallets, and $2 the time. */
const firing = {
  robot_offline: ofRobots('robot_offline', 'b.last_seen_at <= $2 - r.threshold * 60000'),
  battery_low: ofRobots('battery_low', 'b.battery_pct < r.threshold'),
  error_event: ofRobots(
    'error_event',
    `(SELECT e.created_at FROM events e WHERE e.robot_id = b.id AND e.severity = 'error'
      ORDER BY e.seq DESC LIMIT 1) > $2 - r.threshold * 60000`,
  ),
  // Needs no rule, and its threshold has no meaning.
  webhook_disabled: `SELECT DISTINCT wallet, 'webhook_disabled' AS kind, 1 AS threshold,
      NULL AS robot_id
    FROM webhooks WHERE disabled_for IN ('failures', 'backlog') AND wallet ${among('text', 1)}
      AND NOT EXISTS (SELECT 1
        FROM accounts a WHERE a.wallet = webhooks.wallet AND a.deleting_at IS NOT NULL)`,
} as const;

/** Completions in the order of an index, with the rule that holds for them at $1. The last one was ($2, $3). */
const ofAnchors = (kind: string, state: string, time: string, condition: string) =>
  `SELECT c.at, c.task_id, t.wallet, t.robot_id, r.kind, r.threshold
   FROM (SELECT task_id, ${time} AS at FROM completions
     WHERE ${state} AND (${time}, task_id) > ($2, $3)
     ORDER BY ${time}, task_id LIMIT ${ANCHORS_AT_ONCE}) c
   JOIN tasks t ON t.id = c.task_id
   LEFT JOIN alert_rules r ON r.wallet = t.wallet AND r.kind = '${kind}'
     AND c.at ${condition} $1 - r.threshold * 60000
   ORDER BY c.at, c.task_id`;
const anchors = {
  anchor_failed: ofAnchors('anchor_failed', "state = 'failed'", 'updated_at', '>'),
  anchor_stuck: ofAnchors('anchor_stuck', "state IN ('queued', 'submitted')", 'queued_at', '<='),
} as const;

/** The first account after another one that has a rule, an open alert or a webhook that failed. */
const nextWatched = (after: string) => `(SELECT min(wallet) FROM (
    SELECT min(wallet) AS wallet FROM alert_rules WHERE wallet > ${after}
    UNION ALL SELECT min(wallet) FROM alerts WHERE wallet > ${after} AND closed_at IS NULL
    UNION ALL SELECT min(wallet) FROM webhooks
      WHERE wallet > ${after} AND disabled_for IN ('failures', 'backlog')) AS first)`;

/** Whether the account has a grant after $2, or none. */
const isOfKind = `${isFundedSince('$2', 'w.wallet')} = ($3 = 1)`;

export const alertSql = {
  ...firing,
  ...anchors,
  // Goes from one account to the next, so that the others cost nothing. `robots` is the sum of those before.
  watched: `WITH RECURSIVE watched AS (
      SELECT ${nextWatched('$1')} AS wallet, 1 AS place, CAST(0 AS bigint) AS robots
      UNION ALL SELECT ${nextWatched('w.wallet')}, place + 1, w.robots + CASE WHEN ${isOfKind} THEN
        (SELECT count(*) FROM robots b WHERE b.wallet = w.wallet) ELSE 0 END
      FROM watched w WHERE w.wallet IS NOT NULL
        AND place < ${ACCOUNTS_AT_ONCE} AND robots < ${ROBOTS_AT_ONCE})
    SELECT w.wallet, CASE WHEN ${isOfKind} THEN 1 ELSE 0 END AS chosen
    FROM watched w WHERE w.wallet IS NOT NULL ORDER BY place`,
  rules: 'SELECT kind, threshold FROM alert_rules WHERE wallet = $1 ORDER BY kind',
  save: `INSERT INTO alert_rules (wallet, kind, threshold) VALUES ($1, $2, $3)
    ON CONFLICT (wallet, kind) DO UPDATE SET threshold = excluded.threshold
      WHERE alert_rules.threshold <> excluded.threshold RETURNING kind`,
  remove: 'DELETE FROM alert_rules WHERE wallet = $1 AND kind = $2 RETURNING kind',
  list: `SELECT ${COLUMNS} FROM alerts WHERE wallet = $1 AND id < $2 ORDER BY id DESC LIMIT $3`,
  listOpen: `SELECT ${COLUMNS} FROM alerts WHERE wallet = $1 AND id < $2 AND closed_at IS NULL
    ORDER BY id DESC LIMIT $3`,
  acknowledge: `UPDATE alerts SET acknowledged_at = coalesce(acknowledged_at, $3)
    WHERE id = $1 AND wallet = $2 RETURNING ${COLUMNS}`,
  expire: `DELETE FROM alerts WHERE id IN (SELECT id FROM alerts
    WHERE closed_at < $1 ORDER BY closed_at LIMIT $2) RETURNING id`,
  surplus: `DELETE FROM alerts WHERE wallet = $1 AND closed_at IS NOT NULL AND id <
    (SELECT id FROM alerts WHERE wallet = $1 ORDER BY id DESC LIMIT 1 OFFSET ${limits.alertsKept - 1})`,
  note: `INSERT INTO alert_watch (id, evaluated_at, since) VALUES (1, $1, $1)
    ON CONFLICT (id) DO UPDATE SET evaluated_at = excluded.evaluated_at, since =
      CASE WHEN abs(excluded.evaluated_at - alert_watch.evaluated_at) > $2 THEN excluded.since
        ELSE alert_watch.since END
    RETURNING since`,
  // Rules, and alerts that a refusal opened without a rule.
  credit: `SELECT a.wallet, 'credit_low' AS kind, coalesce(r.threshold, 1) AS threshold,
      NULL AS robot_id, a.anchor_quota, CAST(a.gas_credit_wei AS text) AS gas_wei
    FROM accounts a LEFT JOIN alert_rules r ON r.wallet = a.wallet AND r.kind = 'credit_low'
    WHERE a.wallet ${among('text', 1)} AND (r.threshold IS NOT NULL OR EXISTS (SELECT 1
      FROM alerts o WHERE o.kind = 'credit_low' AND o.wallet = a.wallet AND o.closed_at IS NULL))`,
  open: `SELECT id, wallet, kind, threshold, robot_id FROM alerts
    WHERE kind = $1 AND wallet ${among('text', 2)} AND closed_at IS NULL`,
  close: 'UPDATE alerts SET closed_at = $2 WHERE id = $1 AND closed_at IS NULL RETURNING id',
  refuse: `UPDATE tasks SET credit_refused_at = $2 WHERE id = $1 AND credit_refused_at IS NULL
    RETURNING wallet, id AS task_id, robot_id`,
  refused: `SELECT count(*) AS tasks, min(at) AS since FROM (
      SELECT credit_refused_at AS at FROM tasks
      WHERE wallet = $1 AND status = 'claimed' AND credit_refused_at IS NOT NULL
      ORDER BY credit_refused_at LIMIT $2) first`,
} as const;

type Watched = { wallet: string; chosen: 0 | 1 };
type AnchorRow = AnchorCursor & Firing;

export function alertStore({ read, write }: StepRunner): AlertStore {
  return {
    listAlertRules: (wallet) => read(() => rows<AlertRule>(alertSql.rules, wallet)),
    saveAlertRule: (wallet, { kind, threshold }, by) =>
      write(function* () {
        if ((yield* rows(alertSql.save, wallet, kind, threshold)).length === 0) return;
        yield* recordAudit(wallet, 'alert_rule_changed', by, { detail: `${kind}: ${threshold}` });
      }),
    deleteAlertRule: (wallet, kind, by) =>
      write(function* () {
        if ((yield* rows(alertSql.remove, wallet, kind)).length === 0) return false;
        yield* recordAudit(wallet, 'alert_rule_deleted', by, { detail: kind });
        return true;
      }),
    listAlerts: (wallet, { open, limit, before }) =>
      read(() =>
        rows<AlertRecord>(alertSql[open ? 'listOpen' : 'list'], wallet, before ?? LAST_ID, limit),
      ),
    acknowledgeAlert: async (id, wallet, now) =>
      (await write(() => rows<AlertRecord>(alertSql.acknowledge, id, wallet, now)))[0] ?? null,
    countRefused: async (wallet, limit) =>
      (await read(() => first<RefusedTasks>(alertSql.refused, wallet, limit))) ?? {
        tasks: 0,
        since: null,
      },
    deleteAlerts: async (before, limit) =>
      (await write(() => rows(alertSql.expire, before, limit))).length === limit,

    async noteEvaluation(now, gapMs) {
      const noted = await write(() => rows<{ since: number }>(alertSql.note, now, gapMs));
      return noted[0]?.since ?? now;
    },
    async listWatched(after, isFunded, now) {
      const values = [after, now - FUNDED_MS, Number(isFunded)];
      const found = await read(() => rows<Watched>(alertSql.watched, ...values));
      const wallets = found.flatMap(({ wallet, chosen }) => (chosen ? [wallet] : []));
      return { wallets, last: found.at(-1)?.wallet ?? null };
    },
    listFiring: (kind, wallets, now) => {
      const needsTime = kind !== 'battery_low' && kind !== 'webhook_disabled';
      const values = [JSON.stringify(wallets), ...(needsTime ? [now] : [])];
      return read(() => rows<Firing>(firing[kind], ...values));
    },
    async listAnchors(kind, now, after) {
      const start = { at: kind === 'anchor_failed' ? now - OLDEST_MS : 0, task_id: NO_ID };
      const { at, task_id: id } = after ?? start;
      const found = await read(() => rows<AnchorRow>(anchors[kind], now, at, id));
      // The kind is null without a rule.
      const firing = found.filter((one) => one.kind !== null);
      return { firing, last: found.length < ANCHORS_AT_ONCE ? null : (found.at(-1) ?? null) };
    },
    listCreditRules: (wallets) =>
      read(() => rows<CreditRule>(alertSql.credit, JSON.stringify(wallets))),
    listOpenAlerts: (kind, wallets) =>
      read(() => rows<OpenAlert>(alertSql.open, kind, JSON.stringify(wallets))),
    changeAlerts: (opened, closed, now) =>
      write(function* () {
        const messages = yield* openAlerts(opened, now);
        const gone = [];
        for (const alert of closed) {
          if ((yield* rows(alertSql.close, alert.id, now)).length > 0) gone.push(alert);
        }
        yield* queueMessages([...messages, ...messagesOf('alert.closed', gone)], now);
      }),
  };
}

/** Opens alerts that are not open yet. Returns their messages. Call it inside a write. */
function* openAlerts(found: readonly Firing[], now: number): Steps<Message[]> {
  const alerts = found.map((one) => ({ id: newId(), ...one, opened_at: now }));
  const opened = new Set(yield* insert('alerts', alerts));
  for (const wallet of new Set(found.map((one) => one.wallet))) {
    yield* rows(alertSql.surplus, wallet);
  }
  return messagesOf(
    'alert.opened',
    alerts.filter(({ id }) => opened.has(id)),
  );
}

function messagesOf(type: 'alert.opened' | 'alert.closed', alerts: readonly OpenAlert[]) {
  return alerts.map(({ wallet, id, kind, threshold, robot_id }): Message => {
    return { wallet, type, data: { id, kind, threshold, robot_id } };
  });
}

/**
 * Marks a task whose completion lacks credit. The first time, it is reported and opens the credit alert: that of the
 * account's rule, or without a rule one of threshold 1.
 */
export function* refuseForCredit(taskId: string, reason: string, now: number): Steps<void> {
  const [task] = yield* rows<{ wallet: string }>(alertSql.refuse, taskId, now);
  if (task === undefined) return;
  const { wallet, ...data } = task;
  const refused: Message = { wallet, type: 'task.refused', data: { ...data, reason } };
  const rules = yield* rows<AlertRule>(alertSql.rules, wallet);
  const rule = rules.find(({ kind }) => kind === 'credit_low');
  const alert = {
    kind: 'credit_low',
    threshold: rule?.threshold ?? 1,
    wallet,
    robot_id: null,
  } as const;
  yield* queueMessages([refused, ...(yield* openAlerts([alert], now))], now);
}

// Stores alerts and their rules, and finds the rules that hold, on either database.

import { v7 as newId } from 'uuid';
import type { AlertRule } from '../../protocol/alerts.ts';
import { limits } from '../../protocol/limits.ts';
import type {
  AlertRecord,
  AlertStore,
  CreditRule,
  Firing,
  OpenAlert,
  RefusedTasks,
} from '../ports/alerts.ts';
import { recordAudit } from './audit-log.ts';
import { first, insert, LAST_ID, rows, type StepRunner, type Steps } from './engine/steps.ts';
import { queueMessages } from './webhook-outbox.ts';

const COLUMNS = 'id, kind, threshold, robot_id, opened_at, acknowledged_at, closed_at';

const ofRobots = (kind: string, condition: string) =>
  `SELECT r.wallet, r.kind, r.threshold, b.id AS robot_id
   FROM alert_rules r JOIN robots b ON b.wallet = r.wallet
   WHERE r.kind = '${kind}' AND ${condition}`;
/** `since` names the first condition, for the index of the completions. */
const ofAnchors = (kind: string, since: string) =>
  `SELECT DISTINCT r.wallet, r.kind, r.threshold, t.robot_id
   FROM completions c JOIN tasks t ON t.id = c.task_id
   JOIN alert_rules r ON r.wallet = t.wallet AND r.kind = '${kind}' WHERE ${since}`;

/** By kind. $1 is the time; the first condition of each is served by an index. */
const firing = {
  robot_offline: `${ofRobots('robot_offline', 'b.last_seen_at <= $1 - r.threshold * 60000')}
    AND $1 - r.threshold * 60000 >= $2`,
  battery_low: ofRobots('battery_low', 'b.battery_pct < r.threshold'),
  error_event: ofRobots(
    'error_event',
    `(SELECT e.created_at FROM events e WHERE e.robot_id = b.id AND e.severity = 'error'
      ORDER BY e.seq DESC LIMIT 1) > $1 - r.threshold * 60000`,
  ),
  anchor_failed: ofAnchors(
    'anchor_failed',
    `c.state = 'failed' AND c.updated_at > CAST($1 AS bigint) - 604800000
     AND c.updated_at > $1 - r.threshold * 60000`,
  ),
  anchor_stuck: ofAnchors(
    'anchor_stuck',
    `c.state IN ('queued', 'submitted') AND c.queued_at <= CAST($1 AS bigint) - 60000
     AND c.queued_at <= $1 - r.threshold * 60000`,
  ),
  // Needs no rule, and its threshold has no meaning.
  webhook_disabled: `SELECT DISTINCT wallet, 'webhook_disabled' AS kind, 1 AS threshold,
      NULL AS robot_id
    FROM webhooks WHERE disabled_for IN ('failures', 'backlog') AND NOT EXISTS (SELECT 1
      FROM accounts a WHERE a.wallet = webhooks.wallet AND a.deleting_at IS NOT NULL)`,
} as const;

export const alertSql = {
  ...firing,
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
      CASE WHEN excluded.evaluated_at - alert_watch.evaluated_at > $2 THEN excluded.since
        ELSE alert_watch.since END
    RETURNING since`,
  // Rules, and alerts that a refusal opened without a rule.
  credit: `SELECT watched.wallet, 'credit_low' AS kind, watched.threshold, NULL AS robot_id, a.anchor_quota,
      CAST(a.gas_credit_wei AS text) AS gas_wei
    FROM (SELECT wallet, threshold FROM alert_rules WHERE kind = 'credit_low'
      UNION SELECT o.wallet, 1 FROM alerts o
      WHERE o.kind = 'credit_low' AND o.closed_at IS NULL AND NOT EXISTS
        (SELECT 1 FROM alert_rules r WHERE r.wallet = o.wallet AND r.kind = 'credit_low')) AS watched
    JOIN accounts a ON a.wallet = watched.wallet`,
  open: `SELECT id, wallet, kind, threshold, robot_id FROM alerts
    WHERE kind = $1 AND closed_at IS NULL`,
  close: 'UPDATE alerts SET closed_at = $2 WHERE id = $1 AND closed_at IS NULL RETURNING id',
  refuse: `UPDATE tasks SET credit_refused_at = $2 WHERE id = $1 AND credit_refused_at IS NULL
    RETURNING wallet, id AS task_id, robot_id`,
  refused: `SELECT count(*) AS tasks, min(at) AS since FROM (
      SELECT credit_refused_at AS at FROM tasks
      WHERE wallet = $1 AND status = 'claimed' AND credit_refused_at IS NOT NULL
      ORDER BY credit_refused_at LIMIT $2) first`,
} as const;

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
    listFiring: (kind, now, watchedSince) => {
      const values = kind === 'robot_offline' ? [now, watchedSince] : [now];
      const needsTime = kind !== 'battery_low' && kind !== 'webhook_disabled';
      return read(() => rows<Firing>(firing[kind], ...(needsTime ? values : [])));
    },
    listCreditRules: () => read(() => rows<CreditRule>(alertSql.credit)),
    listOpenAlerts: (kind) => read(() => rows<OpenAlert>(alertSql.open, kind)),
    changeAlerts: (opened, closed, now) =>
      write(function* () {
        yield* openAlerts(opened, now);
        const gone = [];
        for (const alert of closed) {
          if ((yield* rows(alertSql.close, alert.id, now)).length > 0) gone.push(alert);
        }
        yield* report('alert.closed', gone, now);
      }),
  };
}

/** Opens alerts that are not open yet, with their messages. Call it inside a write. */
function* openAlerts(found: readonly Firing[], now: number): Steps<void> {
  const alerts = found.map((one) => ({ id: newId(), ...one, opened_at: now }));
  const opened = new Set(yield* insert('alerts', alerts));
  for (const wallet of new Set(found.map((one) => one.wallet))) {
    yield* rows(alertSql.surplus, wallet);
  }
  yield* report(
    'alert.opened',
    alerts.filter(({ id }) => opened.has(id)),
    now,
  );
}

function* report(type: 'alert.opened' | 'alert.closed', alerts: readonly OpenAlert[], now: number) {
  const messages = alerts.map(({ wallet, id, kind, threshold, robot_id }) => {
    return { wallet, type, data: { id, kind, threshold, robot_id } };
  });
  yield* queueMessages(messages, now);
}

/**
 * Marks a task whose completion lacks credit. The first time, it is reported and opens the credit alert: that of the
 * account's rule, or without a rule one of threshold 1.
 */
export function* refuseForCredit(taskId: string, reason: string, now: number): Steps<void> {
  const [task] = yield* rows<{ wallet: string }>(alertSql.refuse, taskId, now);
  if (task === undefined) return;
  const { wallet, ...data } = task;
  yield* queueMessages([{ wallet, type: 'task.refused', data: { ...data, reason } }], now);
  const rules = yield* rows<AlertRule>(alertSql.rules, wallet);
  const rule = rules.find(({ kind }) => kind === 'credit_low');
  const alert = {
    kind: 'credit_low',
    threshold: rule?.threshold ?? 1,
    wallet,
    robot_id: null,
  } as const;
  yield* openAlerts([alert], now);
}

// Stores alerts and their rules, and finds the rules that hold, on either database.

import { v7 as newId } from 'uuid';
import type { AlertRule } from '../../protocol/alerts.ts';
import { limits } from '../../protocol/limits.ts';
import type {
  AlertRecord,
  AlertStore,
  AnchorCursor,
  AnchorKind,
  CreditRule,
  EvaluatedAlert,
  Firing,
  OpenAlert,
  RefusedTasks,
} from '../ports/alerts.ts';
import { FUNDED_MS } from '../rules/storage.ts';
import { recordAudit } from './audit-log.ts';
import type { Db, Tx } from './db/database.ts';
import { among, inList } from './db/dialect.ts';
import { insertNew, LAST_ID, NO_ID } from './db/rows.ts';
import { raw, type Sql, sql } from './db/sql.ts';
import { isFundedSince } from './storage-usage.ts';
import { type Message, queueMessages } from './webhook-outbox.ts';

const COLUMNS = raw('id, kind, threshold, robot_id, opened_at, acknowledged_at, closed_at');

/** Accounts that are evaluated together. No further account is added once they have this many robots. */
const ACCOUNTS_AT_ONCE = 100;
const ROBOTS_AT_ONCE = 250;
/** Completions that are read together. */
const ANCHORS_AT_ONCE = 500;
/** The longest threshold, in ms. */
const OLDEST_MS = 10_080 * 60_000;

type AnchorRow = AnchorCursor & Firing;

export function alertStore({ all, one, run, read, write }: Db): AlertStore {
  return {
    listAlertRules: (wallet) => read((tx) => listRules(tx, wallet)),
    saveAlertRule: (wallet, { kind, threshold, states }, by) =>
      write(async (tx) => {
        const named = states ? JSON.stringify(states) : null;
        const changed = await tx.run(sql`INSERT INTO alert_rules (wallet, kind, threshold, states)
          VALUES (${wallet}, ${kind}, ${threshold}, ${named})
          ON CONFLICT (wallet, kind) DO UPDATE SET threshold = excluded.threshold,
              states = excluded.states
            WHERE alert_rules.threshold <> excluded.threshold
              OR alert_rules.states <> excluded.states`);
        if (changed === 0) return;
        await recordAudit(tx, wallet, 'alert_rule_changed', by, {
          detail: `${kind}: ${threshold}${states ? `, ${states.join(', ')}` : ''}`,
        });
      }),
    deleteAlertRule: (wallet, kind, by) =>
      write(async (tx) => {
        const deleted = await tx.run(
          sql`DELETE FROM alert_rules WHERE wallet = ${wallet} AND kind = ${kind}`,
        );
        if (deleted === 0) return false;
        await recordAudit(tx, wallet, 'alert_rule_deleted', by, { detail: kind });
        return true;
      }),
    listAlerts: (wallet, { open, limit, before }) =>
      all<AlertRecord>(sql`SELECT ${COLUMNS} FROM alerts
        WHERE wallet = ${wallet} AND id < ${before ?? LAST_ID}
          ${open ? sql`AND closed_at IS NULL` : sql``}
        ORDER BY id DESC LIMIT ${limit}`),
    acknowledgeAlert: (id, wallet, now) =>
      write((tx) =>
        tx.get<AlertRecord>(sql`UPDATE alerts SET acknowledged_at = coalesce(acknowledged_at, ${now})
          WHERE id = ${id} AND wallet = ${wallet} RETURNING ${COLUMNS}`),
      ),
    acknowledgeAlerts: (ids, wallet, now) =>
      run(sql`UPDATE alerts SET acknowledged_at = ${now} WHERE id ${among('uuid', ids)}
        AND wallet = ${wallet} AND acknowledged_at IS NULL`),
    countRefused: (wallet, limit) =>
      one<RefusedTasks>(sql`SELECT count(*) AS tasks, min(at) AS since FROM (
        SELECT credit_refused_at AS at FROM tasks
        WHERE wallet = ${wallet} AND status = 'claimed' AND credit_refused_at IS NOT NULL
        ORDER BY credit_refused_at LIMIT ${limit}) first`),
    async deleteAlerts(before, limit) {
      const deleted = await run(sql`DELETE FROM alerts WHERE id IN (SELECT id FROM alerts
        WHERE closed_at < ${before} ORDER BY closed_at LIMIT ${limit})`);
      return deleted === limit;
    },

    async noteEvaluation(now, gapMs) {
      const { since } = await write((tx) =>
        tx.one<{ since: number }>(sql`INSERT INTO alert_watch (id, evaluated_at, since)
          VALUES (1, ${now}, ${now})
          ON CONFLICT (id) DO UPDATE SET evaluated_at = excluded.evaluated_at, since =
            CASE WHEN abs(excluded.evaluated_at - alert_watch.evaluated_at) > ${gapMs}
              THEN excluded.since ELSE alert_watch.since END
          RETURNING since`),
      );
      return since;
    },
    async listWatched(after, isFunded, now) {
      type Watched = { wallet: string; chosen: 0 | 1 };
      const found = await all<Watched>(watchedAfter(after, isFunded, now));
      const wallets = found.flatMap(({ wallet, chosen }) => (chosen ? [wallet] : []));
      return { wallets, last: found.at(-1)?.wallet ?? null };
    },
    listFiring: (kind, wallets, now) =>
      all<Firing>(
        kind === 'webhook_disabled' ? failedWebhooks(wallets) : firing(kind, wallets, now),
      ),
    async listAnchors(kind, now, after) {
      const start = { at: kind === 'anchor_failed' ? now - OLDEST_MS : 0, task_id: NO_ID };
      const found = await all<AnchorRow>(anchors(kind, now, after ?? start));
      // The kind is null without a rule.
      const firing = found.filter((one) => one.kind !== null);
      return { firing, last: found.length < ANCHORS_AT_ONCE ? null : (found.at(-1) ?? null) };
    },
    // Rules, and alerts that a refusal opened without a rule.
    listCreditRules: (wallets) =>
      all<CreditRule>(sql`
        SELECT a.wallet, 'credit_low' AS kind, coalesce(r.threshold, 1) AS threshold,
          NULL AS robot_id, a.anchor_quota, CAST(a.gas_credit_wei AS text) AS gas_wei
        FROM accounts a
        LEFT JOIN alert_rules r ON r.wallet = a.wallet AND r.kind = 'credit_low'
        WHERE a.wallet ${among('text', wallets)}
          AND (r.threshold IS NOT NULL OR EXISTS (SELECT 1 FROM alerts o
            WHERE o.kind = 'credit_low' AND o.wallet = a.wallet AND o.closed_at IS NULL))`),
    listOpenAlerts: (kind, wallets) =>
      all<EvaluatedAlert>(sql`SELECT id, wallet, kind, threshold, robot_id,
          CASE WHEN kind = 'error_event' AND acknowledged_at IS NULL AND EXISTS (SELECT 1
            FROM alert_rules r JOIN robots b ON b.id = alerts.robot_id
            WHERE r.wallet = alerts.wallet AND r.kind = alerts.kind)
          THEN 1 ELSE 0 END AS stays
        FROM alerts
        WHERE kind = ${kind} AND wallet ${among('text', wallets)} AND closed_at IS NULL`),
    changeAlerts: (opened, closed, now) =>
      write(async (tx) => {
        const messages = await openAlerts(tx, opened, now);
        const gone = [];
        for (const alert of closed) {
          const changed = await tx.run(sql`UPDATE alerts SET closed_at = ${now}
            WHERE id = ${alert.id} AND closed_at IS NULL`);
          if (changed > 0) gone.push(alert);
        }
        await queueMessages(tx, [...messages, ...messagesOf('alert.closed', gone)], now);
      }),
  };
}

async function listRules(tx: Tx, wallet: string): Promise<AlertRule[]> {
  const rows = await tx.all<Omit<AlertRule, 'states'> & { states: string | null }>(sql`
    SELECT kind, threshold, states FROM alert_rules WHERE wallet = ${wallet} ORDER BY kind`);
  return rows.map(({ states, ...rule }) =>
    states === null ? rule : { ...rule, states: JSON.parse(states) },
  );
}

/** Goes from one watched account to the next, so that the others cost nothing. */
function watchedAfter(after: string, isFunded: boolean, now: number): Sql {
  const hasGrant = isFundedSince(now - FUNDED_MS, sql`w.wallet`);
  const isChosen = isFunded ? hasGrant : sql`NOT ${hasGrant}`;
  // `robots` counts the robots of the accounts before this one.
  return sql`WITH RECURSIVE watched AS (
      SELECT ${nextWatched(after)} AS wallet, 1 AS place, CAST(0 AS bigint) AS robots
      UNION ALL SELECT ${nextWatched(sql`w.wallet`)}, place + 1,
        w.robots + CASE WHEN ${isChosen}
          THEN (SELECT count(*) FROM robots b WHERE b.wallet = w.wallet) ELSE 0 END
      FROM watched w WHERE w.wallet IS NOT NULL
        AND place < ${ACCOUNTS_AT_ONCE} AND robots < ${ROBOTS_AT_ONCE})
    SELECT w.wallet, CASE WHEN ${isChosen} THEN 1 ELSE 0 END AS chosen
    FROM watched w WHERE w.wallet IS NOT NULL ORDER BY place`;
}

/** The first account after another one that has a rule, an open alert or a webhook that failed. */
function nextWatched(after: string | Sql): Sql {
  return sql`(SELECT min(wallet) FROM (
    SELECT min(wallet) AS wallet FROM alert_rules WHERE wallet > ${after}
    UNION ALL SELECT min(wallet) FROM alerts WHERE wallet > ${after} AND closed_at IS NULL
    UNION ALL SELECT min(wallet) FROM webhooks
      WHERE wallet > ${after} AND disabled_for IN ('failures', 'backlog')) AS first)`;
}

type RobotKind = 'robot_offline' | 'battery_low' | 'robot_state' | 'error_event';

/** The rules that hold for robots of the accounts. Their thresholds of time are in minutes. */
function firing(kind: RobotKind, wallets: readonly string[], now: number): Sql {
  const condition = {
    robot_offline: sql`b.last_seen_at <= ${now} - r.threshold * 60000`,
    battery_low: sql`b.battery_pct < r.threshold`,
    robot_state: sql`b.state ${inList(sql`r.states`)}
      AND b.state_since <= ${now} - r.threshold * 60000`,
    // An acknowledgement covers the errors before it.
    error_event: sql`EXISTS (SELECT 1 FROM (SELECT created_at AS at FROM events
        WHERE robot_id = b.id AND severity = 'error' ORDER BY seq DESC LIMIT 1) AS newest_error
      WHERE newest_error.at > ${now} - r.threshold * 60000 AND NOT EXISTS (SELECT 1 FROM alerts k
        WHERE k.robot_id = b.id AND k.kind = 'error_event' AND k.acknowledged_at >= newest_error.at))`,
  }[kind];
  return sql`SELECT r.wallet, r.kind, r.threshold, b.id AS robot_id
    FROM alert_rules r JOIN robots b ON b.wallet = r.wallet
    WHERE r.kind = ${kind} AND r.wallet ${among('text', wallets)} AND ${condition}`;
}

/** Needs no rule, and its threshold has no meaning. */
function failedWebhooks(wallets: readonly string[]): Sql {
  return sql`SELECT DISTINCT wallet, 'webhook_disabled' AS kind, 1 AS threshold, NULL AS robot_id
    FROM webhooks
    WHERE disabled_for IN ('failures', 'backlog') AND wallet ${among('text', wallets)}
      AND NOT EXISTS (SELECT 1
        FROM accounts a WHERE a.wallet = webhooks.wallet AND a.deleting_at IS NOT NULL)`;
}

/** By kind, the completions that it may concern: their states, the time in their index, and when the rule holds. */
const concerned = {
  anchor_failed: {
    states: raw(`state = 'failed'`),
    time: raw('updated_at'),
    isOver: raw('>'),
  },
  anchor_stuck: {
    states: raw(`state IN ('queued', 'submitted')`),
    time: raw('queued_at'),
    isOver: raw('<='),
  },
} as const;

const LIMIT_ANCHORS = raw(`LIMIT ${ANCHORS_AT_ONCE}`);

/** The next completions in the order of an index, each with the rule that holds for it at `now`. */
function anchors(kind: AnchorKind, now: number, { at, task_id: id }: AnchorCursor): Sql {
  const { states, time, isOver } = concerned[kind];
  return sql`SELECT c.at, c.task_id, t.wallet, t.robot_id, r.kind, r.threshold
    FROM (SELECT task_id, ${time} AS at FROM completions
      WHERE ${states} AND (${time}, task_id) > (${at}, ${id})
      ORDER BY ${time}, task_id ${LIMIT_ANCHORS}) c
    JOIN tasks t ON t.id = c.task_id
    LEFT JOIN alert_rules r ON r.wallet = t.wallet AND r.kind = ${kind}
      AND c.at ${isOver} ${now} - r.threshold * 60000
    ORDER BY c.at, c.task_id`;
}

/** Opens alerts that are not open yet. Returns their messages. Call it inside a write. */
async function openAlerts(tx: Tx, found: readonly Firing[], now: number): Promise<Message[]> {
  const alerts = found.map((one) => ({ id: newId(), ...one, opened_at: now }));
  const opened = new Set(await insertNew(tx, 'alerts', alerts));
  for (const wallet of new Set(found.map((one) => one.wallet))) {
    await tx.run(sql`DELETE FROM alerts WHERE wallet = ${wallet} AND closed_at IS NOT NULL
      AND id < (SELECT id FROM alerts WHERE wallet = ${wallet}
        ORDER BY id DESC LIMIT 1 OFFSET ${limits.alertsKept - 1})`);
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
export async function refuseForCredit(tx: Tx, taskId: string, reason: string, now: number) {
  const task = await tx.get<{ wallet: string }>(sql`UPDATE tasks SET credit_refused_at = ${now}
    WHERE id = ${taskId} AND credit_refused_at IS NULL
    RETURNING wallet, id AS task_id, robot_id`);
  if (task === null) return;
  const { wallet, ...data } = task;
  const refused: Message = { wallet, type: 'task.refused', data: { ...data, reason } };
  const rule = (await listRules(tx, wallet)).find(({ kind }) => kind === 'credit_low');
  const threshold = rule?.threshold ?? 1;
  const opened = await openAlerts(
    tx,
    [{ kind: 'credit_low', threshold, wallet, robot_id: null }],
    now,
  );
  await queueMessages(tx, [refused, ...opened], now);
}

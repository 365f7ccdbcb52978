// Alerts of an account, their rules, and the evaluation of all rules.
import { setImmediate } from 'node:timers/promises';
import { type Alert, type AlertKind, alertKinds } from '../../protocol/alerts.ts';
import type { Query } from '../../protocol/routes.ts';
import { formatIfAny, formatTimestamp } from '../../protocol/timestamp.ts';
import type { AlertRecord, Firing } from '../ports/alerts.ts';
import { wireError } from '../ports/errors.ts';
import type { AccountCaller } from '../ports/sign-in.ts';
import { affordableAnchors, reservation } from '../rules/credits.ts';
import { type Deps, deleted, found } from './deps.ts';
import { pageById } from './paging.ts';

/** Throws `not_found`. */
export async function deleteRule({ store }: Deps, { wallet, by }: AccountCaller, kind: AlertKind) {
  if (await store.deleteAlertRule(wallet, kind, by)) return deleted;
  throw wireError('not_found', 'This account has no alert rule of this kind.');
}

/** One page of the account's alerts, newest first. */
export function listAlerts({ store }: Deps, wallet: string, query: Query<'listAlerts'>) {
  const open = query.open === 'true';
  const find = (limit: number, before: string | null) =>
    store.listAlerts(wallet, { open, before, limit });
  return pageById(query, find, viewAlert);
}

/** Throws `not_found`. */
export async function acknowledgeAlert({ store, clock }: Deps, wallet: string, id: string) {
  const alert = found('alert', await store.acknowledgeAlert(id, wallet, clock.now()));
  store.changed(wallet, { alert: id });
  return { alert: viewAlert(alert) };
}

function viewAlert({ opened_at, acknowledged_at, closed_at, ...alert }: AlertRecord): Alert {
  return {
    ...alert,
    opened_at: formatTimestamp(opened_at),
    acknowledged_at: formatIfAny(acknowledged_at),
    closed_at: formatIfAny(closed_at),
  };
}

const EVERY_MS = 30_000;
/** A longer gap between two evaluations counts as an outage of the service. */
const GAP_MS = 3 * EVERY_MS;
/** Alerts opened and closed per commit. */
const CHANGES_PER_COMMIT = 200;

type EvaluationDeps = Pick<Deps, 'store' | 'clock'>;

/** Evaluates all rules when 30 s have passed since the last call that did. */
export function createEvaluation(deps: EvaluationDeps): () => Promise<void> {
  let next = 0;
  return async () => {
    const now = deps.clock.now();
    if (now < next) return;
    next = now + EVERY_MS;
    await evaluateRules(deps);
  };
}

/** Opens the alerts of rules that hold, and closes the alerts of rules that no longer do. */
export async function evaluateRules({ store, clock }: EvaluationDeps): Promise<void> {
  const now = clock.now();
  const watchedSince = await store.noteEvaluation(now, GAP_MS);
  for (const kind of Object.keys(alertKinds) as AlertKind[]) {
    // SQLite reads synchronously, so other requests run between two kinds.
    await setImmediate();
    const firing =
      kind === 'credit_low'
        ? await lowCredits(store)
        : await store.listFiring(kind, now, watchedSince);
    // After an outage none opens for one window, and those that are open stay so.
    const holding = kind === 'robot_offline' ? await store.listFiring(kind, now, 0) : firing;
    const open = await store.listOpenAlerts(kind);
    const [wanted, present] = [new Set(holding.map(keyOf)), new Set(open.map(keyOf))];
    const opened = firing.filter((one) => !present.has(keyOf(one)));
    const closed = open.filter((one) => !wanted.has(keyOf(one)));
    for (let i = 0; i < Math.max(opened.length, closed.length); i += CHANGES_PER_COMMIT) {
      const some = [i, i + CHANGES_PER_COMMIT] as const;
      await store.changeAlerts(opened.slice(...some), closed.slice(...some), now);
      for (const { wallet } of opened.slice(...some)) store.changed(wallet, null);
      for (const { id, wallet } of closed.slice(...some)) store.changed(wallet, { alert: id });
    }
  }
}

async function lowCredits(store: EvaluationDeps['store']): Promise<Firing[]> {
  const rules = await store.listCreditRules();
  const status = rules.length === 0 ? null : await store.getChainStatus();
  const reservedWei = status?.quote ? reservation(status.quote) : 0n;
  return rules.flatMap(({ anchor_quota, gas_wei, ...rule }) => {
    const affordable = affordableAnchors(anchor_quota, BigInt(gas_wei), reservedWei);
    return affordable < rule.threshold ? [rule] : [];
  });
}

function keyOf({ wallet, robot_id }: Firing): string {
  return `${wallet} ${robot_id}`;
}

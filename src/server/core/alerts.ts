// Alerts of an account, and their rules.
import type { Alert, AlertKind, AlertRule } from '../../protocol/alerts.ts';
import type { Body, Query } from '../../protocol/routes.ts';
import { formatIfAny, formatTimestamp } from '../../protocol/timestamp.ts';
import type { AlertRecord } from '../ports/alerts.ts';
import { wireError } from '../ports/errors.ts';
import type { AccountCaller } from '../ports/sign-in.ts';
import { type Deps, deleted, found, recording } from './deps.ts';
import { pageById } from './paging.ts';

/** Throws `invalid_request` for a percentage above 100, and for states of another kind than `robot_state`. */
export async function saveRule(deps: Deps, { wallet, by }: AccountCaller, given: AlertRule) {
  if (given.kind === 'battery_low' && given.threshold > 100) {
    throw wireError('invalid_request', 'threshold must be at most 100 for battery_low.');
  }
  if (given.kind !== 'robot_state' && given.states) {
    throw wireError('invalid_request', 'states is only for robot_state.');
  }
  const rule: AlertRule =
    given.kind === 'robot_state' ? { ...given, states: given.states ?? ['error'] } : given;
  await recording(deps, wallet, () => deps.store.saveAlertRule(wallet, rule, by));
  deps.store.changed(wallet, null);
  return { rule };
}

/** Throws `not_found`. */
export async function deleteRule({ store }: Deps, { wallet, by }: AccountCaller, kind: AlertKind) {
  if (!(await store.deleteAlertRule(wallet, kind, by))) {
    throw wireError('not_found', 'This account has no alert rule of this kind.');
  }
  store.changed(wallet, null);
  return deleted;
}

/** One page of the account's alerts, newest first. */
export function listAlerts({ store }: Deps, wallet: string, query: Query<'listAlerts'>) {
  const open = query.open === 'true';
  const find = (limit: number, before: string | null) =>
    store.listAlerts(wallet, { open, before, limit });
  return pageById(query, find, viewAlert);
}

export async function acknowledgeAlerts(
  { store, clock }: Deps,
  wallet: string,
  { alert_ids: ids }: Body<'acknowledgeAlerts'>,
) {
  const acknowledged = await store.acknowledgeAlerts(ids, wallet, clock.now());
  if (acknowledged > 0) store.changed(wallet, null);
  return { acknowledged };
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

// The store's contract for alerts and their rules.
import type { Alert, AlertKind, AlertRule } from '../../protocol/alerts.ts';
import type { Actor } from './account.ts';

/** The members are those of the API, with instants. */
export interface AlertRecord extends Pick<Alert, 'id' | 'kind' | 'threshold' | 'robot_id'> {
  opened_at: number;
  acknowledged_at: number | null;
  closed_at: number | null;
}

/** A rule whose condition holds, for one robot or for the account. */
export interface Firing extends AlertRule {
  wallet: string;
  robot_id: string | null;
}

/** The balance of an account with a rule on its credits. Amounts are decimal text. */
export interface CreditRule extends Firing {
  anchor_quota: number;
  gas_wei: string;
}

export type OpenAlert = Firing & Pick<AlertRecord, 'id'>;

export interface RefusedTasks {
  tasks: number;
  /** The first refusal. */
  since: number | null;
}

/** An account has at most one rule of a kind. A rule has at most one open alert per robot, however many instances evaluate it. */
export interface AlertStore {
  listAlertRules(wallet: string): Promise<AlertRule[]>;
  /** Creates the rule, or changes its threshold. */
  saveAlertRule(wallet: string, rule: AlertRule, by?: Actor): Promise<void>;
  /** The rule's open alerts close at the next evaluation, unless they would have opened without a rule. */
  deleteAlertRule(wallet: string, kind: AlertKind, by?: Actor): Promise<boolean>;
  /** Newest first (ids are UUIDv7). `before` is the last id of the previous page. */
  listAlerts(
    wallet: string,
    filter: { open: boolean; limit: number; before: string | null },
  ): Promise<AlertRecord[]>;
  /** Keeps the time of an earlier acknowledgement. Null if the account does not have the alert. */
  acknowledgeAlert(id: string, wallet: string, now: number): Promise<AlertRecord | null>;
  /** Claimed tasks with a completion that was refused for lack of credit. Counts at most `limit`. */
  countRefused(wallet: string, limit: number): Promise<RefusedTasks>;
  /** Deletes at most `limit` of the alerts closed before `before`. Returns whether there may be more. */
  deleteAlerts(before: number, limit: number): Promise<boolean>;

  /** Notes an evaluation. Returns since when there was no gap longer than `gapMs` between two. */
  noteEvaluation(now: number, gapMs: number): Promise<number>;
  /** The rules of a kind that hold at `now`. No robot is offline for longer than since `watchedSince`. */
  listFiring(
    kind: Exclude<AlertKind, 'credit_low'>,
    now: number,
    watchedSince: number,
  ): Promise<Firing[]>;
  listCreditRules(): Promise<CreditRule[]>;
  listOpenAlerts(kind: AlertKind): Promise<OpenAlert[]>;
  /** Opens and closes alerts, with their messages, in one commit. An alert that is open already stays as it is. */
  changeAlerts(opened: readonly Firing[], closed: readonly OpenAlert[], now: number): Promise<void>;
}

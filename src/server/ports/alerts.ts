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

/** `stays`: 1 if it closes only once it is acknowledged, or its rule or robot is gone. */
export type EvaluatedAlert = OpenAlert & { stays: 0 | 1 };

export type AnchorKind = 'anchor_failed' | 'anchor_stuck';

/** A completion, by the time of its index. */
export interface AnchorCursor {
  at: number;
  task_id: string;
}

/** `last` is the last account that was looked at, or null at the end. */
export interface WatchedAccounts {
  wallets: string[];
  last: string | null;
}

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
  /** The same for several. Returns how many were not acknowledged before. */
  acknowledgeAlerts(ids: readonly string[], wallet: string, now: number): Promise<number>;
  /** Claimed tasks with a completion that was refused for lack of credit. Counts at most `limit`. */
  countRefused(wallet: string, limit: number): Promise<RefusedTasks>;
  /** Deletes at most `limit` of the alerts closed before `before`. Returns whether there may be more. */
  deleteAlerts(before: number, limit: number): Promise<boolean>;

  /**
   * Records an evaluation. Returns the time since which no two evaluations were more than `gapMs` apart; a clock that
   * goes back by more counts as a gap too.
   */
  noteEvaluation(now: number, gapMs: number): Promise<number>;
  /**
   * The next accounts after a wallet that have a rule or an open alert, or a webhook that failed; few enough for one
   * slice of an evaluation. Only accounts with a recent grant, or only those without.
   */
  listWatched(after: string, isFunded: boolean, now: number): Promise<WatchedAccounts>;
  /** The rules of a kind that hold at `now` for these accounts. */
  listFiring(
    kind: Exclude<AlertKind, 'credit_low' | AnchorKind>,
    wallets: readonly string[],
    now: number,
  ): Promise<Firing[]>;
  /**
   * The rules of a kind that hold at `now`, by waiting or failed completions of all accounts. Reads the next ones after
   * `after`; null is the beginning. `last` is null at the end. The same rule and robot may be listed repeatedly.
   */
  listAnchors(
    kind: AnchorKind,
    now: number,
    after: AnchorCursor | null,
  ): Promise<{ firing: Firing[]; last: AnchorCursor | null }>;
  listCreditRules(wallets: readonly string[]): Promise<CreditRule[]>;
  listOpenAlerts(kind: AlertKind, wallets: readonly string[]): Promise<EvaluatedAlert[]>;
  /** Opens and closes alerts, with their messages, in one commit. An alert that is open already stays as it is. */
  changeAlerts(opened: readonly Firing[], closed: readonly OpenAlert[], now: number): Promise<void>;
}

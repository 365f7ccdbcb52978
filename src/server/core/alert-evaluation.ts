// Evaluates the alert rules of all accounts, on one instance at a time.
import { setImmediate } from 'node:timers/promises';
import { passed } from '../../base/async/on-abort.ts';
import { type AlertKind, alertKinds } from '../../protocol/alerts.ts';
import type { AnchorCursor, Firing, WatchedAccounts } from '../ports/alerts.ts';
import { affordableAnchors, reservation } from '../rules/credits.ts';
import type { Deps } from './deps.ts';

const TURN_MS = 1_000;
const MINUTE_MS = 60_000;
const EVERY_MS = 30_000;
/** A longer gap between two evaluations counts as an outage of the service. */
const GAP_MS = 3 * EVERY_MS;
/** Alerts opened and closed per commit. Each may delete old alerts and messages of its account. */
const CHANGES_PER_COMMIT = 10;
const anchorKinds = ['anchor_failed', 'anchor_stuck'] as const;

type EvaluationDeps = Pick<Deps, 'store' | 'clock'>;
type Store = Deps['store'];

/** Evaluates the rules until stopped, while this instance is the leader. */
export function startEvaluation({
  onError,
  turnMs = TURN_MS,
  ...deps
}: EvaluationDeps & { onError: (error: unknown) => void; turnMs?: number }) {
  const evaluate = createEvaluation(deps);
  const stopping = new AbortController();
  let underWay: Promise<void> | null = null;
  const turn = async () => {
    if (!(await deps.store.lead())) return;
    // An evaluation may take longer than the lead lasts, so turns keep the lead meanwhile.
    underWay ??= evaluate()
      .catch(onError)
      .finally(() => {
        underWay = null;
      });
  };
  const ended = (async () => {
    do await turn().catch(onError);
    while (await passed(turnMs, stopping.signal));
    await underWay;
  })();
  return {
    stop(): Promise<void> {
      stopping.abort();
      return ended;
    },
  };
}

/**
 * Opens the alerts of rules that hold, and closes the alerts of rules that no longer do. Call it every second: each call
 * evaluates accounts with a recent grant for `budgetMs`, and then others for `budgetMs`, so these have a minute of work
 * in 10 minutes. Both begin again after 30 s, or after their last account.
 */
export function createEvaluation({ store, clock }: EvaluationDeps, budgetMs = 100) {
  const moment = { now: 0, watchedSince: 0 };
  const rounds = [true, false].map((isFunded) => {
    return { isFunded, next: 0, slices: null as AsyncGenerator | null };
  });
  let next = 0;
  return async (): Promise<void> => {
    moment.now = clock.now();
    // Times of `next`. The clock may go back by hours.
    const monoMs = performance.now();
    if (monoMs >= next) {
      next = monoMs + EVERY_MS;
      moment.watchedSince = await store.noteEvaluation(moment.now, GAP_MS);
    }
    for (const round of rounds) {
      if (round.slices === null && monoMs >= round.next) {
        round.next = monoMs + EVERY_MS;
        round.slices = evaluateAccounts(store, round.isFunded, moment);
      }
      const until = performance.now() + budgetMs;
      do if ((await round.slices?.next())?.done) round.slices = null;
      while (round.slices !== null && performance.now() < until);
    }
  };
}

/** Yields after each slice. SQLite reads synchronously, so other requests run between two reads. */
async function* evaluateAccounts(
  store: Store,
  isFunded: boolean,
  moment: { now: number; watchedSince: number },
) {
  const anchors = new Map<string, Map<string, Firing>>();
  for (const kind of anchorKinds) {
    let cursor: AnchorCursor | null = null;
    do {
      const { firing, last } = await store.listAnchors(kind, moment.now, cursor);
      for (const one of firing) {
        const ofAccount = anchors.get(`${kind} ${one.wallet}`) ?? new Map();
        anchors.set(`${kind} ${one.wallet}`, ofAccount.set(keyOf(one), one));
      }
      cursor = last;
      yield setImmediate();
    } while (cursor !== null);
  }
  let after: string | null = '';
  while (after !== null) {
    const { wallets, last }: WatchedAccounts = await store.listWatched(after, isFunded, moment.now);
    after = last;
    yield setImmediate();
    for (const kind of wallets.length === 0 ? [] : (Object.keys(alertKinds) as AlertKind[])) {
      const { now, watchedSince } = moment;
      let holding: Firing[];
      if (kind === 'anchor_failed' || kind === 'anchor_stuck') {
        holding = wallets.flatMap((one) => [...(anchors.get(`${kind} ${one}`)?.values() ?? [])]);
      } else if (kind === 'credit_low') holding = await lowCredits(store, wallets);
      else holding = await store.listFiring(kind, wallets, now);
      await setImmediate();
      const open = await store.listOpenAlerts(kind, wallets);
      const [wanted, present] = [new Set(holding.map(keyOf)), new Set(open.map(keyOf))];
      const opened = holding.filter(
        (one) =>
          !present.has(keyOf(one)) &&
          // After an outage none opens for one window, and those that are open stay so.
          (kind !== 'robot_offline' || now - one.threshold * MINUTE_MS >= watchedSince),
      );
      // The next evaluation opens another alert for an error after the acknowledgement.
      const closed = open.filter(
        (one) => !one.stays && (kind === 'error_event' || !wanted.has(keyOf(one))),
      );
      for (let i = 0; i < Math.max(opened.length, closed.length); i += CHANGES_PER_COMMIT) {
        const some = [i, i + CHANGES_PER_COMMIT] as const;
        await store.changeAlerts(opened.slice(...some), closed.slice(...some), now);
        for (const { wallet } of opened.slice(...some)) store.changed(wallet, null);
        for (const { id, wallet } of closed.slice(...some)) store.changed(wallet, { alert: id });
      }
      yield setImmediate();
    }
  }
}

async function lowCredits(store: Store, wallets: readonly string[]): Promise<Firing[]> {
  const rules = await store.listCreditRules(wallets);
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

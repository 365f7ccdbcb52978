// What keeps the service from anchoring or answering: a strip for all views, and the reason of one proof.
import { queryOptions, useQuery } from '@tanstack/react-query';
import { ask, ServiceError } from '../api.ts';
import { clockTime } from './time.tsx';
import { counted } from './values.tsx';

const POLL_MS = 15_000;

/** After this time without an answer, the service counts as down, in ms. */
const ANSWER_MS = 5_000;

const statusQuery = queryOptions({
  queryKey: ['service-status'],
  async queryFn({ signal }) {
    const late = new AbortController();
    const timer = setTimeout(() => {
      late.abort(new ServiceError('unreachable', 'The service does not answer.'));
    }, ANSWER_MS);
    try {
      return await ask('GET /api/v1/service-status', {
        signal: AbortSignal.any([signal, late.signal]),
      });
    } finally {
      clearTimeout(timer);
    }
  },
  retry: false,
  refetchInterval: ({ state }) => (state.status === 'error' ? ANSWER_MS : POLL_MS),
});

/** Why proofs wait, by a reason of the service. Those with which anchoring goes on are left out. */
const reasons: Readonly<Record<string, string>> = {
  anchoring_failing: 'the service has an internal error',
  anchoring_not_started: 'the service has not reached the chain yet',
  broadcast_refused: 'the chain refuses the transaction',
  chain_mismatch: "the service's nodes serve another chain",
  chain_unreachable: 'the chain does not answer',
  chain_unsupported: 'the chain is not supported',
  fee_cap: 'fees are above the limit of the service',
  gas_cap: 'an anchor needs more gas than allowed',
  gas_refused: 'the chain refuses the anchor',
  key_not_reconciled: 'the operator paused anchoring',
  nonce_behind: 'the chain does not know earlier transactions of the service',
  nonce_conflict: "another program used the service's anchoring account",
  restored: 'the operator paused anchoring',
  sender_busy: 'the anchoring account has other pending transactions',
  sender_has_code: 'the anchoring account cannot be used',
  spend_cap: 'the spending limit of the service is reached',
  unconfigured_sender: 'a key of the service is missing',
  underfunded: 'the anchoring account of the service lacks funds',
};

/** The gravest reason is the one that the others follow from. */
const first = ['chain_unreachable', 'underfunded'];

function reasonOf(degraded: readonly string[]): string | undefined {
  const code = [...first, ...degraded].find((one) => degraded.includes(one) && reasons[one]);
  return code && reasons[code];
}

/** A strip above every view while the service does not answer, or anchoring waits. */
export function ServiceStrip() {
  const { data, error } = useQuery(statusQuery);
  if (error instanceof ServiceError && (error.status === 0 || error.status >= 500)) {
    const message = error.status === 0 ? 'The service does not answer.' : error.message;
    return (
      <p className="strip strip-bad" role="alert">
        {message} What you see may be out of date.
      </p>
    );
  }
  if (data === undefined) return null;
  const { degraded, waiting } = data;
  const reason = reasonOf(degraded);
  const isFull = degraded.includes('disk_low');
  if (reason === undefined && !isFull) return null;
  return (
    <p className="strip strip-warn" role="status">
      {reason !== undefined &&
        (waiting.since === null
          ? `Anchoring is delayed: ${reason}. New proofs are stored and anchored later. `
          : `Anchoring has been waiting since ${clockTime(waiting.since)}: ${reason}. ${counted(waiting.proofs, 'proof')} ${waiting.proofs === 1 ? 'is' : 'are'} stored. `)}
      {isFull && 'The disk of the service is almost full: it accepts only proofs.'}
    </p>
  );
}

/** Why a queued proof waits; nothing if anchoring goes on. */
export function WaitingReason() {
  const { data } = useQuery(statusQuery);
  const reason = data && reasonOf(data.degraded);
  return reason ? <span className="waiting-reason">Waits: {reason}</span> : null;
}

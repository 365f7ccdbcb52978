// Asks several RPC endpoints and waits for a quorum.
import { SvcError } from '../base/svc-error.ts';
import { ProviderError } from './errors.ts';
import type { Identity } from './identity.ts';
import { noteStray, openProvider, type Provider, type ProviderAsked } from './provider.ts';

export interface ProviderPoolOptions {
  readonly urls: readonly string[];
  readonly timeoutMs?: number;
  readonly onAsked?: ((asked: ProviderAsked) => void) | undefined;
  /** Maximum number of calls per second for public verification, to all URLs together. */
  readonly verifyPerSecond?: number;
}

export type ProviderPool = ReturnType<typeof openProviderPool>;

/** Maximum request time of one of several providers, because a quorum waits for it. */
const TIMEOUT_AMONG_SEVERAL_MS = 5_000;
/** With more unanswered reads than this, a lagging provider gets no new ones until it answers. */
const MOST_OWED = 4;

/**
 * Opens the configured providers, all of the same chain. Without URLs, every read rejects with `chain_unavailable`.
 *
 * @throws SvcError `invalid_rpc_url`.
 */
export function openProviderPool({
  urls,
  timeoutMs = 10_000,
  verifyPerSecond,
  ...options
}: ProviderPoolOptions) {
  const among = urls.length > 1 ? TIMEOUT_AMONG_SEVERAL_MS : timeoutMs;
  // Each has an equal part: with a common limit, one would wait for another and seem slow.
  const perProvider = verifyPerSecond && verifyPerSecond / urls.length;
  const providers = urls.map((url, i) =>
    openProvider({
      ...options,
      url,
      label: `rpc-${i + 1}`,
      timeoutMs: Math.min(timeoutMs, among),
      verifyPerSecond: perProvider,
    }),
  );
  let first = 0;
  const pool = {
    providers,
    /** All providers; each call begins with the next one. For reads that any one of them can answer. */
    inTurn(): readonly Provider[] {
      first = (first + 1) % providers.length;
      return [...providers.slice(first), ...providers.slice(0, first)];
    },
    /** How many providers must agree before anything depends on an answer: two, or one if there is only one. */
    quorum: Math.min(2, providers.length),
    /** The expected chain of all providers; null until it is known. */
    expected: null as Identity | null,
    /** The healthy providers, or all if none is healthy. Starts probes of the others when they are due. */
    able(): readonly Provider[] {
      for (const provider of providers) {
        if (providers.length > 1 && provider.health.isProbeDue) void provider.probe(pool.expected);
      }
      const isFree = ({ health, owed }: Provider) => !health.lags || owed < MOST_OWED;
      const well = providers.filter(
        (one) => one.health.isUp && one.health.banMs === 0 && isFree(one),
      );
      return well.length > 0 ? well : providers;
    },
    /** Polls the able providers for the anchorer. */
    poll: <Answer, Verdict>(question: Question<Answer, Verdict>): Promise<Verdict> =>
      poll(pool.able(), question),
    /** As `poll`, for other reads: a provider that has not shown its chain since its last failure is identified first. */
    pollReading: <Answer, Verdict>(question: Question<Answer, Verdict>): Promise<Verdict> =>
      poll(pool.able(), {
        ...question,
        ask: async (provider) => {
          await requireIdentified(provider, pool.expected);
          return question.ask(provider);
        },
      }),
    /** As `pollReading`, but the first answer decides. */
    first: <Answer>(ask: (provider: Provider) => Promise<Answer>): Promise<Answer> =>
      pool.pollReading({ ask, decide: ([first]) => first }),
    async close() {
      await Promise.all(providers.map((provider) => provider.close()));
    },
  };
  return pool;
}

export interface Question<Answer, Verdict> {
  ask(provider: Provider): Promise<Answer>;
  /**
   * Called after every answer and failure, and when the open providers become late; there is at least one answer.
   * Undefined waits for the providers that are still `open`. With none open it must decide or throw.
   */
  decide(answers: readonly Answer[], still: Still): Verdict | undefined;
  /** Whether it is a write, whose duration says nothing about how fast a provider reads. */
  readonly isWrite?: boolean;
}

export interface Still {
  /** Number of providers that may still answer. */
  readonly open: number;
  /** Whether the open ones are late: decide without them if possible. */
  readonly isLate: boolean;
}

/** How long after the first answer the others are still in time. */
const GRACE_MS = 250;

/**
 * Asks all providers at once and resolves as soon as there is a verdict; later answers only update their health.
 * Rejects if none answers: with `chain_mismatch` (or another SvcError of `ask`) if all failed with it, otherwise with
 * ProviderError.
 */
export function poll<Answer, Verdict>(
  providers: readonly Provider[],
  { ask, decide, isWrite = false }: Question<Answer, Verdict>,
): Promise<Verdict> {
  const answers: Answer[] = [];
  const failures: Failure[] = [];
  const open = new Set(providers);
  let firstAt: number | null = null;
  let [isLate, isDone] = [false, false];
  let timer: NodeJS.Timeout | undefined;
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => {
      isDone = true;
      clearTimeout(timer);
      settle();
    };
    const tryToDecide = () => {
      if (isDone || (answers.length === 0 && open.size > 0)) return;
      if (answers.length === 0) return end(() => reject(failureOf(failures)));
      isLate ||= !isWrite && [...open].every(({ health }) => health.lags);
      try {
        const verdict = decide(answers, { open: open.size, isLate });
        if (verdict !== undefined) end(() => resolve(verdict));
      } catch (error) {
        end(() => reject(error));
      }
    };
    const callLate = () => {
      isLate = true;
      for (const { health } of isWrite ? [] : open) health.lags = true;
      tryToDecide();
    };
    const take = (provider: Provider, answer: Answer) => {
      const now = performance.now();
      open.delete(provider);
      answers.push(answer);
      if (!isWrite) provider.health.lags = firstAt !== null && now - firstAt > GRACE_MS;
      if (firstAt === null && open.size > 0 && !isDone) timer = setTimeout(callLate, GRACE_MS);
      firstAt ??= now;
      tryToDecide();
    };
    const giveUp = (provider: Provider, error: unknown) => {
      open.delete(provider);
      noteStray(provider.health, error);
      if (!(error instanceof SvcError)) return end(() => reject(error));
      failures.push({ label: provider.label, error });
      tryToDecide();
    };
    for (const provider of providers) {
      ask(provider).then(
        (answer) => take(provider, answer),
        (error: unknown) => giveUp(provider, error),
      );
    }
    if (providers.length === 0) tryToDecide();
  });
}

async function requireIdentified(provider: Provider, expected: Identity | null): Promise<void> {
  if (expected === null || provider.health.isIdentified) return;
  await provider.probe(expected);
  if (!provider.health.isIdentified) {
    const { lastReason, isExhausted } = provider.health;
    throw new ProviderError(lastReason ?? 'its chain is not known yet', { isExhausted });
  }
}

interface Failure {
  readonly label: string;
  readonly error: SvcError;
}

function failureOf(failures: readonly Failure[]): SvcError {
  const [first] = failures;
  if (first === undefined) return new ProviderError('no provider is available');
  const isOneAnswer = failures.every(({ error }) => error.code === first.error.code);
  if (isOneAnswer && (failures.length === 1 || first.error.code !== 'chain_unavailable')) {
    return first.error;
  }
  const errors = failures.flatMap(({ error }) => (error instanceof ProviderError ? error : []));
  const waits = errors.map(({ retryAfterMs }) => retryAfterMs ?? 0);
  const reasons = failures.map(({ label, error }) => `${label}: ${reasonOf(error)}`);
  const wait = Math.min(...waits);
  return new ProviderError(reasons.sort().join('; '), {
    retryAfterMs: wait > 0 ? wait : null,
    isExhausted: errors.length > 0 && errors.every((error) => error.isExhausted),
  });
}

function reasonOf(error: SvcError): string {
  return error instanceof ProviderError ? error.reason : error.message;
}

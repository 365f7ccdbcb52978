import { SvcError } from '../base/svc-error.ts';
import { ProviderFault } from './errors.ts';
import { noteStray, type Provider } from './provider.ts';

export interface Question<Answer, Verdict> {
  ask(provider: Provider): Promise<Answer>;
  /**
   * Called when an answer has come or is given up. `open`: how many may still come. Undefined waits for
   * them; with none open it is to decide, or to throw.
   */
  decide(answers: readonly Answer[], open: number): Verdict | undefined;
  /** Most milliseconds that the first answer waits for others; left out: until they answer or fail. */
  readonly graceMs?: number;
}

/** Time in which a provider that does not lag answers after the first one. */
export const GRACE_MS = 250;

/**
 * Puts a question to all the providers at once and takes the verdict as soon as there is one; what comes
 * later only tells how they do. Rejects when none of them answers: with `chain_mismatch` (or another
 * SvcError of `ask`) if that is what all say, else with ProviderFault.
 */
export function poll<Answer, Verdict>(
  providers: readonly Provider[],
  question: Question<Answer, Verdict>,
): Promise<Verdict> {
  return new Promise((resolve, reject) => {
    const answers: Answer[] = [];
    const failures: { label: string; error: SvcError }[] = [];
    const open = new Set(providers);
    let firstAt: number | null = null;
    let timer: NodeJS.Timeout | undefined;
    let done = false;
    const end = (settle: () => void) => {
      done = true;
      clearTimeout(timer);
      settle();
    };
    const tryToDecide = (isLast: boolean) => {
      if (done) return;
      if (isLast && answers.length === 0) return end(() => reject(failureOf(failures)));
      try {
        const verdict = question.decide(answers, isLast ? 0 : open.size);
        if (verdict !== undefined) end(() => resolve(verdict));
      } catch (error) {
        end(() => reject(error));
      }
    };
    const isLast = () => {
      if (open.size === 0) return true;
      const waits = question.graceMs === undefined || [...open].some(({ health }) => !health.lags);
      return answers.length > 0 && !waits;
    };
    const giveUp = () => {
      for (const { health } of open) health.lags = true;
      tryToDecide(true);
    };
    for (const provider of providers) {
      question.ask(provider).then(
        (answer) => {
          const now = performance.now();
          open.delete(provider);
          provider.health.lags = firstAt !== null && now - firstAt > GRACE_MS;
          if (firstAt === null && !done && question.graceMs !== undefined && open.size > 0) {
            timer = setTimeout(giveUp, question.graceMs);
          }
          firstAt ??= now;
          answers.push(answer);
          tryToDecide(isLast());
        },
        (error: unknown) => {
          open.delete(provider);
          noteStray(provider.health, error);
          if (!(error instanceof SvcError)) return end(() => reject(error));
          failures.push({ label: provider.label, error });
          tryToDecide(isLast());
        },
      );
    }
  });
}

function failureOf(failures: readonly { label: string; error: SvcError }[]): SvcError {
  const [first] = failures;
  if (first === undefined) return new ProviderFault('no provider can be asked');
  const isOneAnswer = failures.every(({ error }) => error.code === first.error.code);
  if (isOneAnswer && (failures.length === 1 || first.error.code !== 'chain_unavailable')) {
    return first.error;
  }
  const faults = failures.flatMap(({ error }) => (error instanceof ProviderFault ? error : []));
  const waits = faults.map(({ retryAfterMs }) => retryAfterMs ?? 0);
  const reason = failures.map(({ label, error }) => `${label}: ${reasonOf(error)}`).join('; ');
  const wait = Math.min(...waits);
  return new ProviderFault(reason, { retryAfterMs: wait > 0 ? wait : null });
}

function reasonOf(error: SvcError): string {
  return error instanceof ProviderFault ? error.reason : error.message;
}

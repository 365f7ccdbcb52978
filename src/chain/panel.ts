import { SvcError } from '../base/svc-error.ts';
import { ProviderFault } from './errors.ts';
import type { Identity } from './identity.ts';
import { poll, type Question } from './poll.ts';
import { openProvider, type Provider, type ProviderAsked } from './provider.ts';

export interface PanelOptions {
  readonly urls: readonly string[];
  readonly timeoutMs?: number;
  readonly onAsked?: ((asked: ProviderAsked) => void) | undefined;
}

/** The configured providers, all of the same chain. */
export interface Panel {
  readonly providers: readonly Provider[];
  /** How many must say the same before something rests on it: two, and one where there is no other. */
  readonly quorum: number;
  /** The chain they have to be of; null until it is known. */
  expected: Identity | null;
  /** Those that are well, or all where none is; begins to look after the others. */
  able(): readonly Provider[];
  /** Puts a read of the anchorer to the able ones. */
  poll<Answer, Verdict>(question: Question<Answer, Verdict>): Promise<Verdict>;
  /** As `poll` for other reads: whoever has not shown its chain since its last fault does so first. */
  pollReading<Answer, Verdict>(question: Question<Answer, Verdict>): Promise<Verdict>;
  /** As `pollReading`, where the word of whoever answers first will do. */
  first<Answer>(ask: (provider: Provider) => Promise<Answer>): Promise<Answer>;
  close(): Promise<void>;
}

/** Longest that one of several may take: agreement waits for it. */
const TIMEOUT_AMONG_SEVERAL_MS = 5_000;
/** More than these, and a provider that lags is asked nothing more until it answers. */
const MOST_OWED = 4;

/** @throws SvcError `invalid_rpc_url`. */
export function openPanel({ urls, timeoutMs = 10_000, onAsked }: PanelOptions): Panel {
  if (urls.length === 0) throw new SvcError('invalid_rpc_url', 'There is no RPC URL');
  const among = urls.length > 1 ? TIMEOUT_AMONG_SEVERAL_MS : timeoutMs;
  const providers = urls.map((url, i) =>
    openProvider({ url, label: `rpc-${i + 1}`, timeoutMs: Math.min(timeoutMs, among), onAsked }),
  );
  const panel: Panel = {
    providers,
    quorum: Math.min(2, providers.length),
    expected: null,
    able() {
      for (const provider of providers) {
        if (providers.length > 1 && provider.health.isProbeDue) void provider.probe(panel.expected);
      }
      const isFree = ({ health, owed }: Provider) => !health.lags || owed < MOST_OWED;
      const well = providers.filter(
        (one) => one.health.isUp && !one.health.isBanned && isFree(one),
      );
      return well.length > 0 ? well : providers;
    },
    poll: (question) => poll(panel.able(), question),
    pollReading: (question) =>
      poll(panel.able(), {
        ...question,
        ask: async (provider) => {
          await requireIdentified(provider, panel.expected);
          return question.ask(provider);
        },
      }),
    first: (ask) => panel.pollReading({ ask, decide: ([first]) => first }),
    async close() {
      await Promise.all(providers.map((provider) => provider.close()));
    },
  };
  return panel;
}

async function requireIdentified(provider: Provider, expected: Identity | null): Promise<void> {
  if (expected === null || provider.health.isIdentified) return;
  await provider.probe(expected);
  if (!provider.health.isIdentified) {
    throw new ProviderFault(provider.health.lastReason ?? 'its chain is not known');
  }
}

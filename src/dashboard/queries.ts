// Queries that several views share, and how queries poll and retry.
import {
  MutationCache,
  QueryCache,
  QueryClient,
  type QueryKey,
  queryOptions,
  skipToken,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import type { Alert } from '../protocol/alerts.ts';
import type { Fleet } from '../protocol/fleets.ts';
import type { Robot } from '../protocol/resources.ts';
import { ask, type Call, type Input, isSignedOut, type Reply, ServiceError } from './api.ts';
import { hasOlderPages, POLL_MS, pollMs } from './stream.ts';

export type Account = Reply<'GET /api/v1/me'>;

/** Tells the other tabs of this browser which wallet has signed in; null after a sign-out. */
export const sessions = new BroadcastChannel('svc-session');

export function createQueries(): QueryClient {
  // Any view may be the first to learn that the session ended.
  const onError = (error: Error) => {
    if (isSignedOut(error)) client.setQueryData(accountQuery.queryKey, null);
  };
  const client: QueryClient = new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({
      onError,
      // A change may show anywhere, also one that failed in part. A dialog does not wait for this: it may have shown a key.
      onSettled: () =>
        client.invalidateQueries({ predicate: ({ state }) => !hasOlderPages(state.data) }),
    }),
    defaultOptions: {
      queries: {
        // The browser may report no network although the service runs on this machine.
        networkMode: 'always',
        staleTime: 2_000,
        refetchInterval: pollMs,
        retry: (failures, error) => failures < 1 && isWorthRepeating(error),
        retryDelay: 1_000,
      },
      mutations: { networkMode: 'always' },
    },
  });
  sessions.onmessage = ({ data: wallet }) => {
    const account = client.getQueryData(accountQuery.queryKey);
    // No data of the previous account may stay.
    if (account && wallet !== null && account.wallet !== wallet) void client.resetQueries();
    else void client.invalidateQueries(accountQuery);
  };
  return client;
}

function isWorthRepeating(error: Error): boolean {
  return error instanceof ServiceError && (error.code === 'unreachable' || error.status >= 500);
}

/** A query of one request. */
export function reading<Called extends Call>(
  queryKey: QueryKey,
  call: Called,
  ...[input]: Record<never, never> extends Input<Called>
    ? [NoInfer<Input<Called>>?]
    : [NoInfer<Input<Called>>]
) {
  return queryOptions({
    queryKey,
    // Every input accepts a signal.
    queryFn: ({ signal }) => ask(call, { ...input, signal } as never),
  });
}

/** The account; null without a session. */
export const accountQuery = queryOptions({
  queryKey: ['account'],
  queryFn: async ({ signal }): Promise<Account | null> => {
    try {
      return await ask('GET /api/v1/me', { signal });
    } catch (error) {
      if (isSignedOut(error)) return null;
      throw error;
    }
  },
  refetchInterval: (query) => (query.state.data ? 3 * POLL_MS : false),
});

/** Ends the session, and opens `next` as a new page, which removes the account's data from memory. */
export function useSignOut(next: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => ask('POST /api/auth/logout'),
    onSuccess() {
      queries.clear();
      sessions.postMessage(null);
      location.assign(next);
    },
  });
}

export const chainQuery = {
  ...reading(['chain'], 'GET /api/chain'),
  refetchInterval: false as const,
  staleTime: 60_000,
};

export const taskQuery = (id: string) =>
  reading(['tasks', id], 'GET /api/v1/tasks/:id', { params: { id } });

export const transactionQuery = (txHash: string) =>
  reading(['transaction', txHash], 'GET /api/v1/transactions/:txHash', { params: { txHash } });

/** All open alerts, or the newest 1000. */
export const alertsQuery = queryOptions({
  queryKey: ['alerts', 'open'],
  async queryFn({ signal }) {
    const alerts: Alert[] = [];
    for (let cursor: string | null = ''; cursor !== null && alerts.length < 1000; ) {
      const query = { open: 'true', limit: '200', ...(cursor && { cursor }) } as const;
      const page: Reply<'GET /api/v1/alerts'> = await ask('GET /api/v1/alerts', { query, signal });
      alerts.push(...page.items);
      cursor = page.next_cursor;
    }
    return alerts;
  },
});

/** The number of open alerts that are not acknowledged, as far as a view has read them. */
export function useAlertCount(): number {
  const { data = [] } = useQuery({ ...alertsQuery, enabled: false });
  return data.filter(({ acknowledged_at }) => acknowledged_at === null).length;
}

/** All robots: an account has at most 500. */
export const robotsQuery = queryOptions({
  queryKey: ['robots'],
  queryFn: async ({ client, queryKey, signal }) => {
    const robots: Robot[] = [];
    let cursor: string | null | undefined;
    do {
      const query = { limit: '200', ...(cursor && { cursor }) };
      const page: Reply<'GET /api/v1/robots'> = await ask('GET /api/v1/robots', { query, signal });
      robots.push(...page.items);
      // The first start shows the first page while the others load.
      client.setQueryData<Robot[]>(queryKey, (known) => known ?? page.items);
      cursor = page.next_cursor;
    } while (cursor !== null);
    return robots;
  },
});

export interface Secret {
  what: 'key' | 'token' | 'secret';
  /** Name of the robot, token or webhook that it belongs to. */
  of: string;
  value: string;
  /** What else the person should know. */
  note?: string;
}

/** Secrets that are shown once. Cleared with everything else of the account when another one signs in. */
export const secretsQuery = queryOptions<Secret[]>({
  queryKey: ['secrets'],
  queryFn: skipToken,
  gcTime: Number.POSITIVE_INFINITY,
});

/** All fleets in display order: an account has at most 100. */
export const fleetsQuery = queryOptions({
  queryKey: ['fleets'],
  queryFn: async ({ signal }): Promise<Fleet[]> => {
    const { items } = await ask('GET /api/v1/fleets', { query: { limit: '200' }, signal });
    return items;
  },
});

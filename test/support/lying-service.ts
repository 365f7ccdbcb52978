// A service that lies: it stands between the real one and its callers, and passes on what it does not change.
import type { JsonObject } from '../../src/proof/json-value.ts';
import { type Passing, type ServiceProxy, startServiceProxy } from './service-proxy.ts';

/** What the owner is shown of a statement. */
export interface ShownStatement {
  number: number;
  signed_hash: string;
  statement_hash: string;
  statement: string | null;
}

export interface ShownKey {
  public_key: object;
  grant: { text: string; signature: string; signed_at: string };
}

/** Each member changes one answer. */
export interface Lie {
  statements?(shown: ShownStatement[]): ShownStatement[] | Promise<ShownStatement[]>;
  keys?(shown: ShownKey[]): ShownKey[] | Promise<ShownKey[]>;
  wallet?: string;
  /** The answer to a result that the service drops; null for one that it passes on. */
  drops?(result: { task_id: string; proof: JsonObject }): object | null;
}

export interface LyingService {
  readonly url: string;
  lie(lie: Lie): void;
  redirect: ServiceProxy['redirect'];
  close: ServiceProxy['close'];
}

export async function startLyingService(): Promise<LyingService> {
  const proxy = await startServiceProxy('http://127.0.0.1:9');
  return {
    url: proxy.url,
    lie: (lie) => proxy.handle((passing) => answer(passing, lie)),
    redirect: proxy.redirect,
    close: proxy.close,
  };
}

async function answer({ method, path, body: sent, response, forward }: Passing, lie: Lie) {
  const [, task_id] = /\/tasks\/([^/]+)\/complete$/.exec(path) ?? [];
  const dropped = task_id && lie.drops?.({ task_id, proof: JSON.parse(sent).proof });
  if (dropped) {
    response.writeHead(202, { 'content-type': 'application/json' });
    response.end(JSON.stringify(dropped));
    return;
  }
  const { status, headers, body } = await forward();
  const isShown = method === 'GET' && status === 200;
  const shown = isShown ? await changed(path, JSON.parse(body), lie) : null;
  const { 'content-length': _, ...rest } = headers;
  response.writeHead(status, rest).end(shown === null ? body : JSON.stringify(shown));
}

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
async function changed(path: string, body: any, lie: Lie): Promise<object | null> {
  if (/\/robots\/[^/]+\/statements/.test(path) && lie.statements) {
    return { ...body, items: await lie.statements(body.items) };
  }
  if (/\/robots\/[^/]+\/identity/.test(path)) {
    const { identity } = body;
    const keys = (await lie.keys?.(identity.keys)) ?? identity.keys;
    return { identity: { ...identity, keys, wallet: lie.wallet ?? identity.wallet } };
  }
  return null;
}

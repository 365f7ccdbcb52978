import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer, Exchange, RpcProxy, RpcRequest } from '../support/rpc-proxy.ts';
import type { Random } from './random.ts';

type Handler = (exchange: Exchange, random: Random) => Promise<void>;

const SENDING = 'eth_sendRawTransaction';

/** What a provider does wrong, with how likely it is. Each fault ends with the spell that it belongs to. */
const faults: Record<string, { weight: number; handle: Handler }> = {
  hangs: { weight: 1, handle: async () => {} },
  hangs_after_forwarding: {
    weight: 1,
    handle: async ({ calls, forward }) => {
      await forward(calls);
    },
  },
  resets: { weight: 3, handle: async ({ response }) => void response.destroy() },
  resets_after_forwarding: {
    weight: 4,
    handle: async ({ calls, forward, response }) => {
      await forward(calls);
      response.destroy();
    },
  },
  is_slow: {
    weight: 4,
    handle: async (exchange, random) => {
      await sleep(random.between(50, 900));
      await pass(exchange);
    },
  },
  limits_the_rate: { weight: 2, handle: page(429, '{}', { 'retry-after': '1' }) },
  limits_the_rate_in_json: {
    weight: 2,
    handle: refusing(() => ({ code: -32005, message: 'daily request count exceeded' })),
  },
  fails: { weight: 2, handle: page(500, 'Internal Server Error') },
  fails_after_forwarding: {
    weight: 2,
    handle: async ({ calls, forward, response }) => {
      await forward(calls);
      response.writeHead(503).end('upstream timed out');
    },
  },
  answers_html: { weight: 1, handle: page(502, '<html><h1>502 Bad Gateway</h1></html>') },
  answers_html_with_200: { weight: 1, handle: page(200, '<html>Welcome</html>') },
  answers_nothing: { weight: 1, handle: page(200, '') },
  cuts_its_json: {
    weight: 2,
    handle: async ({ calls, forward, response }) => {
      const text = JSON.stringify(await forward(calls));
      response.end(text.slice(0, text.length / 2));
    },
  },
  is_of_another_chain: {
    weight: 2,
    handle: altering((call, answer) =>
      call.method === 'eth_chainId' ? { result: '0x539' } : answer,
    ),
  },
  knows_no_receipts: {
    weight: 2,
    handle: altering((call, answer) =>
      call.method === 'eth_getTransactionReceipt' ? { result: null } : answer,
    ),
  },
  is_stale: { weight: 4, handle: answerFromBefore },
  accepts_and_forgets: {
    weight: 3,
    handle: sending(async ({ calls, answer }) => answer(calls.map(() => ({ result: NO_HASH })))),
  },
  sends_twice: {
    weight: 3,
    handle: sending(async ({ calls, forward, answer }) => {
      await forward(calls);
      answer(await forward(calls));
    }),
  },
  says_it_knows: { weight: 2, handle: sending(lying('already known')) },
  says_the_nonce_is_used: { weight: 2, handle: sending(lying('nonce too low')) },
  says_underpriced: {
    weight: 2,
    handle: sending(lying('replacement transaction underpriced')),
  },
  says_underfunded: {
    weight: 1,
    handle: sending(lying('insufficient funds for gas * price + value')),
  },
  says_its_pool_is_full: { weight: 1, handle: sending(lying('txpool is full')) },
};

const weights = Object.fromEntries(
  Object.entries(faults).map(([name, { weight }]) => [name, weight]),
);

/** Gives the proxy one fault after another, with spells of health between them, until the signal aborts. */
export async function disturb(
  proxy: RpcProxy,
  random: Random,
  { met, signal }: { met: (fault: string) => void; signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    await pause(random.between(50, 700), signal);
    if (signal.aborted) break;
    const name = random.weighted(weights);
    const handle = faults[name]?.handle ?? pass;
    proxy.handle((exchange) => {
      met(name);
      return handle(exchange, random);
    });
    await pause(spellMs(name, random), signal);
    proxy.handle((exchange) => pass(exchange));
    // What hangs is let go, as by a gateway with a time-out of its own.
    if (isHanging(name)) proxy.drop();
  }
}

/** Long enough for a time-out now and then; whatever is not about time needs only a few requests. */
function spellMs(name: string, random: Random): number {
  return isHanging(name) ? random.between(200, 3_500) : random.between(50, 900);
}

function isHanging(name: string): boolean {
  return name.startsWith('hangs');
}

function pause(ms: number, signal: AbortSignal): Promise<unknown> {
  return sleep(ms, undefined, { signal }).catch(() => {});
}

async function pass({ calls, forward, answer }: Exchange): Promise<void> {
  answer(await forward(calls));
}

function page(status: number, body: string, headers: Record<string, string> = {}): Handler {
  return async ({ response }) => void response.writeHead(status, headers).end(body);
}

function refusing(refusal: () => { code: number; message: string }): Handler {
  return async ({ calls, answer }) => answer(calls.map(() => ({ error: refusal() })));
}

function altering(alter: (call: RpcRequest, answer: Answer) => Answer): Handler {
  return async ({ calls, forward, answer }) => {
    const answers = await forward(calls);
    answer(calls.map((call, i) => alter(call, answers[i] as Answer)));
  };
}

/** A fault that only signed bytes meet. */
function sending(handle: Handler): Handler {
  return (exchange, random) =>
    exchange.calls.some(({ method }) => method === SENDING)
      ? handle(exchange, random)
      : pass(exchange);
}

/** A refusal that is given whether or not the bytes went on. */
function lying(message: string): Handler {
  return async ({ calls, forward, answer }, random) => {
    if (random.chance(0.5)) await forward(calls);
    answer(calls.map(() => ({ error: { code: -32000, message } })));
  };
}

/** A node that has not heard of the last blocks. */
async function answerFromBefore(
  { calls, forward, answer }: Exchange,
  random: Random,
): Promise<void> {
  const [head] = await forward([{ id: 0, method: 'eth_blockNumber', params: [] }]);
  const known = Math.max(0, Number(resultOf(head)) - random.between(1, 5));
  const answers = await forward(calls.map((call) => ({ ...call, params: paramsAt(call, known) })));
  answer(calls.map((call, i) => knownAt(call, answers[i] as Answer, known)));
}

const isLatest = (param: unknown) => param === 'latest' || param === 'pending';

function paramsAt({ method, params }: RpcRequest, known: number): unknown[] {
  if (method === 'eth_estimateGas') return params;
  return params.map((param) => {
    if (isLatest(param)) return quantity(known);
    if (param === 'safe') return quantity(Math.max(0, known - 1));
    return param === 'finalized' ? quantity(Math.max(0, known - 2)) : param;
  });
}

function knownAt({ method }: RpcRequest, answer: Answer, known: number): Answer {
  if (method === 'eth_blockNumber') return { result: quantity(known) };
  const result = resultOf(answer) as { blockNumber?: string | null; number?: string } | null;
  if (typeof result !== 'object' || result === null) return answer;
  const isNew = Number(result.blockNumber ?? result.number ?? 0) > known;
  if (!isNew) return answer;
  if (method !== 'eth_getTransactionByHash') return { result: null };
  const unmined = { blockNumber: null, blockHash: null, transactionIndex: null };
  return { result: { ...result, ...unmined } };
}

function resultOf(answer: Answer | undefined): unknown {
  return answer !== undefined && 'result' in answer ? answer.result : null;
}

const NO_HASH = `0x${'00'.repeat(32)}`;

function quantity(value: number): string {
  return `0x${value.toString(16)}`;
}

import type { Answer, RpcProxy, RpcRequest } from './rpc-proxy.ts';

/** Changes each answer of the node before it is written, with its id. */
export const rewrite =
  (change: (answer: object, call: RpcRequest) => object) => (proxy: RpcProxy) =>
    proxy.handle(async ({ calls, forward, response }) => {
      const answers = await forward(calls);
      const entries = calls.map((call, i) =>
        change({ jsonrpc: '2.0', id: call.id, ...answers[i] }, call),
      );
      response.end(JSON.stringify(entries.length === 1 ? entries[0] : entries));
    });

/** Answers a method in place of the node. */
export const answers = (method: string, answer: Answer) => (proxy: RpcProxy) =>
  proxy.intercept((call) => (call.method === method ? answer : null));

export const refuses = (message: string, code = -32000): Answer => ({ error: { code, message } });

/** Changes a result of the node that is an object. */
export const changeResult = (method: string, change: (result: object) => object) =>
  rewrite((entry, call) => {
    const { result } = entry as { result?: object | null };
    return call.method === method && result ? { ...entry, result: change(result) } : entry;
  });

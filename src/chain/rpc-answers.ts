import { isBatchTooLarge, ProviderFault, type RpcRefusal } from './errors.ts';

export type RpcAnswer =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly refusal: RpcRefusal };

/**
 * Reads the body of a response to `count` calls into answers in their order; `redact` goes over the
 * node's texts. Throws ProviderFault when it is no JSON-RPC.
 */
export function answersOf(
  text: string,
  count: number,
  redact: (text: string) => string,
): RpcAnswer[] {
  const body = parsed(text);
  const list = Array.isArray(body) ? body : [body];
  if (count > 1 && !Array.isArray(body)) {
    const message = isErrorAnswer(body) ? body.error.message : '';
    const refusal = message === '' ? '' : `: ${redact(message)}`;
    const isTooLarge = isBatchTooLarge(message);
    throw new ProviderFault(`the batch was not answered${refusal}`, { isTooLarge });
  }
  const byId = new Map<unknown, unknown>();
  for (const entry of list) {
    if (typeof entry === 'object' && entry !== null && 'id' in entry) byId.set(entry.id, entry);
  }
  return Array.from({ length: count }, (_, id) =>
    answerOf(byId.get(id) ?? (count === 1 ? list[0] : undefined), redact),
  );
}

function answerOf(entry: unknown, redact: (text: string) => string): RpcAnswer {
  if (isErrorAnswer(entry)) {
    const { code, message } = entry.error;
    return { ok: false, refusal: { rpcCode: code, reason: redact(message) } };
  }
  if (typeof entry === 'object' && entry !== null && 'result' in entry) {
    return { ok: true, result: entry.result };
  }
  throw new ProviderFault('the answer is not JSON-RPC');
}

export interface ErrorAnswer {
  readonly error: { readonly code: number; readonly message: string };
}

export function isErrorAnswer(value: unknown): value is ErrorAnswer {
  if (typeof value !== 'object' || value === null || !('error' in value)) return false;
  const { error } = value;
  return (
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    typeof error.code === 'number' &&
    'message' in error &&
    typeof error.message === 'string'
  );
}

/** Undefined when the text is no JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

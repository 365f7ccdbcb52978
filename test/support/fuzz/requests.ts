import fc, { type Arbitrary } from 'fast-check';
import type { Operation, Parameter } from './operations.ts';
import { broken, type Named, oddTexts, oddValues, valid } from './schema-values.ts';

/** One request as generated; `{{kind:number}}` in its texts stands for something the service knows by then. */
export interface Plan {
  /** Null where the path or method is none of the document's. */
  operation: Operation | null;
  method: string;
  target: string;
  headers: Record<string, string>;
  content: string | Uint8Array | null;
  caller: Caller;
  /** Number of the account that calls, and of the one whose things are named. */
  account: number;
  thingsOf: number;
}

/** `right`: of a kind that the operation asks for; `ended`: revoked or deleted before. */
export type Caller =
  | 'right'
  | 'anonymous'
  | 'robot'
  | 'session'
  | 'token'
  | 'both'
  | 'ended'
  | 'garbage';

/** Requests of one operation: two in three as the document asks for them, the others beside it. */
export function requestsOf(operation: Operation): Arbitrary<Plan> {
  return fc
    .record({
      target: targets(operation),
      sent: contents(operation),
      origin: origins(operation),
      caller: callers,
      account: fc.nat(),
      stranger: fc.nat(19),
    })
    .map(({ target, sent, origin, caller, account, stranger }) => ({
      operation: target.known ? operation : null,
      method: target.known ? operation.method : target.method,
      target: target.text,
      headers: { ...sent.headers, ...origin },
      content: sent.content,
      caller,
      account,
      thingsOf: stranger === 0 ? account + 1 : account,
    }));
}

const callers: Arbitrary<Caller> = fc.oneof(
  { weight: 24, arbitrary: fc.constant('right' as const) },
  {
    weight: 7,
    arbitrary: fc.constantFrom(
      'anonymous',
      'robot',
      'session',
      'token',
      'both',
      'ended',
      'garbage',
    ),
  },
);

function origins({ method }: Operation): Arbitrary<Record<string, string>> {
  if (method === 'GET') return fc.constant({});
  const foreign = ['null', 'https://evil.test', 'http://127.0.0.1', 'http://sub.127.0.0.1:1', ''];
  return fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom({}, { origin: '{{origin:0}}' }) },
    { weight: 1, arbitrary: fc.constantFrom(...foreign).map((origin) => ({ origin })) },
  );
}

/** What the service knows under a name of the document. */
function namesIn({ id, path, method }: Operation, place: 'path' | 'query' | 'body'): Named {
  return (name) => {
    switch (name) {
      case 'id': {
        const kind = place === 'path' ? /(\w+)\/\{/.exec(path)?.[1] : path.split('/').at(-1);
        // What is deleted is unknown for the rest of the run, so deletions mostly miss.
        if ((method === 'DELETE' && !path.endsWith('/proof')) || place === 'body') {
          return fc.oneof(known(`${kind}`), known('nothing'), known('nothing'));
        }
        return known(`${kind}`);
      }
      case 'robot_id':
      case 'robot_ids':
        return known('robots');
      case 'fleet_id':
      case 'order':
        return known('fleets');
      case 'task_id':
        return known('tasks');
      case 'proofHash':
        return known('hashes');
      case 'txHash':
        return known('transactions');
      case 'address':
        // In both cases it would need the checksum.
        return fc.stringMatching(/^0x[0-9a-f]{40}$/);
      case 'cursor':
        return known(`cursors.${id}`);
      case 'user_code':
        return known('userCodes');
      case 'device_code':
        return known('deviceCodes');
      default:
        return null;
    }
  };
}

function known(kind: string): Arbitrary<string> {
  return fc.nat(1_000).map((number) => `{{${kind}:${number}}}`);
}

type Target = { known: true; text: string } | { known: false; method: string; text: string };

function targets(operation: Operation): Arbitrary<Target> {
  const good = targetOf(operation, (parameter) =>
    valid(parameter.schema, namesIn(operation, placeOf(parameter)), parameter.name),
  );
  const bad = targetOf(operation, (parameter) =>
    fc.oneof(
      broken(parameter.schema, namesIn(operation, placeOf(parameter)), parameter.name),
      oddTexts,
    ),
  );
  const unknownQuery = fc
    .tuple(good, fc.constantFrom('x=1', 'limit=1&limit=2', '%', '__proto__=1', 'a[b]=c', '=&&?#'))
    .map(([text, more]) => `${text}${text.includes('?') ? '&' : '?'}${more}`);
  return fc.oneof(
    { weight: 20, arbitrary: good.map((text) => ({ known: true as const, text })) },
    { weight: 2, arbitrary: bad.map((text) => ({ known: true as const, text })) },
    { weight: 1, arbitrary: unknownQuery.map((text) => ({ known: true as const, text })) },
    { weight: 1, arbitrary: strange(operation) },
  );
}

function placeOf(parameter: Parameter): 'path' | 'query' {
  return parameter.in === 'path' ? 'path' : 'query';
}

function targetOf(
  { path, params }: Operation,
  valueFor: (parameter: Parameter) => Arbitrary<unknown>,
): Arbitrary<string> {
  const values = Object.fromEntries(params.map((one) => [one.name, valueFor(one)]));
  const requiredKeys = params.filter(({ required }) => required).map(({ name }) => name);
  const optional = params.filter(({ required }) => !required).map(({ name }) => name);
  const chosen = fc.oneof(
    fc.subarray(optional, { maxLength: Math.min(optional.length, 1) }),
    fc.subarray(optional),
  );
  return fc.tuple(fc.record(values), chosen).map(([all, names]) => {
    const taken = [...requiredKeys, ...names];
    const given: Record<string, unknown> = Object.fromEntries(
      Object.entries(all).filter(([name]) => taken.includes(name)),
    );
    const text = path.replace(/\{(\w+)\}/g, (_, name: string) => encode(given[name]));
    const query = params
      .filter((one) => one.in === 'query' && given[one.name] !== undefined)
      .map(({ name }) => `${name}=${encode(given[name])}`);
    return query.length === 0 ? text : `${text}?${query.join('&')}`;
  });
}

function encode(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  if (/^\{\{[\w.]+:\d+\}\}$/.test(text)) return text;
  // An empty segment and dots would make a path of another operation; lone surrogates have no UTF-8.
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd')).replace(/^\.{0,2}$/, '%20');
}

/** Paths that cannot be decoded or lead nowhere, and methods that are not taken. */
function strange({ method, path }: Operation): Arbitrary<Target> {
  const filled = path.replace(/\{\w+\}/g, '{{nothing:0}}');
  return fc.oneof(
    fc
      .constantFrom('%', '%zz', '%ff', '%C0%AF', '%00', '%2F..%2F', ';a=b', '/', '//x', 'x')
      .map((end) => ({ known: false as const, method, text: `${filled}${end}` })),
    fc
      .constantFrom('PUT', 'OPTIONS', 'PROPFIND')
      .map((other) => ({ known: false as const, method: other, text: filled })),
  );
}

interface Content {
  headers: Record<string, string>;
  content: string | Uint8Array | null;
}

const json = { 'content-type': 'application/json' };

function contents({ method, path, security, body, ...rest }: Operation): Arbitrary<Content> {
  if (method === 'GET') return fc.constant({ headers: {}, content: null });
  const nothing = fc.constant({ headers: {}, content: null });
  if (body === null) {
    return fc.oneof(
      { weight: 6, arbitrary: nothing },
      { weight: 2, arbitrary: fc.constant({ headers: json, content: '{}' }) },
      { weight: 1, arbitrary: oddValues.map(asJson) },
      { weight: 1, arbitrary: unreadable(fc.constant({})) },
    );
  }
  const named = namesIn({ method, path, security, body, ...rest }, 'body');
  const good = valid(body, named);
  return fc.oneof(
    { weight: 12, arbitrary: good.map(asJson) },
    { weight: 5, arbitrary: broken(body, named).map(asJson) },
    { weight: 2, arbitrary: unreadable(good) },
    { weight: 1, arbitrary: nothing },
  );
}

function asJson(value: unknown): Content {
  return { headers: json, content: JSON.stringify(value) };
}

/** JSON that is broken, would change when it is read, nests too deep or is too long, and what is not JSON at all. */
function unreadable(good: Arbitrary<unknown>): Arbitrary<Content> {
  const text = good.map((value) => JSON.stringify(value));
  const cut = fc.tuple(text, fc.nat()).map(([whole, at]) => whole.slice(0, at % whole.length));
  const spoilt = fc
    .tuple(
      text,
      fc.nat(),
      fc.constantFrom(',', '"', '\\', '\u0000', '}', ']', '\ufeff', '\\ud800', '/**/'),
    )
    .map(([whole, at, odd]) => {
      const place = at % whole.length;
      return `${whole.slice(0, place)}${odd}${whole.slice(place)}`;
    });
  const nested = fc
    .tuple(
      fc.constantFrom('proof', 'metrics', 'payload', 'title', 'x'),
      fc.constantFrom(126, 127, 128, 129, 130, 5_000),
    )
    .map(([name, depth]) => `{"${name}":${'['.repeat(depth)}${']'.repeat(depth)}}`);
  const numbers = fc
    .constantFrom(
      'NaN',
      '-0',
      '1e999',
      '12345678901234567890',
      '0.10000000000000000001',
      '01',
      '+1',
    )
    .map((number) => `{"proof":{"n":${number}},"battery_pct":${number},"chainId":${number}}`);
  const twice = fc
    .constantFrom('name', 'title', 'proof')
    .map((name) => `{"${name}":"a","${name}":"b"}`);
  const long = fc
    .constantFrom(64 * 1024 - 20, 65 * 1024, 300 * 1024, 2 * 1024 * 1024 + 1)
    .map((bytes) => `{"proof":["${'a'.repeat(bytes)}"]}`);
  const notUtf8 = text.map((whole) => Uint8Array.from([...Buffer.from(whole), 0xff, 0xc0, 0xaf]));
  return fc.oneof(
    { weight: 3, arbitrary: fc.oneof(cut, spoilt, nested, numbers, twice, notUtf8).map(asRaw) },
    {
      weight: 1,
      arbitrary: fc
        .oneof({ weight: 9, arbitrary: fc.constantFrom('', ' ', 'hello') }, long)
        .map(asRaw),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(text, otherHeaders).map(([content, headers]) => ({ headers, content })),
    },
  );
}

function asRaw(content: string | Uint8Array): Content {
  return { headers: json, content };
}

const otherHeaders = fc.constantFrom<Record<string, string>>(
  { 'content-type': 'text/plain' },
  { 'content-type': 'application/json; charset=latin1' },
  { 'content-type': 'application/json; charset=utf-8' },
  { 'content-type': 'multipart/form-data; boundary=x' },
  { 'content-type': ';;=' },
  { ...json, 'content-encoding': 'gzip' },
  { ...json, 'x-request-id': 'a b' },
  { ...json, accept: 'text/html' },
);

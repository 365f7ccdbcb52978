import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../src/protocol/limits.ts';
import {
  newEvidence,
  newWallet,
  startServiceWithRobot,
  type TestRobot,
  type TestService,
} from '../support/service.ts';
import type { Send } from '../support/wire.ts';

const json = { 'content-type': 'application/json' };
const nested = (levels: number, inner = '1') =>
  `${'['.repeat(levels)}${inner}${']'.repeat(levels)}`;

describe('bad input', () => {
  let service: TestService;
  let robot: TestRobot;
  let taskId: string;
  beforeAll(async () => {
    ({ service, robot } = await startServiceWithRobot());
    taskId = await service.claim(robot);
  });
  afterEach(async () => {
    const health = await service.call('GET', '/healthz');
    const task = await service.call('GET', `/api/v1/tasks/${taskId}`, { apiKey: robot.apiKey });
    expect(health.body).toEqual({ status: 'up' });
    expect(task.body.anchor).toBeNull();
  });
  afterAll(() => service.close());

  const claim = (sent: Send) =>
    service.call('POST', '/api/v1/tasks', { apiKey: robot.apiKey, ...sent });
  const complete = (sent: Send) =>
    service.call('POST', `/api/v1/tasks/${taskId}/complete`, { apiKey: robot.apiKey, ...sent });

  it.each<[string, string | Uint8Array]>([
    ['nothing', ''],
    ['white space', ' \n'],
    ['text', 'hello'],
    ['half an object', '{"title":'],
    ['two objects', '{"title":"a"}{"title":"b"}'],
    ['a trailing comma', '{"title":"a",}'],
    ['single quotes', "{'title':'a'}"],
    ['a comment', '{"title":"a"/**/}'],
    ['NaN', '{"title":NaN}'],
    ['a byte order mark', '\ufeff{"title":"a"}'],
    ['a bare control character', '{"title":"a\nb"}'],
    ['invalid UTF-8', Uint8Array.from([...Buffer.from('{"title":"'), 0xff, ...Buffer.from('"}')])],
    [
      'an overlong encoding',
      Uint8Array.from([...Buffer.from('{"title":"'), 0xc0, 0xaf, ...Buffer.from('"}')]),
    ],
    [
      'a surrogate in UTF-8',
      Uint8Array.from([...Buffer.from('{"title":"'), 0xed, 0xa0, 0x80, ...Buffer.from('"}')]),
    ],
    ['UTF-16', Buffer.from('{"title":"a"}', 'utf16le')],
  ])('is invalid_json when the body is %s', async (_, raw) => {
    const reply = await claim({ raw, headers: json });

    expect(reply.status).toBe(400);
    expect(reply.body.error).toBe('invalid_json');
  });

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json; charset=latin1',
    'application/json; charset=utf-16',
    'application/ld+json',
    'application/jsonx',
    'nonsense',
  ])('is unsupported_media_type when the content type is %s', async (type) => {
    const reply = await claim({ body: { title: 'Sort' }, headers: { 'content-type': type } });

    expect(reply.status).toBe(415);
    expect(reply.body.error).toBe('unsupported_media_type');
  });

  it.each(['application/json; charset=utf-8', 'Application/JSON;Charset="UTF-8"'])(
    'is treated as missing if the content type is %s',
    async (type) => {
      const reply = await claim({ body: { title: 'Sort' }, headers: { 'content-type': type } });

      expect(reply.status).toBe(201);
    },
  );

  it.each<[string, string]>([
    ['null', 'null'],
    ['an array', '[]'],
    ['a string', '"title"'],
    ['a number', '7'],
    ['no title', '{}'],
    ['a title that is a number', '{"title":7}'],
    ['a title that is an object', '{"title":{"a":1}}'],
    ['a null title', '{"title":null}'],
    ['a blank title', '{"title":"  "}'],
    ['a title of 201 characters', `{"title":"${'x'.repeat(201)}"}`],
    ['U+0000 in the title', '{"title":"a\\u0000b"}'],
    ['a lone surrogate in the title', '{"title":"\\ud800"}'],
    ['an expected result that is an array', '{"title":"a","expected_result":[]}'],
    ['a nanosecond clock', '{"title":"a","expected_result":{"t":1424869691565433684}}'],
    ['a time that is no time', '{"title":"a","occurred_at":"yesterday"}'],
    ['a day that does not exist', '{"title":"a","occurred_at":"2026-02-30"}'],
    ['an id that is no UUID', '{"title":"a","id":"7"}'],
    ['an unknown field', '{"title":"a","titel":"b"}'],
    ['a duplicate name', '{"title":"a","title":"b"}'],
    ['an escaped duplicate name', '{"title":"a","\\u0074itle":"b"}'],
    ['__proto__', '{"title":"a","__proto__":{"description":"b"}}'],
    ['an escaped __proto__', '{"title":"a","\\u005f_proto__":{}}'],
    ['__proto__ inside', '{"title":"a","expected_result":{"__proto__":{}}}'],
    ['constructor as a field', '{"title":"a","constructor":{"prototype":{}}}'],
    ['10 000 levels', nested(10_000)],
    ['10 000 levels in the title', `{"title":${nested(10_000)}}`],
    ['129 levels in the result', `{"title":"a","expected_result":{"a":${nested(128)}}}`],
  ])('is invalid_request when the body is or has %s', async (_, raw) => {
    const reply = await claim({ raw });

    expect(reply.status).toBe(400);
    expect(reply.body.error).toBe('invalid_request');
  });

  it.each<[string, string]>([
    ['no proof', '{}'],
    ['a null proof', '{"proof":null}'],
    ['a proof that is text', '{"proof":"done"}'],
    ['a proof that is a number', '{"proof":7}'],
    ['a duplicate name', '{"proof":{"a":1,"a":2}}'],
    ['two proofs', '{"proof":{"a":1},"proof":{"a":2}}'],
    ['a lone surrogate', '{"proof":{"a":"\\udc00"}}'],
    ['a lone surrogate in a name', '{"proof":{"\\ud83d":1}}'],
    ['a number beyond a double', '{"proof":{"a":1e400}}'],
    ['an integer that would change', '{"proof":{"a":9007199254740993}}'],
    ['__proto__', '{"proof":{"a":{"__proto__":1}}}'],
    ['129 levels', `{"proof":${nested(129)}}`],
    ['10 000 levels', `{"proof":${nested(10_000)}}`],
  ])('is invalid_proof when the body has %s', async (_, raw) => {
    const reply = await complete({ raw });

    expect(reply.status).toBe(400);
    expect(reply.body.error).toBe('invalid_proof');
  });

  it('says where in the proof a fault lies', async () => {
    const reply = await complete({ raw: '{"proof":{"log":[{"a/b":1e999}]}}' });

    expect(reply.body.message).toContain('"/log/0/a~1b" of proof');
  });

  it('is reported in a message of bounded length', async () => {
    const name = 'ü'.repeat(100_000);

    const fault = await complete({ raw: `{"proof":{"${name}":1e999}}` });
    const unknown = await claim({ raw: `{"title":"a","${name}":1}` });

    expect(fault.body.message.length).toBeLessThan(500);
    expect(unknown.body.message.length).toBeLessThan(500);
  });

  it.each<[string, string, string]>([
    [
      '{}',
      'title is required and must be a string (text that is not blank and has no U+0000).',
      'no title',
    ],
    [`{"title":"${'x'.repeat(201)}"}`, 'title must have at most 200 characters.', 'a long title'],
    [
      '{"title":7}',
      'title must be a string (text that is not blank and has no U+0000).',
      'a number',
    ],
    ['{"title":" "}', 'title must be text that is not blank and has no U+0000.', 'a blank title'],
    [
      '{"title":"a","occurred_at":"x"}',
      'occurred_at must be an ISO 8601 date, or date and time (UTC if it has no offset).',
      'no time',
    ],
    ['{"title":"a","x":1}', 'x is not a known field.', 'an unknown field'],
    ['{"x":1}', 'x is not a known field.', 'an unknown field beside a missing one'],
    ['{"titel":"a"}', 'titel is not a known field. Did you mean title?', 'a misspelt field'],
    [
      '{"title":"a","expectedResult":{}}',
      'expectedResult is not a known field. Did you mean expected_result?',
      'a field in another style',
    ],
    ['[]', 'The body must be a JSON object.', 'an array'],
    ['\ufeff{}', 'The text begins with a byte order mark: send it without.', 'a byte order mark'],
  ])('%s is reported as %j', async (raw, message) => {
    const reply = await claim({ raw });

    expect(reply.body.message).toBe(message);
  });

  it('states what a proof must be', async () => {
    const missing = await complete({ body: {} });
    const unwrapped = await complete({ body: { a: 1 } });
    const misspelt = await complete({ body: { prof: {} } });
    const wrong = await complete({ body: { proof: 'done' } });

    expect(misspelt.body).toEqual({
      error: 'invalid_proof',
      message: 'prof is not a known field. Did you mean proof?',
    });
    expect(missing.body.message).toBe('proof is required and must be a JSON object or array.');
    expect(unwrapped.body.message).toBe(
      'a is not a known field. Put the evidence into the member proof.',
    );
    expect(wrong.body.message).toBe('proof must be a JSON object or array.');
  });

  it('refuses a proof of more than 256 KiB, and accepts one of exactly 256 KiB', async () => {
    const text = 'x'.repeat(limits.proofBytes - '{"text":""}'.length);

    const tooLarge = await complete({ body: { proof: { text: `${text}x` } } });
    const exact = await complete({ body: { proof: { text } } });

    expect(tooLarge.status).toBe(413);
    expect(tooLarge.body.error).toBe('payload_too_large');
    expect(tooLarge.body.message).toContain('at most 262144 bytes');
    expect(exact.body.error).toBe('chain_unavailable');
  });

  it('accepts a proof of 128 levels', async () => {
    const reply = await complete({ raw: `{"proof":${nested(128)}}` });

    expect(reply.body.error).toBe('chain_unavailable');
  });

  it('refuses a body of more than 2 MiB', async () => {
    const reply = await claim({ raw: ' '.repeat(limits.bodyBytes + 1) });

    expect(reply.status).toBe(413);
    expect(reply.body.error).toBe('payload_too_large');
  });

  it('reads a body of exactly 2 MiB', async () => {
    const start = '{"title":"a"}';

    const reply = await claim({ raw: start + ' '.repeat(limits.bodyBytes - start.length) });

    expect(reply.status).toBe(201);
  });

  it.each(['challenge', 'verify', 'logout'])(
    'refuses a body of more than 64 KiB for /api/auth/%s',
    async (name) => {
      const raw = ' '.repeat(limits.smallBodyBytes + 1);

      const reply = await service.call('POST', `/api/auth/${name}`, { raw });

      expect(reply.status).toBe(413);
      expect(reply.body.error).toBe('payload_too_large');
      expect(reply.body.message).toContain('at most 65536 bytes');
    },
  );

  it('refuses a robot of more than 64 KiB', async () => {
    const { session } = await service.signIn();
    const raw = ' '.repeat(limits.smallBodyBytes + 1);

    const reply = await service.call('POST', '/api/v1/robots', { session, raw });

    expect(reply.body.error).toBe('payload_too_large');
  });

  it('accepts the longest possible signature', async () => {
    const { address } = newWallet();
    const signature = `0x${'ab'.repeat(limits.signatureBytes)}`;

    const reply = await service.call('POST', '/api/auth/verify', { body: { address, signature } });

    expect(reply.body.error).toBe('invalid_signature');
  });

  it('stops reading a document with more values than its limit allows', async () => {
    const many = '1,'.repeat(200_000);

    const proof = await complete({ raw: `{"proof":[${many}` });
    const result = await claim({ raw: `{"title":"a","expected_result":{"a":[${many}` });
    const elsewhere = await claim({ raw: `{"title":[${many}` });

    expect(proof.status).toBe(413);
    expect(proof.body.message).toContain('proof must have at most 262144 bytes');
    expect(result.status).toBe(413);
    expect(result.body.message).toContain('expected_result must have at most 65536 bytes');
    expect(elsewhere.body.error).toBe('payload_too_large');
  });

  it('refuses a body where none is accepted, except an empty object', async () => {
    const some = await service.call('POST', '/api/auth/logout', { body: { all: true } });
    const array = await service.call('POST', '/api/auth/logout', { body: [] });
    const empty = await service.call('POST', '/api/auth/logout', { body: {} });
    const none = await service.call('POST', '/api/auth/logout', { headers: json });

    expect(some.body.error).toBe('invalid_request');
    expect(array.body.error).toBe('invalid_request');
    expect(empty.status).toBe(200);
    expect(none.status).toBe(200);
  });

  it.each([`/api/v1/verify/0x${'a'.repeat(64)}?task_id=x`])(
    'refuses an unknown or wrong parameter: %s',
    async (path) => {
      const reply = await service.call('GET', path);

      expect(reply.status).toBe(400);
      expect(reply.body.error).toBe('invalid_request');
    },
  );

  it.each(['/%e0%a4', '/api/v1/verify/%zz/more'])(
    'answers the invalid path %s with the standard error body',
    async (path) => {
      const reply = await service.call('GET', path);

      expect(reply.status).toBe(400);
      expect(reply.body.error).toBe('invalid_request');
    },
  );

  it('answers a proof hash with invalid UTF-8 like any malformed one', async () => {
    const reply = await service.call('GET', '/api/v1/verify/%ff');

    expect(reply.status).toBe(400);
    expect(reply.body.error).toBe('invalid_proof_hash');
  });

  it.each(['gzip', 'br', 'identity, gzip'])('refuses a body in %s', async (encoding) => {
    const headers = { 'content-encoding': encoding };

    const reply = await claim({ body: { title: 'Sort' }, headers });

    expect(reply.status).toBe(415);
    expect(reply.body.error).toBe('unsupported_media_type');
  });

  it('accepts a body in identity', async () => {
    const headers = { 'content-encoding': 'identity' };

    const reply = await claim({ body: { title: 'Sort' }, headers });

    expect(reply.status).toBe(201);
  });

  it('does not suggest a string for a chain id', async () => {
    const raw = `{"address":"${newWallet().address}","chainId":1e400}`;

    const reply = await service.call('POST', '/api/auth/challenge', { raw });

    expect(reply.body.error).toBe('invalid_chain_id');
    expect(reply.body.message).toBe(
      'The number is beyond the range of an IEEE 754 double, in chainId.',
    );
  });

  it('stores nothing of a refused completion', async () => {
    const evidence = newEvidence();

    await complete({ body: { proof: evidence, note: 'unknown' } });

    const task = await service.call('GET', `/api/v1/tasks/${taskId}`, { apiKey: robot.apiKey });
    expect(task.body).toMatchObject({ task: { status: 'claimed' }, anchor: null });
  });
});

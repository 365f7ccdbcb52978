import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../../src/proof/canonical-json.ts';
import { hashProof } from '../../src/proof/hash.ts';
import { isProof, type JsonValue } from '../../src/proof/json-value.ts';
import { mostValuesIn, parseStrictJson, readStrictJson } from '../../src/proof/strict-json.ts';
import { decodeUtf8 } from '../../src/proof/utf8.ts';
import { hasNoProto } from './prototype-guard.ts';
import { refusalOf } from './refusal.ts';

const json = fc.jsonValue({ maxDepth: 6, stringUnit: 'grapheme' }).filter(hasNoProto);

function nested(levels: number, inner = ''): string {
  return '['.repeat(levels) + inner + ']'.repeat(levels);
}

describe('parseStrictJson', () => {
  it('reads what JSON.parse reads, in compact and in spread form', () => {
    fc.assert(
      fc.property(json, fc.constantFrom(0, 2, '\t', '\r\n'), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        // An integer that JSON.stringify shortens is its own canonical text, so nothing is refused.
        expect(parseStrictJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('reads what JSON.parse reads of objects that share names, in any order', () => {
    const name = fc.constantFrom('', 'a', 'ab', 'abc', 'speed_m_s', 'ä', '10', 'a"', '\u20ac');
    const members = fc.uniqueArray(fc.tuple(name, fc.nat(9)), { selector: ([text]) => text });
    fc.assert(
      fc.property(fc.array(members, { maxLength: 20 }), (objects) => {
        const text = JSON.stringify(objects.map((object) => Object.fromEntries(object)));
        expect(parseStrictJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('reads the double that is nearest to a decimal, as the engine does', () => {
    const digits = (least: number) =>
      fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: least, maxLength: 17 });
    const whole = fc.oneof(fc.constant('0'), fc.bigInt({ min: 1n, max: 10n ** 17n }).map(String));
    const sign = fc.constantFrom('', '-');
    fc.assert(
      fc.property(sign, whole, digits(1), (minus, before, after) => {
        const text = `${minus}${before}.${after}1`;
        expect(parseStrictJson(text)).toBe(Number(text));
      }),
      { numRuns: 2_000 },
    );
  });

  it('agrees with JSON.parse on which texts are JSON', () => {
    const token = fc.constantFrom(
      ...['{', '}', '[', ']', ',', ':', ' ', '\n', '"', '"a"', '"b\\n"', '\\', '\\u00e9', '\t'],
      ...['0', '1', '-', '.', 'e', '+', '12', '0.5', 'true', 'false', 'null', 'nul', '\ufeff', 'é'],
    );
    fc.assert(
      fc.property(fc.array(token, { maxLength: 12 }), (tokens) => {
        const text = tokens.join('');
        expect(isSyntaxError(text)).toBe(!isJson(text));
      }),
      { numRuns: 5000 },
    );
  });

  it.each([
    ['', 'expected a value at line 1, column 1'],
    ['{"a":1,}', 'expected a member name in double quotes at line 1, column 8'],
    ['[1,]', 'expected a value at line 1, column 4'],
    ['[1 2]', 'expected "," or "]" at line 1, column 4'],
    ['{"a" 1}', 'expected ":" at line 1, column 6'],
    ['{"a":1 "b":2}', 'expected "," or "}" at line 1, column 8'],
    ['{"a":1]', 'expected "," or "}" at line 1, column 7'],
    ['[1]\n x', 'expected the end of the text at line 2, column 2'],
    ['["a', 'unterminated string at line 1, column 4'],
    ['["a\\"', 'unterminated string at line 1, column 6'],
    ['["a\nb"]', 'bare control character in a string at line 1, column 4'],
    ['["\\x41"]', 'invalid escape in the string at line 1, column 2'],
    ['["\\u12g4"]', 'invalid escape in the string at line 1, column 2'],
    ['[01]', 'expected "," or "]" at line 1, column 3'],
    ['[1.]', 'expected a digit at line 1, column 4'],
    ['[-]', 'expected a digit at line 1, column 3'],
    ['[1e+]', 'expected a digit at line 1, column 5'],
    ['[.5]', 'expected a value at line 1, column 2'],
    ['[NaN]', 'expected a value at line 1, column 2'],
  ])('names the place where %j is not JSON', (text, reason) => {
    const refusal = refusalOf(() => parseStrictJson(text));

    expect(refusal).toMatchObject({ kind: 'syntax', pointer: '', reason: `Not JSON: ${reason}` });
  });

  it('names a byte order mark at the beginning', () => {
    const { kind, reason } = refusalOf(() => parseStrictJson('\ufeff{}'));

    expect([kind, reason]).toEqual(['syntax', expect.stringContaining('byte order mark')]);
  });

  it('reports a text that is not JSON as such, even after another error', () => {
    expect(refusalOf(() => parseStrictJson('{"a":1,"a":2,}')).kind).toBe('syntax');
  });

  it('reports the first of two errors', () => {
    expect(refusalOf(() => parseStrictJson('[1e400,{"a":1,"a":2}]')).pointer).toBe('/0');
  });

  it('repeats nothing of the text in its reason', () => {
    const refusal = refusalOf(() => parseStrictJson('{"a":9007199254740993}'));

    expect(refusal.reason).toBe(
      'The integer would change as an IEEE 754 double: send it as a string',
    );
    expect(refusal.message).toBe(`${refusal.reason}, at "/a"`);
  });
});

describe('names', () => {
  it.each([
    ['{"a":1,"a":1}', '/a'],
    ['{"a":1,"\\u0061":1}', '/a'],
    ['{"x":[0,{"":1,"":2}]}', '/x/1/'],
    ['{"0":1,"0":2}', '/0'],
    ['{"toString":1,"toString":2}', '/toString'],
    ['{"é":1,"\\u00e9":2}', '/é'],
  ])('refuses a duplicate in %s', (text, pointer) => {
    const reason = 'The member name is used twice';
    expect(refusalOf(() => parseStrictJson(text))).toMatchObject({
      kind: 'fault',
      pointer,
      reason,
    });
  });

  it('accepts one name in different objects', () => {
    expect(parseStrictJson('[{"a":1},{"a":{"a":2}}]')).toEqual([{ a: 1 }, { a: { a: 2 } }]);
  });

  it('accepts names that only look alike', () => {
    const value = parseStrictJson('{"é":1,"e\u0301":2}');

    expect(Object.keys(value as object)).toHaveLength(2);
  });

  it.each(['{"__proto__":1}', '{"\\u005f_proto__":{}}'])('refuses %s', (text) => {
    expect(refusalOf(() => parseStrictJson(text))).toMatchObject({
      kind: 'fault',
      pointer: '/__proto__',
      reason: 'A member must not be named __proto__',
    });
  });

  it('keeps the names that every object inherits as ordinary members', () => {
    const names = Object.getOwnPropertyNames(Object.prototype).filter((n) => n !== '__proto__');
    const text = JSON.stringify(Object.fromEntries(names.map((name) => [name, 1])));

    const value = parseStrictJson(text) as object;

    expect(Object.keys(value).sort()).toEqual(names.sort());
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });
});

describe('surrogates', () => {
  it.each([
    ['["\\ud800"]', '/0'],
    ['["\\uDFFF"]', '/0'],
    ['["\ud800"]', '/0'],
    ['{"a":"\\ud800\\ud800\\udc00"}', '/a'],
    ['["\\udc00\\ud800"]', '/0'],
    ['{"a":{"\\ud800":1}}', '/a'],
    ['{"\udc00":1}', ''],
  ])('refuses a lone surrogate in %j', (text, pointer) => {
    expect(refusalOf(() => parseStrictJson(text))).toMatchObject({
      kind: 'fault',
      pointer,
      reason: expect.stringContaining('a lone surrogate'),
    });
  });

  it.each(['["😀"]', '["\\ud83d\\ude00"]', '["\ud83d\\ude00"]', '["\\ud83d\ude00"]'])(
    'accepts a pair in %j',
    (text) => {
      expect(parseStrictJson(text)).toEqual(['😀']);
    },
  );
});

describe('numbers', () => {
  it.each([
    '9007199254740993',
    '-9007199254740993',
    '9007199254740993.0',
    '90071992547409930e-1',
    '900719925474099.3E+1',
    `0.${'0'.repeat(20)}9007199254740993e36`,
    '1424869691565433684',
    '295147905179352825856',
    '100000000000000000001',
    '123456789012345678901e3',
    `1${'0'.repeat(307)}1`,
  ])('refuses %s, an integer that would change', (literal) => {
    expect(refusalOf(() => parseStrictJson(`{"n":[${literal}]}`))).toMatchObject({
      kind: 'fault',
      pointer: '/n/0',
      reason: expect.stringContaining('send it as a string'),
    });
  });

  it.each(['1e400', '-1E400', '1e999999999', '9'.repeat(400), `1e${'9'.repeat(400)}`])(
    'refuses %s, which exceeds every double',
    (literal) => {
      expect(refusalOf(() => parseStrictJson(`[${literal}]`))).toMatchObject({
        kind: 'fault',
        pointer: '/0',
        reason: expect.stringContaining('beyond the range'),
      });
    },
  );

  it.each(['1e-400', '-0.5E-400', '1e-999999999', `0.${'0'.repeat(400)}1`])(
    'refuses %s, which would become 0',
    (literal) => {
      expect(refusalOf(() => parseStrictJson(`{"n":[${literal}]}`))).toMatchObject({
        kind: 'fault',
        pointer: '/n/0',
        reason: expect.stringContaining('would become 0'),
      });
    },
  );

  it('reports numbers that become 0, for evidence that was anchored with them', () => {
    const pointers: string[] = [];
    const read = parseStrictJson('{"a":1e-400,"b":0.0,"c":[-1e-999]}', {
      onUnderflow: (pointer) => pointers.push(pointer),
    });

    expect(canonicalJson(read)).toBe('{"a":0,"b":0,"c":[0]}');
    expect(pointers).toEqual(['/a', '/c/0']);
  });

  it.each([
    ['0', '0'],
    ['-0', '0'],
    ['-0.0e5', '0'],
    ['0e999999999', '0'],
    ['1.0', '1'],
    ['10e-1', '1'],
    ['0.1', '0.1'],
    ['9007199254740991', '9007199254740991'],
    ['9007199254740992', '9007199254740992'],
    ['9007199254740994', '9007199254740994'],
    ['90071992547409920e-1', '9007199254740992'],
    ['1e20', '100000000000000000000'],
    ['100000000000000000000', '100000000000000000000'],
    ['1e21', '1e+21'],
    ['295147905179352830000', '295147905179352830000'],
    ['1.7976931348623157e308', '1.7976931348623157e+308'],
    ['9007199254740992.5', '9007199254740992'],
    ['3.14159265358979323846', '3.141592653589793'],
    ['0e-400', '0'],
    ['5e-324', '5e-324'],
    ['4.50', '4.5'],
    ['1.23456789012345678901e-3', '0.0012345678901234567'],
    ['0.123456789012345678900', '0.12345678901234568'],
  ])('accepts %s, canonically %s', (literal, canonical) => {
    expect(canonicalJson(parseStrictJson(literal))).toBe(canonical);
  });

  it('accepts an integer exactly when its canonical text denotes the same one', () => {
    const integers = fc.oneof(
      fc.bigInt({ min: -(2n ** 54n), max: 2n ** 54n }),
      fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
      fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }).map((n) => BigInt(integerText(Number(n)))),
    );
    fc.assert(
      fc.property(integers, fc.nat(9), (integer, zeros) => {
        const canonical = BigInt(integerText(Number(integer)));
        const literals = [`${integer}`, `${integer}.${'0'.repeat(zeros)}0`];
        literals.push(`${integer}${'0'.repeat(zeros)}e-${zeros}`);
        for (const literal of literals) expect(isFault(literal)).toBe(canonical !== integer);
      }),
    );
  });

  it('judges an integer with an exponent by the same rule', () => {
    const digits = fc.oneof(
      fc.bigInt({ min: 1n, max: 10n ** 15n - 1n }),
      fc.bigInt({ min: 1n, max: 10n ** 20n }),
    );
    fc.assert(
      fc.property(digits, fc.nat(280), (mantissa, exponent) => {
        const literal = `${mantissa}e${exponent}`;
        const integer = mantissa * 10n ** BigInt(exponent);
        expect(isFault(literal)).toBe(BigInt(integerText(Number(literal))) !== integer);
      }),
    );
  });

  it('accepts every finite double in its canonical text', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(parseStrictJson(canonicalJson(value))).toBe(value === 0 ? 0 : value);
      }),
    );
  });
});

describe('reading in steps', () => {
  it('pauses at least once in 2000 values, each time further on', () => {
    const text = JSON.stringify(Array(10_000).fill(0));

    const pauses = [...readStrictJson(text)];

    expect(pauses.length).toBeGreaterThanOrEqual(5);
    expect(pauses).toEqual([...new Set(pauses)].sort((a, b) => a - b));
    expect(pauses.at(-1)).toBeLessThan(text.length);
  });
});

describe('a bound of values', () => {
  it('accepts a text with that many, containers included', () => {
    expect(parseStrictJson('[1,{"a":[]}]', { maxValues: 4 })).toEqual([1, { a: [] }]);
  });

  it.each(['[1,{"a":[1]}]', '[1,{"a":[tru', '[1,{"a":[[[[['])('ends the reading of %s', (text) => {
    expect(refusalOf(() => parseStrictJson(text, { maxValues: 4 }))).toMatchObject({
      kind: 'size',
      pointer: '/1/a/0',
      reason: 'The document holds more than 4 values',
    });
  });

  it('reports an earlier error first', () => {
    expect(refusalOf(() => parseStrictJson('[1e400,[[[1', { maxValues: 4 }))).toMatchObject({
      kind: 'fault',
      pointer: '/0',
    });
  });

  it('refuses no document within its limit of canonical bytes', () => {
    fc.assert(
      fc.property(json, (value) => {
        const text = canonicalJson(value);
        const maxValues = mostValuesIn(Buffer.byteLength(text));
        expect(canonicalJson(parseStrictJson(text, { maxValues }))).toBe(text);
      }),
    );
  });

  it('is reached by a document of many small values', () => {
    const text = `[${Array.from({ length: 10 }, () => '1').join(',')}]`;
    const maxValues = mostValuesIn(text.length);

    expect(maxValues).toBe(11);
    expect(parseStrictJson(text, { maxValues })).toHaveLength(10);
  });
});

describe('nesting', () => {
  it('accepts 128 levels and refuses the 129th, with its path', () => {
    expect(canonicalJson(parseStrictJson(nested(128, '1')))).toBe(nested(128, '1'));
    expect(refusalOf(() => parseStrictJson(nested(129)))).toMatchObject({
      kind: 'fault',
      pointer: '/0'.repeat(128),
    });
  });

  it('counts objects as well, and accepts the limit as an option', () => {
    const text = '{"a":[{"b":[]}]}';

    expect(parseStrictJson(text, { maxDepth: 4 })).toEqual({ a: [{ b: [] }] });
    expect(refusalOf(() => parseStrictJson(text, { maxDepth: 3 })).pointer).toBe('/a/0/b');
    expect(refusalOf(() => parseStrictJson('[]', { maxDepth: 0 })).pointer).toBe('');
  });

  it('counts siblings as one level', () => {
    expect(parseStrictJson('[[],[],[[]]]', { maxDepth: 3 })).toEqual([[], [], [[]]]);
  });
});

describe('the invariant of anchoring', () => {
  it('accepts the canonical text of every accepted value, and hashes it the same', () => {
    fc.assert(
      fc.property(json, (value) => {
        const proof = parseStrictJson(JSON.stringify([value], null, 1));
        const again = parseStrictJson(canonicalJson(proof));

        expect(canonicalJson(again)).toBe(canonicalJson(proof));
        expect(hashOf(again)).toBe(hashOf(proof));
      }),
    );
  });

  it('gives one hash whatever the order of members', () => {
    expect(hashOf(parseStrictJson('{"a":1,"b":[2,{"c":3,"d":4}]}'))).toBe(
      hashOf(parseStrictJson('{ "b": [2, {"d": 4, "c": 3}], "a": 1.0 }')),
    );
  });

  it('accepts an object or array as a proof, but not a scalar', () => {
    expect(
      ['{}', '[]', '1', '"a"', 'null', 'true'].map((t) => isProof(parseStrictJson(t))),
    ).toEqual([true, true, false, false, false, false]);
  });
});

describe('decodeUtf8', () => {
  it('returns the text of UTF-8 bytes', () => {
    expect(decodeUtf8(Uint8Array.of(0x22, 0xf0, 0x9f, 0x98, 0x80, 0x22))).toBe('"😀"');
  });

  it('leaves a byte order mark to the parser, which refuses it', () => {
    const text = decodeUtf8(Uint8Array.of(0xef, 0xbb, 0xbf, 0x7b, 0x7d));

    expect(refusalOf(() => parseStrictJson(text)).kind).toBe('syntax');
  });

  it.each([
    ['a stray continuation byte', [0x22, 0x80, 0x22]],
    ['an overlong form', [0xc0, 0xaf]],
    ['an encoded surrogate', [0xed, 0xa0, 0x80]],
    ['a truncated sequence', [0xe2, 0x82]],
    ['a code point beyond U+10FFFF', [0xf4, 0x90, 0x80, 0x80]],
  ])('refuses %s', (_, bytes) => {
    expect(refusalOf(() => decodeUtf8(Uint8Array.from(bytes)))).toMatchObject({
      kind: 'syntax',
      reason: 'The text is not valid UTF-8',
    });
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function isSyntaxError(text: string): boolean {
  return refusalKind(text) === 'syntax';
}

function isFault(text: string): boolean {
  return refusalKind(text) === 'fault';
}

function refusalKind(text: string): string | null {
  try {
    parseStrictJson(text);
    return null;
  } catch (error) {
    if (error instanceof Error && 'kind' in error) return String(error.kind);
    throw error;
  }
}

function hashOf(value: JsonValue): string {
  if (!isProof(value)) throw new Error('not a proof');
  return hashProof(value);
}

/** The integer that the RFC 8785 text of `value` denotes, without its exponent. */
function integerText(value: number): string {
  const [mantissa = '', power = '0'] = String(value).split('e+');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return power === '0' ? mantissa : whole + fraction + '0'.repeat(Number(power) - fraction.length);
}

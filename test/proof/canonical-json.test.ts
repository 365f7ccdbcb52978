import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, canonicalPieces } from '../../src/proof/canonical-json.ts';
import { parseStrictJson } from '../../src/proof/strict-json.ts';
import { hasNoProto } from './prototype-guard.ts';

describe('the examples of RFC 8785', () => {
  it('turns the text of section 3.2.2 into the bytes of section 3.2.4', () => {
    const text = String.raw`{
      "numbers": [333333333.33333329, 1E30, 4.50,
                  2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }`;

    const canonical = canonicalJson(parseStrictJson(text));

    expect(new TextEncoder().encode(canonical)).toEqual(
      bytes(`7b 22 6c 69 74 65 72 61 6c 73 22 3a 5b 6e 75 6c 6c 2c 74 72
             75 65 2c 66 61 6c 73 65 5d 2c 22 6e 75 6d 62 65 72 73 22 3a
             5b 33 33 33 33 33 33 33 33 33 2e 33 33 33 33 33 33 33 2c 31
             65 2b 33 30 2c 34 2e 35 2c 30 2e 30 30 32 2c 31 65 2d 32 37
             5d 2c 22 73 74 72 69 6e 67 22 3a 22 e2 82 ac 24 5c 75 30 30
             30 66 5c 6e 41 27 42 5c 22 5c 5c 5c 5c 5c 22 2f 22 7d`),
    );
  });

  it('sorts the names of section 3.2.3 by UTF-16 code units', () => {
    const text = String.raw`{
      "\u20ac": "Euro Sign",
      "\r": "Carriage Return",
      "\ufb33": "Hebrew Letter Dalet With Dagesh",
      "1": "One",
      "\ud83d\ude00": "Emoji: Grinning Face",
      "\u0080": "Control",
      "\u00f6": "Latin Small Letter O With Diaeresis"
    }`;

    const values = [...canonicalJson(parseStrictJson(text)).matchAll(/:"([^"]*)"/g)];

    expect(values.map(([, value]) => value)).toEqual([
      'Carriage Return',
      'One',
      'Control',
      'Latin Small Letter O With Diaeresis',
      'Euro Sign',
      'Emoji: Grinning Face',
      'Hebrew Letter Dalet With Dagesh',
    ]);
  });

  it.each([
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['ffefffffffffffff', '-1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['c340000000000000', '-9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'],
    ['444b1ae4d6e2ef4e', '999999999999999700000'],
    ['444b1ae4d6e2ef4f', '999999999999999900000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
    ['41b3de4355555554', '333333333.33333325'],
    ['41b3de4355555555', '333333333.3333333'],
    ['41b3de4355555556', '333333333.3333334'],
    ['41b3de4355555557', '333333333.33333343'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
  ])('writes the double %s of appendix B as %s, and reads it back', (bits, text) => {
    const value = new DataView(bytes(bits).buffer).getFloat64(0);

    expect(canonicalJson(value)).toBe(text);
    expect(canonicalJson(parseStrictJson(text))).toBe(text);
  });

  it.each(['7fffffffffffffff', '7ff0000000000000'])(
    'refuses the double %s of appendix B',
    (bits) => {
      const value = new DataView(bytes(bits).buffer).getFloat64(0);

      expect(() => canonicalJson([value])).toThrow(TypeError);
    },
  );
});

describe('canonicalJson', () => {
  it('writes any JSON value as another implementation does', () => {
    const anything = fc
      .jsonValue({ depthSize: 'large', stringUnit: 'grapheme' })
      .filter(hasNoProto);
    fc.assert(
      fc.property(anything, (value) => {
        expect(canonicalJson(value)).toBe(canonicalize(value));
      }),
    );
  });

  it.each([
    ['undefined', undefined, 'a value of type undefined'],
    ['an undefined member', { a: undefined }, 'a value of type undefined'],
    ['an undefined item', [undefined], 'a value of type undefined'],
    ['a hole', new Array(1), 'a value of type undefined'],
    ['a function', { a: () => 1 }, 'a value of type function'],
    ['a symbol', [Symbol('a')], 'a value of type symbol'],
    ['a bigint', [1n], 'a value of type bigint'],
    ['infinity', [Number.POSITIVE_INFINITY], 'a number that is not finite'],
    ['a date', [new Date(0)], 'an object that is not plain'],
    ['a map', { a: new Map() }, 'an object that is not plain'],
    ['bytes', Uint8Array.of(1), 'an object that is not plain'],
    ['a lone surrogate', ['\ud800'], 'a lone surrogate'],
    ['a lone surrogate in a name', { '\udc00': 1 }, 'a lone surrogate'],
    ['a member named __proto__', JSON.parse('{"__proto__":1}'), 'a member named __proto__'],
    ['a cycle', cycle(), 'deeper than 1000 levels'],
  ])('refuses %s instead of dropping or changing it', (_, value, reason) => {
    expect(() => canonicalJson(value)).toThrow(new TypeError(`Not JSON: ${reason}`));
  });

  it.each([0, 1, 31, 32, 33, 1000])('escapes and checks a string after %i characters', (count) => {
    const text = 'é'.repeat(count);

    for (const escaped of ['"', '\\', '\n', '\u001f']) {
      expect(canonicalJson(text + escaped)).toBe(JSON.stringify(text + escaped));
    }
    expect(canonicalJson(`${text}😀`)).toBe(`"${text}😀"`);
    expect(() => canonicalJson(`${text}\ud800`)).toThrow('a lone surrogate');
  });

  it('refuses a buffer without reading each of its bytes', () => {
    const ownKeys = () => {
      throw new Error('The bytes were listed');
    };

    expect(() => canonicalJson(new Proxy(Uint8Array.of(1), { ownKeys }))).toThrow('not plain');
  });

  it('writes 1000 levels and refuses more, without a stack overflow', () => {
    const levels = (count: number) => JSON.parse('['.repeat(count) + ']'.repeat(count));

    expect(canonicalJson(levels(1000))).toHaveLength(2000);
    expect(() => canonicalJson(levels(1001))).toThrow('deeper than 1000 levels');
    expect(() => canonicalJson(levels(100_000))).toThrow('deeper than 1000 levels');
  });

  it('treats an object without a prototype as a plain one', () => {
    expect(canonicalJson(Object.assign(Object.create(null), { b: 1, a: null }))).toBe(
      '{"a":null,"b":1}',
    );
  });
});

describe('canonicalPieces', () => {
  const nested = JSON.parse('['.repeat(500) + ']'.repeat(500));

  it.each([
    ['numbers', Array(20_000).fill(7)],
    ['empty lists', Array.from({ length: 20_000 }, () => [])],
    ['deep lists', Array(50).fill(nested)],
    ['members', Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`n${i}`, i]))],
  ])('are short, and together the canonical text: %s', (_, value) => {
    const pieces = [...canonicalPieces(value)];

    expect(pieces.join('')).toBe(canonicalize(value));
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(16 * 1024);
  });

  it('are created on demand', () => {
    const [first] = canonicalPieces([...Array(100_000).fill(7), undefined]);

    expect(first).toMatch(/^\[7,7,/);
  });
});

function bytes(hex: string): Uint8Array {
  const digits = hex.replaceAll(/\s/g, '');
  return Uint8Array.from({ length: digits.length / 2 }, (_, i) =>
    Number.parseInt(digits.slice(2 * i, 2 * i + 2), 16),
  );
}

function cycle(): unknown {
  const value: unknown[] = [];
  value.push(value);
  return value;
}

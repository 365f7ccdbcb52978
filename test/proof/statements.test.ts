import { afterEach, describe, expect, it, vi } from 'vitest';
import { DocumentError } from '../../src/proof/document-error.ts';
import type { JsonObject } from '../../src/proof/json-value.ts';
import { freeLeafHash, leafHash } from '../../src/proof/leaf.ts';
import { hashText } from '../../src/proof/statements/jws.ts';
import {
  grantText,
  kidOf,
  readGrantText,
  readRevocationText,
  revocationText,
} from '../../src/proof/statements/key-text.ts';
import { readPromise } from '../../src/proof/statements/promise.ts';
import {
  algorithmOf,
  openKey,
  readPublicKey,
  thumbprintOf,
} from '../../src/proof/statements/public-key.ts';
import { Sequence } from '../../src/proof/statements/sequence.ts';
import { contentHash, readStatement } from '../../src/proof/statements/statement.ts';
import vectors from '../fixtures/statements.json' with { type: 'json' };
import { vectors as made } from '../support/statement-vectors.ts';

const keyNamed = (name: string) => {
  const found = vectors.keys.good.find((each) => each.name === name);
  return readPublicKey(found?.key as JsonObject);
};
const check = async (
  name: string,
  { signed, signature }: { signed: string; signature: Uint8Array },
) => {
  const isSigned = await openKey(keyNamed(name));
  return isSigned(signed, signature);
};

afterEach(() => vi.restoreAllMocks());

it('has the vectors that the generator makes', () => {
  expect(vectors).toEqual(JSON.parse(JSON.stringify(made)));
});

describe('a key', () => {
  it.each(vectors.keys.good)(
    'has a thumbprint and an algorithm: $name',
    ({ key, alg, thumbprint }) => {
      const read = readPublicKey(key);

      expect(read).toEqual(key);
      expect([algorithmOf(read), thumbprintOf(read)]).toEqual([alg, thumbprint]);
    },
  );

  it.each(vectors.keys.malformed)('is refused: $name', ({ key }) => {
    expect(() => readPublicKey(key as unknown as JsonObject)).toThrow(DocumentError);
  });
});

describe('a key text', () => {
  it.each(vectors.key_texts.good)('has one reading: $name', ({ text, kid }) => {
    const again =
      kid === undefined ? revocationText(readRevocationText(text)) : grantText(readGrantText(text));

    expect(again).toBe(text);
    if (kid !== undefined) expect(kidOf(text)).toBe(kid);
  });

  it.each(vectors.key_texts.malformed)('is refused: $name', ({ text }) => {
    expect(() => readGrantText(text)).toThrow(DocumentError);
    expect(() => readRevocationText(text)).toThrow(DocumentError);
  });
});

describe('a statement', () => {
  it.each(vectors.content)('states the hash $hash of the content', ({ content, hash }) => {
    expect(contentHash(content as unknown as Parameters<typeof contentHash>[0])).toBe(hash);
  });

  it.each(vectors.statements.good)(
    'is read and checked: $name',
    async ({ key, text, statement }) => {
      const read = readStatement(text);

      expect(read.statement).toEqual(statement);
      expect(read.statementHash).toBe(hashText(text));
      expect(await check(key, read)).toBe(true);
    },
  );

  it.each(vectors.statements.malformed)('is refused with $name', ({ text }) => {
    expect(() => readStatement(text)).toThrow(DocumentError);
  });

  it.each(vectors.statements.forged)('has a wrong signature: $name', async ({ key, text }) => {
    expect(await check(key, readStatement(text))).toBe(false);
  });
});

describe('in a browser that lacks Ed25519', () => {
  const isEdwards = ({ key }: { key: string }) => key === 'robot';
  const withoutPlatform = () =>
    vi
      .spyOn(crypto.subtle, 'importKey')
      .mockRejectedValue(new DOMException('', 'NotSupportedError'));

  it.each(vectors.statements.good.filter(isEdwards))(
    'a statement is checked: $name',
    async ({ key, text }) => {
      withoutPlatform();
      expect(await check(key, readStatement(text))).toBe(true);
    },
  );

  it.each(vectors.statements.forged.filter(isEdwards))(
    'a wrong signature is refused: $name',
    async ({ key, text }) => {
      withoutPlatform();
      expect(await check(key, readStatement(text))).toBe(false);
    },
  );
});

describe('the statements of a key', () => {
  type Item = { number: number; signed_hash: string; prev?: string | null; epoch?: string };
  const reportOf = (first: number, items: Item[]) => {
    const sequence = new Sequence(first);
    for (const { number, signed_hash, prev = null, epoch } of items) {
      const statement = epoch === undefined ? null : { prev: prev as `0x${string}` | null, epoch };
      sequence.add({ number, signedHash: signed_hash as `0x${string}`, statement });
    }
    return sequence.report();
  };

  it.each(vectors.sequences.good)('are complete: $name', ({ first, items }) => {
    const last = items.at(-1)?.number;
    const withheld = items.filter((item) => !('epoch' in item)).length;

    expect(reportOf(first, items)).toEqual({
      range: last === undefined ? null : { first, last },
      isSound: true,
      missing: [],
      forks: [],
      branches: [],
      broken: [],
      withheld,
    });
  });

  it.each(vectors.sequences.bad)('are not: $name', ({ name: _, first, items, ...faults }) => {
    expect(reportOf(first, items as Item[])).toMatchObject({ isSound: false, ...faults });
  });

  it('are refused in another order', () => {
    const [second, first] = [2, 1].map((number) => ({
      number,
      signed_hash: hashText(`${number}`),
    }));

    expect(() => reportOf(1, [second, first] as Item[])).toThrow('order of their numbers');
  });

  it('keep memory and report small, whatever a robot signs', () => {
    const items = Array.from({ length: 1000 }, (_, n) => ({
      number: 1,
      signed_hash: hashText(`${n}`),
      prev: null,
      epoch: 'one',
    }));

    expect(reportOf(1, items).forks).toHaveLength(20);
  });
});

describe('a promise', () => {
  it.each(vectors.promises.good)('is read and checked: $name', async ({ key, text, promise }) => {
    const read = readPromise(text);

    expect(read.promise).toEqual(promise);
    expect(await check(key, read)).toBe(true);
  });

  it.each(vectors.promises.malformed)('is refused with $name', ({ text }) => {
    expect(() => readPromise(text)).toThrow(DocumentError);
  });

  it.each(vectors.promises.forged)('has a wrong signature: $name', async ({ key, text }) => {
    expect(await check(key, readPromise(text))).toBe(false);
  });
});

describe('a leaf', () => {
  it.each(vectors.leaves.proofs)('commits to the statement: $leaf', ({ leaf, ...content }) => {
    expect(leafHash(content)).toBe(leaf);
    expect(leafHash({ ...content, statement_hash: null })).not.toBe(leaf);
  });

  it.each(vectors.leaves.free)('without a proof commits to a $kind', ({ kind, text, leaf }) => {
    expect(freeLeafHash(kind as 'claim' | 'key_text', hashText(text))).toBe(leaf);
  });
});

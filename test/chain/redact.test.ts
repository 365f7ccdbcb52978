import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { redactor } from '../../src/chain/errors.ts';

const SECRET = 'c0ffee0123456789project';
const PASSWORD = 'pass word';
const URL_TEXT = `https://user:pass%20word@node.example:8545/v3/${SECRET}`;
const redact = redactor(URL_TEXT);

describe('redactor', () => {
  it.each([
    ['letters', 'a'],
    ['a scheme’s characters', 'a+.-'],
    ['data', '0x0'],
    ['blanks', ' '],
  ])('processes a text of a million %s without blocking the event loop', (_what, part) => {
    const text = part.repeat(1e6 / part.length);
    const replace = vi.spyOn(String.prototype, 'replaceAll');
    onTestFinished(() => replace.mockRestore());

    const clean = redact(text);

    const lengths = replace.mock.contexts.map((text) => String(text).length);
    expect(lengths).not.toEqual([]);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(2_000);
    expect(clean.length).toBeLessThanOrEqual(200);
  });

  it('keeps the message of a node that precedes a foreign text', () => {
    const clean = redact(`execution reverted: ${'a'.repeat(60_000)}`);

    expect(clean).toMatch(/^execution reverted: a+$/);
  });

  it.each([
    ['a URL', `no answer from ${URL_TEXT} today`, 'no answer from [redacted] today'],
    ['a foreign URL', 'see https://docs.example/limits?key=1 please', 'see [url] please'],
    ['a long scheme', `${'x'.repeat(40)}://host/key`, `${'x'.repeat(24)}[url]`],
    ['data', `bad 0x${'ab'.repeat(40)}!`, 'bad [data]!'],
    ['the project key', `project ${SECRET} is over`, 'project [redacted] is over'],
  ])('redacts %s', (_what, text, clean) => {
    expect(redact(text)).toBe(clean);
  });

  it('redacts a secret that the length limit cuts, wherever the cut is', () => {
    const secret = fc.constantFrom(URL_TEXT, SECRET, PASSWORD, `0x${'5ec7e7'.repeat(40)}`);
    fc.assert(
      fc.property(secret, fc.integer({ min: 1, max: 300 }), (hidden, before) => {
        // What is struck out in front brings the place of the cut into what is kept.
        const front = `https://${'a'.repeat(2_000 - before - 9)} `;

        const clean = redact(`${front}${hidden.repeat(20)}`);

        for (const part of ['c0ffe', 'pass', 'node.ex', '5ec7e7', 'user']) {
          expect(clean).not.toContain(part);
        }
      }),
    );
  });
});

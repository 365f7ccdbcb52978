import { pino } from 'pino';
import { expect, it } from 'vitest';
import { asText, withSeverity } from '../../src/base/logger.ts';

it('prefixes each line with the severity for journald, and leaves the JSON unchanged', () => {
  const lines: string[] = [];
  const options = { level: 'trace', formatters: { level: (name: string) => ({ level: name }) } };
  const logger = pino(options, withSeverity({ write: (line) => lines.push(line) }));

  for (const level of ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const) {
    logger[level]({ text: '"level":"fatal"' }, level);
  }

  expect(lines.map((line) => line.slice(0, 3))).toEqual(['<2>', '<3>', '<4>', '<6>', '<7>', '<7>']);
  expect(lines.map((line) => JSON.parse(line.slice(3)).text)).toEqual(
    Array(6).fill('"level":"fatal"'),
  );
});

it('writes plain text on request, without escape sequences', () => {
  const lines: string[] = [];
  const logger = pino(
    { formatters: { level: (name) => ({ level: name }) } },
    asText({ write: (line) => lines.push(line) }),
  );

  logger.warn({ robots: 2, err: new Error('gone\u009b1m') }, 'robots left');

  expect(lines.join('')).toMatch(
    /^\d\d:\d\d:\d\d WARN {2}robots left robots=2 err="gone1m"\nError: gone1m\n {4}at /,
  );
});

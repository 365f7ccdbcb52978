import { pino } from 'pino';
import { expect, it } from 'vitest';
import { withSeverity } from '../../src/base/logger.ts';

it('puts the severity of journald before each line, and leaves the JSON whole', () => {
  const lines: string[] = [];
  const logger = pino({ level: 'trace' }, withSeverity({ write: (line) => lines.push(line) }));

  for (const level of ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const) {
    logger[level]({ text: '"level":60' }, level);
  }

  expect(lines.map((line) => line.slice(0, 3))).toEqual(['<2>', '<3>', '<4>', '<6>', '<7>', '<7>']);
  expect(lines.map((line) => JSON.parse(line.slice(3)).text)).toEqual(Array(6).fill('"level":60'));
});

import { InvalidArgumentError } from 'commander';
import type { OptionSpec } from './command.ts';

/** Options that every command takes, before or after its own words. */
export const globalOptions: readonly OptionSpec[] = [
  { flags: '--json', summary: 'print JSON, and nothing else' },
  { flags: '-q, --quiet', summary: 'print data and errors alone' },
  { flags: '--no-input', summary: 'never ask; fail where an answer is needed' },
  { flags: '--url <url>', summary: 'origin of the service (SVC_URL)' },
  { flags: '--profile <name>', summary: 'profile to use (SVC_PROFILE)', completes: 'profile' },
  { flags: '--insecure-http', summary: 'allow http to other machines than this one' },
];

/** A count of at least one. */
export function positive(text: string): number {
  const value = Number(text);
  if (!/^[1-9]\d*$/.test(text) || !Number.isSafeInteger(value)) {
    throw new InvalidArgumentError('It must be a whole number above 0.');
  }
  return value;
}

export const limitOption: OptionSpec = {
  flags: '-n, --limit <count>',
  summary: 'most lines to answer',
  parse: positive,
  default: 50,
};

export const cursorOption: OptionSpec = {
  flags: '--cursor <cursor>',
  summary: 'go on where a list ended: next_cursor of its JSON',
};

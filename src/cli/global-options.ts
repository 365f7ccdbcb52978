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

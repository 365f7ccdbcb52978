// How options and arguments are declared, and the options that several commands share.
import { InvalidArgumentError } from 'commander';
import { lacksZone, parseTimestamp, ZONE_HINT } from '../../protocol/timestamp.ts';

export interface ArgumentSpec {
  /** In commander's syntax: `<robot>`, `[url]`, `<robot...>`. */
  syntax: string;
  summary: string;
  completes?: Completes;
  /** The only values. */
  choices?: readonly string[];
  /** The member of the request that it becomes, if its name differs. */
  member?: string;
}

export interface OptionSpec {
  /** In commander's syntax: `--fleet <fleet>`. */
  flags: string;
  summary: string;
  /** Reads the value. `previous` is the result of an earlier use, for an option that can be repeated. */
  parse?(text: string, previous?: unknown): unknown;
  default?: unknown;
  completes?: Completes;
  /** The member of the request that it becomes, if its name differs. */
  member?: string;
}

/** Values that the shell offers: names or ids from the service or the configuration, or a fixed list. */
export type Completes = 'robot' | 'fleet' | 'token' | 'task' | 'profile' | readonly string[];

/** Values of `globalOptions`. */
export interface GlobalOptions {
  json?: true;
  quiet?: true;
  /** False with `--no-input`. */
  input: boolean;
  url?: string;
  profile?: string;
  insecureHttp?: true;
}

/** Options of every command, accepted before or after its words. */
export const globalOptions: readonly OptionSpec[] = [
  { flags: '--json', summary: 'print JSON; errors are JSON on standard error' },
  { flags: '-q, --quiet', summary: 'print only data, warnings and errors' },
  { flags: '--no-input', summary: 'never ask a question; exit with 2 if an answer is needed' },
  { flags: '--url <url>', summary: 'origin of the service; overrides SVC_URL' },
  { flags: '--profile <name>', summary: 'profile; overrides SVC_PROFILE', completes: 'profile' },
  { flags: '--insecure-http', summary: 'allow http URLs of other machines' },
];

export const yesOption: OptionSpec = { flags: '-y, --yes', summary: 'do not ask for confirmation' };

export const duplicateOption: OptionSpec = {
  flags: '--allow-duplicate',
  summary: 'do not ask if the name is already in use',
};

export const limitOption: OptionSpec = {
  flags: '-n, --limit <count>',
  summary: 'maximum number of lines',
  parse: positive,
  default: 50,
};

export const cursorOption: OptionSpec = {
  flags: '--cursor <cursor>',
  summary: 'cursor at which the page begins: next_cursor in the --json output of the previous page',
};

export const bigIntegersOption: OptionSpec = {
  flags: '--big-integers <as>',
  summary:
    'string: read integers beyond 2^53 in the evidence as strings, and print the converted evidence on standard error',
  completes: ['string'],
};

/** Collects the values of an option that can be repeated. */
export const repeated = (value: string, before: string[] = []): string[] => [...before, value];

/** Parses a whole number above 0. */
export function positive(text: string): number {
  const value = Number(text);
  if (!/^[1-9]\d*$/.test(text) || !Number.isSafeInteger(value)) {
    throw new InvalidArgumentError('It must be a whole number above 0.');
  }
  return value;
}

export const zonedTime = 'ISO 8601 date (UTC), or date and time with a time zone';

/** Requires a `zonedTime`. */
export function zoned(text: string): string {
  if (lacksZone(text)) throw new InvalidArgumentError(`It has no time zone: ${ZONE_HINT}.`);
  if (parseTimestamp(text) !== null) return text;
  throw new InvalidArgumentError(`It must be an ${zonedTime}.`);
}

/** The option that a typed word names: `-n`, `--limit`. */
export function findOption(options: readonly OptionSpec[], word: string): OptionSpec | undefined {
  return options.find(({ flags }) => flags.split(/[ ,]+/).includes(word));
}

/** Whether the word after the option is its value. */
export function takesValue({ flags }: OptionSpec): boolean {
  return flags.includes('<');
}

export const passwordFileOption: OptionSpec = {
  flags: '--password-file <file>',
  summary: 'file with the password of the keystore (default: ask)',
};

export const keyFileOptions: readonly OptionSpec[] = [
  {
    flags: '--key-file <file>',
    summary: 'file with a hex key or a Web3 Secret Storage keystore (version 3)',
  },
  passwordFileOption,
];

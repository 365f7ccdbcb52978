import type { Context } from './context.ts';
import type { ExitCode } from './exit-codes.ts';

/** What the shell may offer for a value; `values` are offered as they are. */
export type Completes = 'robot' | 'fleet' | 'profile' | readonly string[];

export interface ArgumentSpec {
  /** As commander takes it: `<robot>`, `[url]`, `<robot...>`. */
  syntax: string;
  summary: string;
  completes?: Completes;
}

export interface OptionSpec {
  /** As commander takes them: `--fleet <fleet>`. */
  flags: string;
  summary: string;
  /** `previous`: what an earlier use of the option led to, where it may be repeated. */
  parse?(text: string, previous?: unknown): unknown;
  default?: unknown;
  required?: true;
  completes?: Completes;
}

/**
 * A command as data. `load` imports what it needs, so that nothing but the table is read before it is
 * known which command runs.
 */
export interface CommandSpec {
  /** Words that call it, such as `robots list`. */
  path: string;
  summary: string;
  /** What the summary does not say; whole lines. */
  details?: string;
  arguments?: readonly ArgumentSpec[];
  options?: readonly OptionSpec[];
  /** At least one; each a command line that works. */
  examples: readonly string[];
  load: () => Promise<Run<never>>;
}

/** `input` has arguments and options by their names in camel case; an absent one is undefined. */
export type Run<Input> = (context: Context, input: Input) => Promise<ExitCode> | Promise<void>;

/** Options that every command takes. */
export interface GlobalOptions {
  json?: true;
  quiet?: true;
  /** False with `--no-input`. */
  input: boolean;
  url?: string;
  profile?: string;
  insecureHttp?: true;
}

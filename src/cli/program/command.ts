// What a command is: its declaration, and the function that runs it.
import type { Context } from '../context.ts';
import type { ExitCode } from './exit-codes.ts';
import type { ArgumentSpec, OptionSpec } from './options.ts';

/** A word after `svc`: one command, or several that share the word. */
export interface CommandGroup {
  name: string;
  summary: string;
  commands: readonly CommandSpec[];
}

export interface CommandSpec {
  /** Words that call the command, such as `robots list`. */
  path: string;
  summary: string;
  /** What the summary does not say, in whole sentences. */
  details?: string;
  arguments?: readonly ArgumentSpec[];
  options?: readonly OptionSpec[];
  /** At least one; each is a command line that works. */
  examples: readonly string[];
  run: Run<never>;
}

/** `input` has arguments and options by their names in camel case; an absent one is undefined. */
export type Run<Input> = (context: Context, input: Input) => Promise<ExitCode> | Promise<void>;

// Shell completion: candidates for the word before the cursor, for the scripts of `svc completion`.

import { escapeText } from '../../base/escape.ts';
import type { CommandGroup, CommandSpec } from './command.ts';
import { groupsFor } from './groups.ts';
import {
  type Completes,
  findOption,
  type GlobalOptions,
  globalOptions,
  type OptionSpec,
  takesValue,
} from './options.ts';

type Candidate = readonly [value: string, meaning: string];

/**
 * Prints the candidates for the last of `words`: one on each line, a tab, and its meaning. Prints nothing if no
 * candidate is known, and never an error, because a person is typing.
 */
export async function complete(words: readonly string[]): Promise<void> {
  const current = unquote(words.at(-1) ?? '');
  try {
    const found = await candidatesFor(words.slice(0, -1).map(unquote), current);
    for (const [value, meaning] of found) {
      // A candidate with control characters would have to be escaped by the shell: leave it out.
      if (!value.startsWith(current) || value !== escapeText(value)) continue;
      process.stdout.write(`${value}\t${escapeText(meaning)}\n`);
    }
  } catch {
    // Without a session or a network there are no candidates.
  }
}

/** Removes the quotes and backslashes that the shell leaves in a typed word. */
function unquote(word: string): string {
  return word.replace(/^["']|["']$/g, '').replace(/\\(.)/g, '$1');
}

async function candidatesFor(before: readonly string[], current: string): Promise<Candidate[]> {
  const groups = await groupsFor(before);
  const commands = groups.flatMap((group) => group.commands);
  const { path, command, given, globals, pending } = read(before, groups);
  if (pending !== null) return valuesOf(pending.completes, globals);
  if (current.startsWith('-')) {
    const options = [...(command?.options ?? []), ...globalOptions];
    const found = options.map(({ flags, summary }): Candidate => [longName(flags), summary]);
    return [...found, ['--help', 'print help']];
  }
  if (path === '') return groups.map(({ name, summary }) => [name, summary]);
  if (command === undefined) {
    const members = commands.filter((spec) => spec.path.startsWith(`${path} `));
    return members.map((spec) => [spec.path.slice(path.length + 1), spec.summary]);
  }
  const declared = command.arguments ?? [];
  const last = declared.at(-1);
  const argument = declared[given] ?? (last?.syntax.includes('...') ? last : undefined);
  return valuesOf(argument?.completes, globals);
}

interface Typed {
  /** Words of the command or of its group, such as `robots list`. */
  path: string;
  command: CommandSpec | undefined;
  /** Number of arguments typed so far. */
  given: number;
  globals: GlobalOptions;
  /** An option whose value is the next word. */
  pending: OptionSpec | null;
}

function read(words: readonly string[], groups: readonly CommandGroup[]): Typed {
  const commands = groups.flatMap((group) => group.commands);
  const globals: GlobalOptions = { input: false };
  const typed: Typed = { path: '', command: undefined, given: 0, globals, pending: null };
  for (const word of words) {
    if (typed.pending !== null) {
      const name = longName(typed.pending.flags);
      if (name === '--url') typed.globals.url = word;
      if (name === '--profile') typed.globals.profile = word;
      typed.pending = null;
    } else if (word.startsWith('-')) {
      if (word === '--insecure-http') typed.globals.insecureHttp = true;
      const own = typed.command?.options ?? [];
      const option = findOption([...own, ...globalOptions], word);
      typed.pending = option !== undefined && takesValue(option) ? option : null;
    } else {
      const path = `${typed.path} ${word}`.trim();
      const command = commands.find((spec) => spec.path === path);
      if (typed.given === 0 && (command !== undefined || groups.some(({ name }) => name === path)))
        Object.assign(typed, { path, command });
      else typed.given += 1;
    }
  }
  return typed;
}

function longName(flags: string): string {
  return /--[\w-]+/.exec(flags)?.[0] ?? flags;
}

async function valuesOf(
  completes: Completes | undefined,
  globals: GlobalOptions,
): Promise<Candidate[]> {
  if (completes === undefined) return [];
  if (typeof completes !== 'string') return completes.map((value) => [value, '']);
  const { createContext } = await import('./context.ts');
  const context = createContext({ ...globals, quiet: true }, process.env);
  if (completes === 'profile') {
    const { profiles } = (await context.config()).read();
    return Object.entries(profiles).map(([name, { url }]) => [name, url]);
  }
  const { allFleets, allRobots } = await import('../input/find.ts');
  return namesAndIds(await (completes === 'robot' ? allRobots(context) : allFleets(context)));
}

/** Names; the id instead if several items have the name or if it cannot be typed. */
function namesAndIds(items: readonly { id: string; name: string }[]): Candidate[] {
  const uses = new Map<string, number>();
  for (const { name } of items) uses.set(name, (uses.get(name) ?? 0) + 1);
  return items.map(({ id, name }) =>
    uses.get(name) === 1 && name === escapeText(name) ? [name, id] : [id, name],
  );
}

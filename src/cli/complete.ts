// Shell completion: names from the service and the configuration, for the scripts of `svc completion`.
import type { Argument, Option } from 'commander';
import { choicesOf, printCandidates } from '../base/completion.ts';
import { escapeText } from '../base/escape.ts';
import { groupsFor } from './groups.ts';
import type { GlobalOptions } from './program/options.ts';
import { buildProgram, completesOf } from './program/program.ts';

/** Prints the candidates for the last of `words`. */
export async function complete(words: readonly string[]): Promise<void> {
  const program = buildProgram(await groupsFor(words.slice(0, -1)), async () => {});
  await printCandidates(program, words, valuesOf);
}

async function valuesOf(part: Option | Argument, typed: Record<string, unknown>) {
  const completes = completesOf.get(part);
  if (completes === undefined) return choicesOf(part);
  if (typeof completes !== 'string') return completes.map((value) => [value, ''] as const);
  const { createContext } = await import('./context.ts');
  const globals = { ...(typed as Partial<GlobalOptions>), input: false, quiet: true } as const;
  const context = createContext(globals, process.env);
  if (completes === 'profile') {
    const { profiles } = (await context.config()).read();
    return Object.entries(profiles).map(([name, { url }]) => [name, url] as const);
  }
  if (completes === 'task') {
    const { items } = (await context.call('listTasks', { query: { limit: '200' } })).body;
    return items.map(({ id, title }) => [id, title] as const);
  }
  const { allFleets, allRobots, allTokens } = await import('./input/find.ts');
  const read = { robot: allRobots, fleet: allFleets, token: allTokens }[completes];
  return namesAndIds(await read(context));
}

/** Names; the id instead if several items have the name or if it cannot be typed. */
function namesAndIds(items: readonly { id: string; name: string }[]) {
  const uses = new Map<string, number>();
  for (const { name } of items) uses.set(name, (uses.get(name) ?? 0) + 1);
  return items.map(({ id, name }) =>
    uses.get(name) === 1 && name === escapeText(name)
      ? ([name, id] as const)
      : ([id, name] as const),
  );
}

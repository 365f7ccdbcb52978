// Finds robots and fleets by id, start of an id, or exact name, and tasks by id or the start of one.
import { escapeText } from '../../base/escape.ts';
import { SvcError } from '../../base/svc-error.ts';
import type { Fleet } from '../../protocol/fleets.ts';
import type { Robot } from '../../protocol/resources.ts';
import type { AccountToken } from '../../protocol/tokens.ts';
import type { Context } from '../context.ts';
import { readPages } from '../output/pages.ts';
import type { ArgumentSpec } from '../program/options.ts';

export const robotArgument: ArgumentSpec = {
  syntax: '<robot>',
  summary: 'id, start of an id, or exact name',
  completes: 'robot',
};

export const fleetArgument: ArgumentSpec = {
  ...robotArgument,
  syntax: '<fleet>',
  completes: 'fleet',
};

export const taskArgument: ArgumentSpec = {
  syntax: '<task>',
  summary: 'id, or start of an id',
  completes: 'task',
};

/** The part of a context that finds something of the account. */
type Calls = Pick<Context, 'call'>;

export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export async function allRobots({ call }: Calls): Promise<Robot[]> {
  return (await readPages((query) => call('listRobots', { query }))).items;
}

export async function allFleets({ call }: Calls): Promise<Fleet[]> {
  return (await readPages((query) => call('listFleets', { query }))).items;
}

export async function allTokens({ call }: Calls): Promise<AccountToken[]> {
  return (await readPages((query) => call('listTokens', { query }))).items;
}

/** Finds a robot by id, start of an id, or exact name. Throws like `pickOne`. */
export async function findRobot(context: Calls, text: string): Promise<Robot> {
  const id = text.toLowerCase();
  if (UUID.test(id)) return (await context.call('getRobot', { params: { id } })).body.robot;
  return pickOne('robot', text, await allRobots(context));
}

/** Finds a fleet by id, start of an id, or exact name. Throws like `pickOne`. */
export async function findFleet(context: Calls, text: string): Promise<Fleet> {
  const id = text.toLowerCase();
  if (UUID.test(id)) return (await context.call('getFleet', { params: { id } })).body.fleet;
  return pickOne('fleet', text, await allFleets(context));
}

/**
 * The id of the task named by its id or the start of it. A start is compared with every task of the
 * account. Throws like `pickOne`.
 */
export async function findTask({ call, wait }: Context, text: string): Promise<string> {
  const start = text.toLowerCase();
  if (UUID.test(start)) return start;
  const read = async (query: { limit: string; cursor?: string }) => {
    const { items, next_cursor } = (await call('listTasks', { query })).body;
    const found = items.filter(({ id }) => start !== '' && id.startsWith(start));
    return { body: { items: found.map(({ id, title }) => ({ id, name: title })), next_cursor } };
  };
  const { items } = await wait('Reading tasks', () => readPages(read));
  return pickOne('task', start, items).id;
}

/** Finds several items in one list, without duplicates, in the order of `texts`. Throws like `pickOne`. */
export function pickEach<Item extends Named>(
  kind: string,
  texts: readonly string[],
  items: readonly Item[],
): Item[] {
  return [...new Set(texts.map((text) => pickOne(kind, text, items)))];
}

/** Tasks that begin alike can be many. */
const CANDIDATES_SHOWN = 20;

interface Named {
  id: string;
  name?: string;
}

/**
 * Finds the only item whose name is the text or whose id begins with it. Throws `not_found`, and `ambiguous` with
 * the candidates in the hint.
 */
export function pickOne<Item extends Named>(
  kind: string,
  text: string,
  items: readonly Item[],
): Item {
  const start = text.toLowerCase();
  const found = items.filter(({ id, name }) => name === text || (start && id.startsWith(start)));
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  const quoted = `“${escapeText(text)}”`;
  if (found.length === 0) {
    throw new SvcError('not_found', `There is no ${kind} ${quoted}.`, {
      hint: `List them with svc ${kind}s list.`,
    });
  }
  const shown = found.slice(0, CANDIDATES_SHOWN);
  const candidates = shown.map(({ id, name = '' }) => `  ${id}  ${escapeText(name)}`.trimEnd());
  if (shown.length < found.length) candidates.push('  …');
  throw new SvcError('ambiguous', `${found.length} ${kind}s match ${quoted}:`, {
    hint: `${candidates.join('\n')}\nUse enough of the id to be unique.`,
  });
}

/**
 * Asks before a robot, token or fleet gets a name that another one has: commands find them by name. Throws as `agree` of the
 * prompt.
 */
export async function confirmName(
  { output, prompt }: Context,
  kind: string,
  name: string,
  all: readonly Named[],
  own?: string,
): Promise<void> {
  const same = all.find((other) => other.name === name && other.id !== own);
  if (same === undefined) return;
  const consequence = `The ${kind} ${same.id} has the name ${output.quote(name)}, too. Commands with this name will match both.`;
  await (await prompt()).agree(consequence, '--allow-duplicate');
}

/** Maps robot ids to names on a terminal. Piped output and JSON keep the ids, and no request is made. */
export async function robotNames(context: Context): Promise<(id: string) => string> {
  if (!context.output.isTerminal || context.output.asksJson) return (id) => id;
  const names = new Map((await allRobots(context)).map(({ id, name }) => [id, name]));
  return (id) => names.get(id) ?? id;
}

// `svc events`: events of robots, as a list or followed.

import type { Column } from '../../base/output/output.ts';
import { showTime } from '../../base/output/table.ts';
import { SvcError } from '../../base/svc-error.ts';
import type { Client } from '../../client/client.ts';
import type { OpsEvent, Severity } from '../../protocol/telemetry.ts';
import type { Context } from '../context.ts';
import { findRobot, robotNames } from '../input/find.ts';
import { followChanges } from '../input/follow.ts';
import { noteRest, type Page, type PageQuery, type Range, readPages } from '../output/pages.ts';
import type { CommandSpec } from '../program/command.ts';
import { exitCodes } from '../program/exit-codes.ts';
import { cursorOption, limitOption } from '../program/options.ts';

export const eventsCommand: CommandSpec = {
  path: 'events',
  summary: 'List events, newest first, or follow them',
  options: [
    {
      flags: '--severity <severity>',
      summary: 'only events with this severity',
      completes: ['info', 'warn', 'error'],
    },
    { flags: '--robot <robot>', summary: 'only events of this robot', completes: 'robot' },
    { flags: '--type <type>', summary: 'only events with this event_type' },
    {
      flags: '-f, --follow',
      summary:
        'print the newest events, from old to new, and then new events as they arrive; with --json, one JSON object per line',
    },
    limitOption,
    cursorOption,
  ],
  examples: ['svc events --severity error', 'svc events --follow --robot hall-robot-1'],
  async run(context, { severity, robot, type, follow, ...range }: EventsInput) {
    if (follow && range.cursor !== undefined) {
      throw new SvcError('usage', '--follow and --cursor exclude each other.');
    }
    const { session, output } = context;
    const { client } = await session();
    const filter = {
      ...(severity !== undefined && { severity }),
      ...(type !== undefined && { event_type: type }),
      ...(robot !== undefined && { robot_id: (await findRobot(context, robot)).id }),
    };
    const read: ReadEvents = (query) =>
      client.call('listEvents', { query: { ...query, ...filter } });
    const [page, nameOf] = await Promise.all([readPages(read, range), robotNames(context)]);
    const columns = columnsOf(context, nameOf);
    if (follow) return tail(context, { client, read }, page, columns);
    await output.table(page, page.items, columns);
    noteRest(output, page);
    return exitCodes.done;
  },
};

const POLL_MS = 2_000;
const POLL_SIZE = 200;

interface EventsInput extends Range {
  severity?: Severity;
  robot?: string;
  type?: string;
  follow?: true;
}

type ReadEvents = (query: PageQuery) => Promise<{ body: Page<OpsEvent> }>;

/** Runs until Ctrl-C, and keeps trying while the service does not answer. */
async function tail(
  { output }: Context,
  { client, read }: { client: Client; read: ReadEvents },
  first: Page<OpsEvent>,
  columns: readonly Column<OpsEvent>[],
): Promise<never> {
  const print = (items: readonly OpsEvent[]) => {
    for (const event of items.toReversed()) {
      if (output.asksJson) output.json(event);
      else output.row(event, columns);
    }
  };
  print(first.items);
  let known = first.items;
  const changes = followChanges(client, ['event'], POLL_MS);
  for (let away = false; ; ) {
    await changes.next();
    try {
      const { fresh, newest } = await readNew(read, known);
      print(fresh);
      if (newest.length > 0) known = newest;
      away = false;
    } catch (error) {
      if (!(error instanceof SvcError && error.retryable)) {
        changes.close();
        throw error;
      }
      if (!away) output.note('The service does not answer. Retrying every 2 s.');
      away = true;
    }
  }
}

/** The events since `known`, newest first, and the newest page, which is the next `known`. */
async function readNew(read: ReadEvents, known: readonly OpsEvent[]) {
  const keys = new Set(known.map(keyOf));
  const isKnown = (event: OpsEvent) => keys.has(keyOf(event));
  const since = known[0]?.created_at ?? '';
  const fresh: OpsEvent[] = [];
  let newest: OpsEvent[] | null = null;
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const { body } = await read({ limit: String(POLL_SIZE), ...(cursor && { cursor }) });
    newest ??= body.items;
    const end = endOfNew(body.items, { isKnown, since });
    fresh.push(...body.items.slice(0, end).filter((event) => !isKnown(event)));
    cursor = end === body.items.length && known.length > 0 ? body.next_cursor : null;
  }
  return { fresh, newest: newest ?? [] };
}

/**
 * How many events of a page can be new: those before the oldest known one. Two instances that write at once may insert
 * between known events, with times of two clocks. If no event of the page is known, the known ones were deleted: the
 * time ends the search then, so that the list is not read to its end.
 */
function endOfNew(
  items: readonly OpsEvent[],
  { isKnown, since }: { isKnown: (event: OpsEvent) => boolean; since: string },
): number {
  const oldest = items.findLastIndex(isKnown);
  if (oldest !== -1) return oldest;
  const old = items.findIndex(({ created_at }) => created_at < since);
  return old === -1 ? items.length : old;
}

/** Event ids are unique per robot. */
function keyOf({ robot_id, id }: OpsEvent): string {
  return `${robot_id} ${id}`;
}

/** Null if the service received the event within a second. */
function occurredAt({ occurred_at: at, created_at: received }: OpsEvent): string | null {
  return at !== null && Math.abs(Date.parse(received) - Date.parse(at)) >= 1000 ? at : null;
}

function columnsOf({ output }: Context, nameOf: (id: string) => string): Column<OpsEvent>[] {
  const { colors } = output;
  // A severity that a later service adds has no color.
  const paint = new Map([
    ['info', colors.dim],
    ['warn', colors.yellow],
    ['error', colors.red],
  ]);
  const times = (e: OpsEvent) => {
    const occurred = occurredAt(e);
    const received = showTime(e.created_at);
    return occurred === null ? received : `${received} (occurred ${showTime(occurred)})`;
  };
  return [
    { title: 'time', value: (e) => e.created_at, shown: times },
    {
      title: 'severity',
      value: (e) => e.severity,
      paint: (e, text) => paint.get(e.severity)?.(text) ?? text,
    },
    { title: 'robot', value: (e) => e.robot_id, shown: (e) => nameOf(e.robot_id), shrinks: true },
    { title: 'type', value: (e) => e.event_type, shrinks: true },
    { title: 'message', value: (e) => e.message, shrinks: true },
    ...(output.isTerminal ? [] : [{ title: 'occurred', value: occurredAt }]),
  ];
}

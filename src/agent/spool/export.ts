// Exports the records of the spool as JSON lines.
import type { SpoolRecord } from './records.ts';
import type { Refusal } from './settled.ts';
import type { Spool } from './spool.ts';

const PAGE = 100;

/** One line for each record that is not delivered, each one set aside, and each statement. Reads in pages, so that all fit. */
export function* exportLines(spool: Spool): Generator<string> {
  for (const { kind, id, wallMs, body, outcome, refused, jws } of recordsOf(spool)) {
    // What the service signed about a completion that waits for its anchor.
    const promised = kind === 'completion' ? spool.read(({ promises }) => promises.of(id)) : null;
    const line = {
      kind,
      id,
      accepted_at: new Date(wallMs).toISOString(),
      refused,
      outcome: outcome ?? undefined,
      body: JSON.parse(body),
      jws,
      promise: promised?.text ?? undefined,
    };
    yield `${JSON.stringify(line)}\n`;
  }
}

interface Exported extends Pick<SpoolRecord, 'kind' | 'id' | 'wallMs' | 'body' | 'outcome'> {
  /** Set on refused records. */
  refused?: Refusal;
  /** The signed statement; null if it waits for its signature. */
  jws?: string | null;
}

function* recordsOf(spool: Spool): Generator<Exported> {
  for (const { kind, id } of spool.read(({ tasks }) => tasks.uploads(Number.MAX_SAFE_INTEGER))) {
    const claim = spool.findClaim(id);
    if (kind === 'claim' && claim !== null) yield claim;
    const completion = spool.findCompletion(id);
    if (completion !== null) yield completion;
  }
  yield* inPages((after) => spool.read(({ events }) => events.read(PAGE, after)));
  const ends = spool.read(({ samples }) => samples.ends());
  for (let first = ends?.first ?? 0; ends && first <= ends.last; first += PAGE) {
    const range = { firstSeq: first, lastSeq: first + PAGE - 1 };
    yield* spool.read(({ samples }) => samples.read(range));
  }
  const refused = inPages((after) => spool.read(({ settled }) => settled.refused(PAGE, after)));
  for (const { code, message, ...record } of refused)
    yield { ...record, refused: { code, message } };
  yield* inPages((after) => spool.read(({ statements }) => statements.read(PAGE, after)));
}

function* inPages<T extends { seq: number }>(read: (after: number) => T[]): Generator<T> {
  for (let after = 0; ; ) {
    const page = read(after);
    yield* page;
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.seq;
  }
}

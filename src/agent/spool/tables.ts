// The tables of the spool's file.
import type { Database } from 'better-sqlite3';
import { EventTable } from './events.ts';
import type { Budget } from './limits.ts';
import { PromiseTable } from './promises.ts';
import { SampleTable } from './samples.ts';
import { Totals } from './schema.ts';
import { Settled } from './settled.ts';
import { AgentState } from './state.ts';
import { StatementTable } from './statements.ts';
import { TaskTable } from './tasks.ts';

export type Tables = Readonly<ReturnType<typeof tablesOf>>;

/** The tables of the records, without those of the file itself. */
export type RecordTables = Omit<Tables, 'db' | 'budget'>;

/** The tables of an open file, which `budget` keeps small. */
export function tablesOf(db: Database, budget: Budget) {
  return {
    db,
    budget,
    tasks: new TaskTable(db),
    samples: new SampleTable(db),
    events: new EventTable(db),
    settled: new Settled(db),
    promises: new PromiseTable(db),
    statements: new StatementTable(db),
    state: new AgentState(db),
    totals: new Totals(db),
  };
}

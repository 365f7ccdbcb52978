import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  attemptMoves,
  completionMoves,
  isAnchoringStopped,
  moveAttempt,
} from '../../src/server/rules/anchoring.ts';
import { attemptStates } from '../support/anchoring-states.ts';

const page = readFileSync(new URL('../../docs/anchoring.md', import.meta.url), 'utf8');

/** The moves in the diagram below that heading, each as `from to event`. */
function documented(heading: string): string[] {
  const section = page.split(`### ${heading}\n`)[1]?.split('\n###')[0] ?? '';
  const arrows = section.matchAll(/^ {2}(\w+) --> (\w+): (\w+)$/gm);
  return Array.from(arrows, ([, from, to, event]) => `${from} ${to} ${event}`).sort();
}

/** The moves that change the state. */
function tabled(moves: Record<string, Partial<Record<string, string>>>): string[] {
  return Object.entries(moves)
    .flatMap(([event, byState]) =>
      Object.entries(byState).flatMap(([from, to]) =>
        from === to ? [] : [`${from} ${to} ${event}`],
      ),
    )
    .sort();
}

describe('the state machine', () => {
  it('of attempts matches the documentation', () => {
    expect(documented('Attempts')).toEqual(tabled(attemptMoves));
  });

  it('of proofs matches the documentation', () => {
    expect(documented('Proofs')).toEqual(tabled(completionMoves));
  });

  it.each(attemptStates.flatMap((from) => Object.keys(attemptMoves).map((to) => [from, to])))(
    'has a transition for an attempt that is %s at %s, or refuses it',
    (from, event) => {
      const to = (attemptMoves as Record<string, Record<string, string>>)[event]?.[from];
      const move = () => moveAttempt(from as never, event as never);

      if (to === undefined) expect(move).toThrow(`The attempt is ${from}`);
      else expect(move()).toBe(to);
    },
  );
});

describe('anchoring is stopped', () => {
  it.each([
    { held: [], senders: [], stopped: false, when: 'not before the first lease' },
    { held: ['restored'], senders: [], stopped: true, when: 'while all senders are held' },
    { held: ['restored'], senders: [[]], stopped: false, when: 'not while one of them anchors' },
    { held: [], senders: [['chain_unreachable']], stopped: true, when: 'without a node' },
    { held: [], senders: [['fee_cap']], stopped: false, when: 'not by fees, which fall' },
  ])('$when', ({ held, senders, stopped }) => {
    expect(isAnchoringStopped(held, senders)).toBe(stopped);
  });
});

describe('docs/operations.md', () => {
  it('explains every degraded state', () => {
    const read = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');
    const [, type = ''] = read('src/server/anchoring/context.ts').split('type Degradation =');
    const declared = [...(type.split('\n\n')[0] ?? '').matchAll(/^ {2}\| '(\w+)'/gm)];
    const elsewhere = [
      'anchoring_not_started',
      'clock_implausible',
      'disk_low',
      'key_not_reconciled',
      'no_public_rpc_url',
      'restored',
    ];

    const [, section = ''] = read('docs/operations.md').split('\n## Degraded states\n');
    const rows = [...(section.split('\n## ')[0] ?? '').matchAll(/^\| `(\w+)` \|/gm)];
    expect(declared.length).toBeGreaterThan(10);
    expect(rows.map(([, reason]) => reason)).toEqual(
      [...declared.map(([, reason = '']) => reason), ...elsewhere].sort(),
    );
  });
});

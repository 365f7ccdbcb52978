import type { ArgumentSpec, CommandSpec, OptionSpec } from '../program/command.ts';

const fleet: ArgumentSpec = {
  syntax: '<fleet>',
  summary: 'id, beginning of an id, or exact name',
  completes: 'fleet',
};

const texts: readonly OptionSpec[] = [
  { flags: '--description <text>', summary: 'at most 2000 characters' },
  { flags: '--location <text>', summary: 'at most 200 characters' },
  { flags: '--shift <text>', summary: 'at most 200 characters' },
  { flags: '--tag <tag...>', summary: 'at most 20 of 32 characters each' },
];

export const fleetCommands: readonly CommandSpec[] = [
  {
    path: 'fleets list',
    summary: 'List the fleets in display order',
    examples: ['svc fleets list', 'svc fleets list | cut -f2'],
    load: async () => (await import('../commands/fleets.ts')).listFleets,
  },
  {
    path: 'fleets show',
    summary: 'Show a fleet',
    arguments: [fleet],
    examples: ['svc fleets show "Hall 3"'],
    load: async () => (await import('../commands/fleets.ts')).showFleet,
  },
  {
    path: 'fleets create',
    summary: 'Make a fleet; it comes last in the display order',
    details: 'Piped, it prints the id.',
    arguments: [{ syntax: '<name>', summary: 'at most 80 characters' }],
    options: texts,
    examples: ['svc fleets create "Hall 3" --location Graz --tag night heavy'],
    load: async () => (await import('../commands/fleets.ts')).createFleet,
  },
  {
    path: 'fleets update',
    summary: 'Change a fleet; an empty text empties the field',
    arguments: [fleet],
    options: [
      { flags: '--name <name>', summary: 'at most 80 characters' },
      ...texts,
      { flags: '--no-tag', summary: 'take all tags away' },
    ],
    examples: [
      'svc fleets update "Hall 3" --shift night --tag heavy',
      'svc fleets update "Hall 3" --location ""',
    ],
    load: async () => (await import('../commands/fleets.ts')).updateFleet,
  },
  {
    path: 'fleets reorder',
    summary: 'Put the fleets named first, in that order; the others follow in theirs',
    arguments: [{ ...fleet, syntax: '<fleet...>' }],
    examples: ['svc fleets reorder "Hall 3" "Hall 1"'],
    load: async () => (await import('../commands/fleets.ts')).reorderFleets,
  },
  {
    path: 'fleets delete',
    summary: 'Delete a fleet; its robots are in no fleet afterwards',
    arguments: [fleet],
    options: [{ flags: '-y, --yes', summary: 'do not ask' }],
    examples: ['svc fleets delete "Hall 3"', 'svc fleets delete 01a1fa88 --yes'],
    load: async () => (await import('../commands/fleets.ts')).deleteFleet,
  },
];

import type { ArgumentSpec, CommandSpec, OptionSpec } from '../program/command.ts';

const robot: ArgumentSpec = {
  syntax: '<robot>',
  summary: 'id, beginning of an id, or exact name',
  completes: 'robot',
};

const yes: OptionSpec = { flags: '-y, --yes', summary: 'do not ask' };

export const robotCommands: readonly CommandSpec[] = [
  {
    path: 'robots list',
    summary: 'List the robots, oldest first',
    options: [
      { flags: '--fleet <fleet>', summary: 'of one fleet alone', completes: 'fleet' },
      { flags: '--no-fleet', summary: 'those that are in no fleet' },
    ],
    examples: ['svc robots list', 'svc robots list --fleet "Hall 3"', 'svc robots list --json'],
    load: async () => (await import('../commands/robots.ts')).listRobots,
  },
  {
    path: 'robots show',
    summary: 'Show a robot',
    arguments: [robot],
    examples: ['svc robots show hall-robot-1', 'svc robots show 01a1fa88 --json'],
    load: async () => (await import('../commands/robots.ts')).showRobot,
  },
  {
    path: 'robots create',
    summary: 'Register a robot; its API key is shown once',
    details: 'Piped, it prints id and key with a tab between them, and nothing else.',
    arguments: [{ syntax: '<name>', summary: 'at most 80 characters' }],
    options: [
      { flags: '--description <text>', summary: 'at most 2000 characters' },
      { flags: '--fleet <fleet>', summary: 'fleet to put it in', completes: 'fleet' },
    ],
    examples: [
      'svc robots create hall-robot-1',
      'svc robots create hall-robot-1 --fleet "Hall 3" --description "sorts parcels"',
    ],
    load: async () => (await import('../commands/robots.ts')).createRobot,
  },
  {
    path: 'robots update',
    summary: 'Change name or description of a robot',
    arguments: [robot],
    options: [
      { flags: '--name <name>', summary: 'at most 80 characters' },
      { flags: '--description <text>', summary: 'at most 2000 characters; "" empties it' },
    ],
    examples: ['svc robots update hall-robot-1 --name hall-robot-2'],
    load: async () => (await import('../commands/robots.ts')).updateRobot,
  },
  {
    path: 'robots move',
    summary: 'Move robots into a fleet, or out of any: all of them or none',
    arguments: [{ ...robot, syntax: '<robot...>' }],
    options: [
      { flags: '--fleet <fleet>', summary: 'fleet to move them into', completes: 'fleet' },
      { flags: '--no-fleet', summary: 'take them out of their fleets' },
    ],
    examples: [
      'svc robots move hall-robot-1 hall-robot-2 --fleet "Hall 3"',
      'svc robots move hall-robot-1 --no-fleet',
    ],
    load: async () => (await import('../commands/robots.ts')).moveRobots,
  },
  {
    path: 'robots rotate-key',
    summary: 'Give a robot a new API key, shown once; the old one ends at once',
    details: 'Piped, it prints the key and a newline, and nothing else.',
    arguments: [robot],
    options: [yes],
    examples: [
      'svc robots rotate-key hall-robot-1',
      'svc robots rotate-key hall-robot-1 --yes | ssh hall-robot-1 sudo svc-agent key set',
    ],
    load: async () => (await import('../commands/robot-keys.ts')).rotateKey,
  },
  {
    path: 'robots revoke-key',
    summary: 'End the API key of a robot at once, with none in its place; its tasks stay',
    arguments: [robot],
    options: [yes],
    examples: ['svc robots revoke-key hall-robot-1'],
    load: async () => (await import('../commands/robot-keys.ts')).revokeKey,
  },
  {
    path: 'robots delete',
    summary: 'Delete a robot with its tasks',
    details:
      'What waits to be signed is cancelled; what is signed is anchored and charged. Public verification of\n' +
      'its tasks ends; bundles stay valid.',
    arguments: [robot],
    options: [yes],
    examples: ['svc robots delete hall-robot-1', 'svc robots delete 01a1fa88 --yes'],
    load: async () => (await import('../commands/robots.ts')).deleteRobot,
  },
];

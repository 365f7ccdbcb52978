import type { CommandSpec } from '../program/command.ts';
import { cursorOption, limitOption } from '../program/options.ts';

export const operationCommands: readonly CommandSpec[] = [
  {
    path: 'telemetry',
    summary: "Print a robot's samples, newest first, or a series of them",
    arguments: [
      { syntax: '<robot>', summary: 'id, beginning of an id, or exact name', completes: 'robot' },
    ],
    options: [
      { flags: '--from <time>', summary: 'ISO-8601; without an offset it is UTC' },
      { flags: '--to <time>', summary: 'ISO-8601; without an offset it is UTC' },
      {
        flags: '--resolution <interval>',
        summary: 'one line for each interval: at most 6 hours, 31 days, 366 days of them',
        completes: ['minute', 'hour', 'day'],
      },
      limitOption,
      cursorOption,
    ],
    examples: [
      'svc telemetry hall-robot-1',
      'svc telemetry hall-robot-1 --resolution hour --from 2026-11-20 --to 2026-11-21',
    ],
    load: async () => (await import('../commands/telemetry.ts')).telemetry,
  },
  {
    path: 'events',
    summary: 'Print the events of the robots, newest first, or as they come',
    options: [
      {
        flags: '--severity <severity>',
        summary: 'only these',
        completes: ['info', 'warn', 'error'],
      },
      { flags: '--robot <robot>', summary: 'of one robot alone', completes: 'robot' },
      { flags: '--type <type>', summary: 'of one event_type alone' },
      {
        flags: '-f, --follow',
        summary: 'oldest first, and then what comes; one JSON object to a line with --json',
      },
      limitOption,
      cursorOption,
    ],
    examples: ['svc events --severity error', 'svc events --follow --robot hall-robot-1'],
    load: async () => (await import('../commands/events.ts')).events,
  },
  {
    path: 'stats',
    summary: 'Show the statistics of the account, or of one fleet',
    options: [{ flags: '--fleet <fleet>', summary: 'of one fleet alone', completes: 'fleet' }],
    examples: ['svc stats', 'svc stats --fleet "Hall 3" --json'],
    load: async () => (await import('../commands/stats.ts')).stats,
  },
  {
    path: 'chain',
    summary: 'Show the anchoring network of the service',
    options: [
      {
        flags: '--add-to-wallet-json',
        summary: 'print the parameter of wallet_addEthereumChain (EIP-3085) alone',
      },
    ],
    examples: [
      'svc chain',
      'svc chain --add-to-wallet-json',
      'svc chain --url https://svc.example.org',
    ],
    load: async () => (await import('../commands/chain.ts')).chain,
  },
];

import type { CommandSpec } from '../program/command.ts';
import { cursorOption, limitOption, positive } from '../program/options.ts';

const task = { syntax: '<task>', summary: 'id of the task' };

export const taskCommands: readonly CommandSpec[] = [
  {
    path: 'tasks list',
    summary: 'List the tasks, newest first',
    options: [
      { flags: '--status <status>', summary: 'only these', completes: ['claimed', 'verified'] },
      { flags: '--robot <robot>', summary: 'of one robot alone', completes: 'robot' },
      limitOption,
      cursorOption,
    ],
    examples: ['svc tasks list', 'svc tasks list --robot hall-robot-1 --status claimed'],
    load: async () => (await import('../commands/tasks.ts')).listTasks,
  },
  {
    path: 'tasks show',
    summary: 'Show a task, its anchor and its receipt',
    arguments: [task],
    examples: [
      'svc tasks show 01a1fa88-6262-702f-af77-0aaec0d1b17b',
      'svc tasks show 01a1fa88-6262-702f-af77-0aaec0d1b17b --json | jq .verification > receipt.json',
    ],
    load: async () => (await import('../commands/tasks.ts')).showTask,
  },
  {
    path: 'tasks watch',
    summary: 'Wait until the proof of a task is anchored',
    details: 'Says on stderr what changes, and prints the task when it is there.',
    arguments: [task],
    options: [
      {
        flags: '--until <finality>',
        summary: 'how sure it must be',
        completes: ['included', 'safe', 'finalized'],
        default: 'included',
      },
      {
        flags: '--timeout <seconds>',
        summary: 'give up then, with exit code 8 (default: never)',
        parse: positive,
      },
    ],
    examples: ['svc tasks watch 01a1fa88-6262-702f-af77-0aaec0d1b17b --timeout 120'],
    load: async () => (await import('../commands/tasks.ts')).watchTask,
  },
];

import { accountCommands } from '../table/account.ts';
import { auditCommands } from '../table/audit.ts';
import { fleetCommands } from '../table/fleets.ts';
import { operationCommands } from '../table/operations.ts';
import { robotCommands } from '../table/robots.ts';
import { shellCommands } from '../table/shell.ts';
import { taskCommands } from '../table/tasks.ts';
import type { CommandSpec } from './command.ts';

/** Words that commands stand under, in the order of the help. */
export const commandGroups: readonly { path: string; summary: string }[] = [
  { path: 'robots', summary: 'Register robots and look after them' },
  { path: 'fleets', summary: 'Group robots into fleets' },
  { path: 'tasks', summary: 'See what robots did, and how far its proof has come' },
  { path: 'sessions', summary: 'See who is signed in, and end it' },
  { path: 'config', summary: 'See and choose profiles: a service and a wallet each' },
];

/** Every command, once. Programs, help, completion and docs/cli.md come from it. */
export const commands: readonly CommandSpec[] = [
  ...accountCommands,
  ...robotCommands,
  ...fleetCommands,
  ...taskCommands,
  ...operationCommands,
  ...auditCommands,
  ...shellCommands,
];

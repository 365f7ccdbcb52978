// The first word after `svc`, and the file that each one loads: only the named group is imported.
import type { CommandGroup, CommandSpec, LoneCommand } from './command.ts';
import { findOption, globalOptions, takesValue } from './options.ts';

interface GroupEntry {
  name: string;
  summary: string;
  load: () => Promise<readonly (CommandSpec | LoneCommand)[]>;
}

/** In the order of the help. */
export const groups: readonly GroupEntry[] = [
  {
    name: 'robots',
    summary: 'Register robots and look after them',
    load: async () => (await import('../commands/robots.ts')).robotCommands,
  },
  {
    name: 'fleets',
    summary: 'Group robots into fleets',
    load: async () => (await import('../commands/fleets.ts')).fleetCommands,
  },
  {
    name: 'tasks',
    summary: 'See what robots did, and how far its proof has come',
    load: async () => (await import('../commands/tasks.ts')).taskCommands,
  },
  {
    name: 'sessions',
    summary: 'See who is signed in, and end it',
    load: async () => (await import('../commands/sessions.ts')).sessionCommands,
  },
  {
    name: 'config',
    summary: 'See and choose profiles: a service and a wallet each',
    load: async () => (await import('../commands/config.ts')).configCommands,
  },
  {
    name: 'login',
    summary: 'Sign in to a service with a wallet',
    load: async () => [(await import('../commands/login.ts')).loginCommand],
  },
  {
    name: 'logout',
    summary: 'End the session, here and on the service',
    load: async () => [(await import('../commands/sessions.ts')).logoutCommand],
  },
  {
    name: 'whoami',
    summary: 'Show wallet, service, gate, credits and the end of the session',
    load: async () => [(await import('../commands/account.ts')).whoamiCommand],
  },
  {
    name: 'credits',
    summary: 'Show what anchoring credits are left, or every change of them',
    load: async () => [(await import('../commands/account.ts')).creditsCommand],
  },
  {
    name: 'telemetry',
    summary: "Print a robot's samples, newest first, or a series of them",
    load: async () => [(await import('../commands/telemetry.ts')).telemetryCommand],
  },
  {
    name: 'events',
    summary: 'Print the events of the robots, newest first, or as they come',
    load: async () => [(await import('../commands/events.ts')).eventsCommand],
  },
  {
    name: 'stats',
    summary: 'Show the statistics of the account, or of one fleet',
    load: async () => [(await import('../commands/stats.ts')).statsCommand],
  },
  {
    name: 'chain',
    summary: 'Show the anchoring network of the service',
    load: async () => [(await import('../commands/chain.ts')).chainCommand],
  },
  {
    name: 'hash',
    summary: 'Print the proof hash of evidence, as the service computes it (SHA-256 of RFC 8785)',
    load: async () => [(await import('../commands/hash.ts')).hashCommand],
  },
  {
    name: 'verify',
    summary: 'Check a proof hash, a receipt or a bundle, against the chain itself with --rpc-url',
    load: async () => [(await import('../commands/verify.ts')).verifyCommand],
  },
  {
    name: 'bundle',
    summary: 'Write what proves a task, in one file that needs nothing but a node of the chain',
    load: async () => [(await import('../commands/bundle.ts')).bundleCommand],
  },
  {
    name: 'doctor',
    summary: 'Find out what keeps svc from working: service, clock, session, chain, RPC, versions',
    load: async () => [(await import('../commands/doctor.ts')).doctorCommand],
  },
  {
    name: 'completion',
    summary: 'Print what makes a shell complete commands, robots and fleets',
    load: async () => [(await import('../commands/completion.ts')).completionCommand],
  },
  {
    name: 'help',
    summary: 'Print help for a command, or on exit-codes or environment',
    load: async () => [(await import('../commands/help.ts')).helpCommand(groupsFor)],
  },
];

/** The group that the words of a command line name, or all groups if they name none. */
export async function groupsFor(words: readonly string[]): Promise<CommandGroup[]> {
  const named = groupNamed(words);
  return Promise.all((named === undefined ? groups : [named]).map(loadGroup));
}

/** The group named by the first word after any global options. */
export function groupNamed(words: readonly string[]): GroupEntry | undefined {
  let index = 0;
  for (let word = words[0]; word?.startsWith('-'); word = words[index]) {
    const [flag = '', value] = word.split('=');
    const option = findOption(globalOptions, flag);
    if (option === undefined) return undefined;
    index += takesValue(option) && value === undefined ? 2 : 1;
  }
  return groups.find(({ name }) => name === words[index]);
}

export async function loadGroup({ name, summary, load }: GroupEntry): Promise<CommandGroup> {
  const commands = await load();
  return { name, summary, commands: commands.map((command) => ({ summary, ...command })) };
}

// The first word after `svc`, and the file that each one loads: only the named group is imported.
import type { CommandGroup, CommandSpec } from './program/command.ts';
import { findOption, globalOptions, takesValue } from './program/options.ts';

/** By name, in the order of the help. */
const groups: Readonly<Record<string, () => Promise<readonly CommandSpec[]>>> = {
  robots: async () => (await import('./commands/robots.ts')).robotCommands,
  fleets: async () => (await import('./commands/fleets.ts')).fleetCommands,
  tasks: async () => (await import('./commands/tasks.ts')).taskCommands,
  sessions: async () => (await import('./commands/sessions.ts')).sessionCommands,
  tokens: async () => (await import('./commands/tokens.ts')).tokenCommands,
  webhooks: async () => (await import('./commands/webhooks.ts')).webhookCommands,
  alerts: async () => (await import('./commands/alerts.ts')).alertCommands,
  config: async () => (await import('./commands/config.ts')).configCommands,
  login: async () => [(await import('./commands/login.ts')).loginCommand],
  logout: async () => [(await import('./commands/sessions.ts')).logoutCommand],
  wallet: async () => (await import('./commands/wallet.ts')).walletCommands,
  account: async () => (await import('./commands/account.ts')).accountCommands,
  whoami: async () => [(await import('./commands/account.ts')).whoamiCommand],
  credits: async () => [(await import('./commands/account.ts')).creditsCommand],
  audit: async () => [(await import('./commands/tokens.ts')).auditCommand],
  telemetry: async () => [(await import('./commands/telemetry.ts')).telemetryCommand],
  events: async () => [(await import('./commands/events.ts')).eventsCommand],
  stats: async () => [(await import('./commands/stats.ts')).statsCommand],
  chain: async () => [(await import('./commands/chain.ts')).chainCommand],
  hash: async () => [(await import('./commands/hash.ts')).hashCommand],
  'prove-part': async () => [(await import('./commands/prove-part.ts')).provePartCommand],
  verify: async () => [(await import('./commands/verify.ts')).verifyCommand],
  trust: async () => (await import('./commands/trust.ts')).trustCommands,
  bundle: async () => [(await import('./commands/bundle.ts')).bundleCommand],
  doctor: async () => [(await import('./commands/doctor.ts')).doctorCommand],
  completion: async () => [(await import('./commands/completion.ts')).completionCommand],
  help: async () => [(await import('./commands/help.ts')).helpCommand(groupsFor)],
};

/** Of groups with several commands. */
const summaries: Readonly<Record<string, string>> = {
  robots: 'Register and manage robots',
  fleets: 'Group robots into fleets',
  tasks: 'List tasks and follow their anchors',
  sessions: 'List and end sessions',
  tokens: 'Create and revoke account tokens for scripts',
  webhooks: 'Send messages about the account to HTTPS endpoints',
  alerts: 'List alerts and manage their rules',
  wallet: 'Create a wallet',
  account: 'Export or delete the account',
  trust: 'Manage the anchoring accounts that svc verify accepts',
  config: 'List and choose profiles; a profile is a service and a wallet',
};

/** The group that the first word after any global options names, or all groups if it names none. */
export async function groupsFor(words: readonly string[]): Promise<CommandGroup[]> {
  let index = 0;
  for (let word = words[0]; word?.startsWith('-'); word = words[index]) {
    const [flag = '', value] = word.split('=');
    const option = findOption(globalOptions, flag);
    if (option === undefined) break;
    index += takesValue(option) && value === undefined ? 2 : 1;
  }
  const all = Object.entries(groups);
  const named = all.filter(([name]) => name === words[index]);
  return Promise.all(
    (named.length === 0 ? all : named).map(async ([name, load]) => {
      const commands = await load();
      return { name, summary: summaries[name] ?? commands[0]?.summary ?? '', commands };
    }),
  );
}

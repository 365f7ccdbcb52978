import type { CommandSpec } from '../program/command.ts';

export const shellCommands: readonly CommandSpec[] = [
  {
    path: 'doctor',
    summary: 'Find out what keeps svc from working: service, clock, session, chain, RPC, versions',
    details: 'The exit code is that of the first check that fails.',
    examples: ['svc doctor', 'svc doctor --url https://svc.example.org'],
    load: async () => (await import('../commands/doctor.ts')).doctor,
  },
  {
    path: 'completion',
    summary: 'Print what makes a shell complete commands, robots and fleets',
    arguments: [
      { syntax: '<shell>', summary: 'bash, zsh or fish', completes: ['bash', 'zsh', 'fish'] },
    ],
    examples: [
      'source <(svc completion bash)',
      'svc completion zsh > ~/.zfunc/_svc',
      'svc completion fish > ~/.config/fish/completions/svc.fish',
    ],
    load: async () => (await import('../commands/completion.ts')).completion,
  },
  {
    path: 'help',
    summary: 'Print help for a command, or on exit-codes or environment',
    arguments: [
      {
        syntax: '[topic...]',
        summary: 'command, exit-codes or environment',
        completes: ['exit-codes', 'environment'],
      },
    ],
    examples: ['svc help exit-codes', 'svc help robots move'],
    load: async () => (await import('../commands/help.ts')).help,
  },
];

import type { CommandSpec } from '../program/command.ts';
import { cursorOption, limitOption } from '../program/options.ts';

export const accountCommands: readonly CommandSpec[] = [
  {
    path: 'login',
    summary: 'Sign in to a service with a wallet',
    details:
      'Opens the sign-in page of the service in a browser, where the wallet is. Without a browser here,\n' +
      '--no-browser takes a code from one elsewhere, --key-file signs with a key from a file, and --manual\n' +
      'prints the message on stdout and reads its signature from stdin (hardware wallets).',
    arguments: [
      { syntax: '[url]', summary: 'origin of the service (default: that of the profile)' },
    ],
    options: [
      {
        flags: '--key-file <file>',
        summary: 'hex key or Web3 Secret Storage keystore (version 3) to sign with',
      },
      {
        flags: '--password-file <file>',
        summary: 'file with the password of the keystore; without it you are asked',
      },
      { flags: '--manual', summary: 'print the message, take the signature' },
      { flags: '--address <address>', summary: 'wallet that signs, with --manual' },
      { flags: '--no-browser', summary: 'print the page to open elsewhere, and take its code' },
    ],
    examples: [
      'svc login https://svc.example.org',
      'svc login https://svc.example.org --key-file ~/.keys/ops.json --profile ops',
      'svc login --manual --address 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
    ],
    load: async () => (await import('../commands/login.ts')).login,
  },
  {
    path: 'logout',
    summary: 'End the session, here and on the service',
    examples: ['svc logout', 'svc logout --profile ops'],
    load: async () => (await import('../commands/sessions.ts')).logout,
  },
  {
    path: 'whoami',
    summary: 'Show wallet, service, gate, credits and the end of the session',
    examples: ['svc whoami', 'svc whoami --json | jq -r .wallet'],
    load: async () => (await import('../commands/account.ts')).whoami,
  },
  {
    path: 'credits',
    summary: 'Show what anchoring credits are left, or every change of them',
    options: [
      { flags: '--ledger', summary: 'list the changes, newest first' },
      limitOption,
      cursorOption,
    ],
    examples: ['svc credits', 'svc credits --ledger --limit 200 > ledger.tsv'],
    load: async () => (await import('../commands/account.ts')).credits,
  },
  {
    path: 'sessions list',
    summary: 'List the live sessions of the account, newest first',
    examples: ['svc sessions list'],
    load: async () => (await import('../commands/sessions.ts')).listSessions,
  },
  {
    path: 'sessions revoke',
    summary: 'End a session at once',
    arguments: [{ syntax: '<session>', summary: 'id, or the beginning of one' }],
    examples: ['svc sessions revoke 01a1fa88-6262-702f-af77-0aaec0d1b17b'],
    load: async () => (await import('../commands/sessions.ts')).revokeSession,
  },
  {
    path: 'config list',
    summary: 'List the profiles',
    examples: ['svc config list'],
    load: async () => (await import('../commands/config.ts')).listProfiles,
  },
  {
    path: 'config use',
    summary: 'Make a profile the one that is used where none is named',
    arguments: [{ syntax: '<name>', summary: 'name of the profile', completes: 'profile' }],
    examples: ['svc config use ops'],
    load: async () => (await import('../commands/config.ts')).useProfile,
  },
  {
    path: 'config remove',
    summary: 'Forget a profile and its session; svc logout ends the session on the service too',
    arguments: [{ syntax: '<name>', summary: 'name of the profile', completes: 'profile' }],
    examples: ['svc config remove ops'],
    load: async () => (await import('../commands/config.ts')).removeProfile,
  },
  {
    path: 'config path',
    summary: 'Print where the profiles are kept',
    examples: ['svc config path'],
    load: async () => (await import('../commands/config.ts')).printPath,
  },
];

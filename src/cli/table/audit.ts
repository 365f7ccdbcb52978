import type { CommandSpec } from '../command.ts';

export const auditCommands: readonly CommandSpec[] = [
  {
    path: 'hash',
    summary: 'Print the proof hash of evidence, as the service computes it (SHA-256 of RFC 8785)',
    arguments: [{ syntax: '<file...>', summary: 'JSON files, or - for standard input' }],
    examples: ['svc hash evidence.json', 'jq .proof task.json | svc hash -'],
    load: async () => (await import('../commands/hash.ts')).hash,
  },
  {
    path: 'verify',
    summary: 'Hold a receipt or a bundle against the chain, without asking the service',
    arguments: [
      {
        syntax: '<file>',
        summary: 'JSON file of the receipt or bundle, or - for standard input',
      },
    ],
    options: [
      {
        flags: '--rpc-url <url>',
        summary: 'JSON-RPC endpoint to read the chain from; repeat it, and all must agree',
        parse: (url, urls: string[] = []) => [...urls, url],
        required: true,
      },
      { flags: '--proof <file>', summary: 'evidence: its hash is computed and compared' },
      { flags: '--anchor-address <address>', summary: 'account that must have sent the anchor' },
    ],
    examples: [
      'svc verify receipt.json --rpc-url https://rpc.example.org',
      'svc verify bundle.json --rpc-url https://rpc.example.org --rpc-url https://rpc.example.net',
      'svc verify receipt.json --proof evidence.json --rpc-url http://127.0.0.1:8545 --json',
    ],
    load: async () => (await import('../commands/verify.ts')).verify,
  },
];

import type { CommandSpec } from '../program/command.ts';
import { positive } from '../program/options.ts';

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
    summary: 'Check a proof hash, a receipt or a bundle, against the chain itself with --rpc-url',
    details: `The service is asked about a hash; with --rpc-url, its answer is checked against the chain. With --rpc-url a
receipt or a bundle needs no service. Without --rpc-url the service's word is taken for what the chain holds.`,
    arguments: [
      {
        syntax: '<hash-or-file>',
        summary: 'proof hash, or file with a receipt or a bundle; - is standard input',
      },
    ],
    options: [
      {
        flags: '--rpc-url <url>',
        summary: 'JSON-RPC endpoint to read the chain from; repeat it, and all must agree',
        parse: (url, urls: string[] = []) => [...urls, url],
      },
      { flags: '--proof <file>', summary: 'evidence: its hash is computed and compared' },
      { flags: '--anchor-address <address>', summary: 'account that must have sent the anchor' },
      { flags: '--watch', summary: 'wait until the anchor is final; progress on stderr' },
      {
        flags: '--timeout <seconds>',
        summary: 'with --watch: give up then, with exit code 8 (default: never)',
        parse: positive,
      },
    ],
    examples: [
      'svc verify 0x219f9568571e27344d43d9f29d2887bb000edfa6879f4e2a4ca3f723a9ee5b68',
      'svc verify receipt.json --rpc-url https://rpc.example.org',
      'svc verify bundle.json --rpc-url https://rpc.example.org --rpc-url https://rpc.example.net',
      'svc verify receipt.json --proof evidence.json --rpc-url http://127.0.0.1:8545 --json',
      'svc hash evidence.json | svc verify - --watch',
    ],
    load: async () => (await import('../commands/verify.ts')).verify,
  },
  {
    path: 'bundle',
    summary: 'Write what proves a task, in one file that needs nothing but a node of the chain',
    details: `All that needs no chain is checked before anything is written: evidence, claim, inclusion path, signed
transaction. Says on stderr if the anchor is not final yet (not with --json).`,
    arguments: [{ syntax: '<task>', summary: 'id of the task' }],
    options: [
      { flags: '--output <file>', summary: 'write it there instead of to stdout' },
      { flags: '--no-evidence', summary: 'leave the evidence out; its hash remains' },
    ],
    examples: [
      'svc bundle 01a1fa88-6262-702f-af77-0aaec0d1b17b > bundle.json',
      'svc bundle 01a1fa88-6262-702f-af77-0aaec0d1b17b --no-evidence --output bundle.json',
    ],
    load: async () => (await import('../commands/bundle.ts')).bundle,
  },
];

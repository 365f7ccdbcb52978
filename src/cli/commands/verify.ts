// `svc verify`: checks a proof with the service or with nodes of the chain.
import type { CommandSpec } from '../program/command.ts';
import { bigIntegersOption, positive, repeated } from '../program/options.ts';
import type { VerifyInput } from '../verify/options.ts';

export const verifyCommand: CommandSpec = {
  path: 'verify',
  summary: 'Verify a receipt, a bundle, evidence, a hash, the statements of a robot, or a promise',
  details: `With --rpc-url, svc checks the anchor on the chain. For a hash or evidence, svc first asks the service which transaction is the anchor. With neither --rpc-url nor --block-hash, svc only reports what the service states.

A bundle with a chain proof (svc-bundle/2, svc-bundle/3) proves that a block contains the anchor. With --block-hash, from a source that you trust, svc checks it without a connection. With --rpc-url, svc reads only the header of the block, unless you add --full.

Anyone can write an anchor, so name the account to expect with --anchor-address, or save the list of a service with svc trust add. If --url, SVC_URL, --profile or SVC_PROFILE names a service, svc uses only its saved list or, if none is saved, its current one. Otherwise svc looks in all saved lists, and then in the current list of the service of your last sign-in. With --block-hash, svc reads no list from a service. Without any list or account, svc exits with 9.

If a robot signed the work, its bundle (svc-bundle/3) has the signatures, and svc checks them. Anyone can make a key, so name the key with --robot-key or its owner with --owner. With one of these options, work without a signature is not verified. If the owner is a smart-contract wallet, svc needs --rpc-url to check its signature.

The statements of a robot, as svc robots export wrote them, are verified without a connection: svc reports whether one is missing, forked or invalid. Give a folder to verify all archives and signed bundles of a robot in it together. Their anchors are not checked. With --rpc-url, svc asks a smart-contract wallet whether it signed the keys.

For a promise, svc checks the signature with the service's list, and looks for each anchor in the bundles of --bundle and at the service. Only a node can tell whether the deadline has passed, so use --rpc-url. svc exits with 14 if a result was anchored late or not at all, and with 7 if the service did not answer.

If the evidence lists files, svc reports whether each file matches, differs or was not given. The verification fails if a given file differs or is not listed.`,
  arguments: [
    {
      syntax: '<subject>',
      summary:
        'a file with a receipt, a bundle, evidence, statements or a promise; a folder; a proof hash; a transaction hash; a task id; the URL of a /verify page; or - for standard input',
    },
  ],
  options: [
    {
      flags: '--rpc-url <url>',
      summary:
        'JSON-RPC endpoint of the chain; can be repeated, then all endpoints must answer and agree',
      parse: repeated,
    },
    {
      flags: '--block-hash <hash>',
      summary: 'trusted hash of the block; checks a bundle with a chain proof offline',
    },
    {
      flags: '--full',
      summary: 'with --rpc-url: also read the transaction and its transaction receipt',
    },
    { flags: '--proof <file>', summary: 'file with the evidence; its hash must be the proof hash' },
    {
      flags: '--anchor-address <address>',
      summary:
        'expected sender of the anchor; can be repeated, then the sender must be one of the accounts',
      parse: repeated,
    },
    {
      flags: '--owner <address>',
      summary: "wallet of the robot's owner, which must have signed the text of the robot's key",
    },
    {
      flags: '--robot-key <thumbprint>',
      summary: 'thumbprint of the key that must have signed the work',
    },
    {
      flags: '--bundle <file>',
      summary: 'bundle that may show that a promise was kept; can be repeated',
      parse: repeated,
    },
    bigIntegersOption,
    { flags: '--require-evidence', summary: 'fail if no evidence is given' },
    {
      flags: '--file <file>',
      summary: 'file that the evidence lists, compared by content; can be repeated',
      parse: repeated,
    },
    { flags: '--require-files', summary: 'fail if a file that the evidence lists is not given' },
    {
      flags: '--part <file>',
      summary:
        'file that svc prove-part wrote: a part of a file that the evidence lists; can be repeated',
      parse: repeated,
    },
    {
      flags: '--report <file>',
      summary: 'also write the result as a certificate: an HTML file, which needs no network',
    },
    { flags: '--watch', summary: 'wait until the anchor is final' },
    {
      flags: '--timeout <seconds>',
      summary: 'with --watch: exit with 8 after this time (default: never)',
      parse: positive,
    },
  ],
  examples: [
    'svc verify 0x219f9568571e27344d43d9f29d2887bb000edfa6879f4e2a4ca3f723a9ee5b68',
    'svc verify receipt.json --rpc-url https://rpc.example.org --url https://svc.example.org',
    'svc verify bundle.json --rpc-url https://rpc.example.org --rpc-url https://rpc.example.net',
    'svc verify receipt.json --proof evidence.json --rpc-url http://127.0.0.1:8545 --json',
    'svc verify bundle.json --rpc-url https://rpc.example.org --robot-key UDDReOZl1ipXAfp9wYsm13sDBMK5og--QWdBjzuf6o4',
    'svc verify bundle.json --rpc-url https://rpc.example.org --report certificate.html',
    'svc verify bundle.json --file run.mcap --file photo.jpg --require-files',
    'svc verify promise.json --rpc-url https://rpc.example.org --url https://svc.example.org',
    'svc hash evidence.json | svc verify - --watch',
    'svc robots export hall-robot-1 | svc verify -',
  ],
  // Loaded on demand: TypeBox would add 30 ms to `svc help` and other paths that load all groups.
  run: async (context, input: VerifyInput) =>
    (await import('../verify/verify.ts')).verify(context, input),
};

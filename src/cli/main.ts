import { Command, CommanderError } from 'commander';
import { SvcError } from '../base/svc-error.ts';
import { packageVersion } from '../base/version.ts';
import { exitCodeOf, exitCodes } from './exit.ts';

/** Runs `svc` and answers its exit code. Commands load what they need when they run. */
export async function main(argv: string[]): Promise<number> {
  let exitCode: number = exitCodes.done;
  const program = new Command('svc')
    .description('Check what robots did: hash evidence, verify receipts against the chain')
    .version(packageVersion())
    .exitOverride()
    .showHelpAfterError('Run with --help for usage and examples.');

  program
    .command('hash')
    .description(
      'Print the proof hash of evidence, as the service computes it (SHA-256 of RFC 8785)',
    )
    .argument('<file...>', 'JSON files, or - for standard input')
    .addHelpText(
      'after',
      '\nExamples:\n  svc hash evidence.json\n  jq .proof task.json | svc hash -',
    )
    .action(async (files: string[]) => {
      const { hash } = await import('./commands/hash.ts');
      await hash(files);
    });

  program
    .command('verify')
    .description('Hold a receipt or a bundle against the chain, without asking the service')
    .argument('<file>', 'JSON file of the receipt or bundle, or - for standard input')
    .requiredOption(
      '--rpc-url <url>',
      'JSON-RPC endpoint to read the chain from; repeat it, and all must agree',
      (url: string, urls: string[] = []) => [...urls, url],
    )
    .option('--proof <file>', 'evidence: its hash is computed and compared')
    .option('--anchor-address <address>', 'account that must have sent the anchor')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nExit codes: 0 verified, 1 no receipt, 2 usage, 3 not verified, 7 chain unreachable.\n' +
        '\nExamples:\n  svc verify receipt.json --rpc-url https://rpc.example.org\n' +
        '  svc verify bundle.json --rpc-url https://rpc.example.org --rpc-url https://rpc.example.net\n' +
        '  svc verify receipt.json --proof evidence.json --rpc-url http://127.0.0.1:8545 --json',
    )
    .action(async (file: string, options: import('./commands/verify.ts').VerifyOptions) => {
      const { verify } = await import('./commands/verify.ts');
      exitCode = await verify(file, options);
    });

  try {
    await program.parseAsync(argv);
    return exitCode;
  } catch (error) {
    return report(error);
  }
}

function report(error: unknown): number {
  // Commander has printed its own message.
  if (error instanceof CommanderError)
    return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
  if (!(error instanceof SvcError)) throw error;
  const reason = 'reason' in error ? `: ${error.reason}` : '';
  process.stderr.write(`svc: ${error.message}${reason}\n`);
  if (error.hint !== undefined) process.stderr.write(`${error.hint}\n`);
  return exitCodeOf(error.code);
}

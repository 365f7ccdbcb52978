import { Chalk, supportsColor } from 'chalk';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { SvcError } from '../../base/svc-error.ts';
import { verifyReceipt } from '../../chain/verify-receipt.ts';
import { isProven } from '../../proof/audit-anchor.ts';
import { hashProof } from '../../proof/hash.ts';
import { Nullable } from '../../protocol/fields.ts';
import { Inclusion, Verification } from '../../protocol/resources.ts';
import { exitCodes } from '../exit.ts';
import { readJson, readProof } from '../read-input.ts';

export interface VerifyOptions {
  rpcUrl: string;
  proof?: string;
  anchorAddress?: string;
  json?: boolean;
}

const colors = new Chalk({ level: supportsColor ? supportsColor.level : 0 });

/** Members that a later version adds are no fault. */
const Receipt = Type.Object({
  ...Verification.properties,
  inclusion: Nullable(Type.Object(Inclusion.properties)),
});

interface Check {
  name: string;
  ok: boolean;
  detail: string;
}

/** `svc verify RECEIPT`: holds a receipt, and the evidence if given, against the chain itself. */
export async function verify(file: string, options: VerifyOptions): Promise<number> {
  const receipt = await readReceipt(file);
  const pinned = options.anchorAddress;
  if (pinned !== undefined && !/^0x[0-9a-fA-F]{40}$/.test(pinned)) {
    throw new SvcError('usage', '--anchor-address must be an address: 0x and 40 hex digits.');
  }
  const evidence = options.proof === undefined ? [] : [await checkEvidence(options.proof, receipt)];
  const audit = await verifyReceipt(receipt, {
    rpcUrl: options.rpcUrl,
    ...(pinned === undefined ? {} : { from: pinned }),
  });
  const checks: Check[] = [...evidence, ...audit.checks];
  const verified = isProven(audit.checks) && evidence.every(({ ok }) => ok);
  const { finality, sender } = audit;
  const confirmations = audit.confirmations === null ? null : String(audit.confirmations);
  if (options.json) {
    const { proof_hash, tx_hash } = receipt;
    const result = { verified, proof_hash, tx_hash, sender, confirmations, finality, checks };
    process.stdout.write(`${JSON.stringify(result)}\n`);
  } else {
    print(checks);
    printVerdict(verified ? `Verified: ${confirmations} confirmations, ${finality}.` : null);
    if (verified) printUnproven(sender, pinned !== undefined);
  }
  return verified ? exitCodes.done : exitCodes.notVerified;
}

async function readReceipt(file: string): Promise<Verification> {
  const document = (await readJson(file)) as { verification?: unknown } | null;
  // What the service answers holds the receipt under `verification`; both forms are taken.
  const receipt = document?.verification ?? document;
  if (Value.Check(Receipt, receipt)) return receipt;
  const first = Value.Errors(Receipt, receipt)[0];
  throw new SvcError(
    'invalid_document',
    `${file} is not a verification receipt: ${first?.instancePath || 'it'} ${first?.message}`,
    { hint: 'Give the JSON that the service answered to the completion.' },
  );
}

async function checkEvidence(file: string, receipt: Verification): Promise<Check> {
  const proofHash = hashProof(await readProof(file));
  const ok = proofHash === receipt.proof_hash;
  const detail = ok
    ? `${file} hashes to the proof hash of the receipt`
    : `${file} hashes to ${proofHash}, the receipt is for ${receipt.proof_hash}`;
  return { name: 'evidence', ok, detail };
}

function print(checks: Check[]): void {
  const width = Math.max(...checks.map(({ name }) => name.length));
  for (const { name, ok, detail } of checks) {
    const mark = ok ? colors.green('✔') : colors.red('✘');
    process.stdout.write(`${mark} ${name.padEnd(width)}  ${detail}\n`);
  }
}

function printVerdict(verified: string | null): void {
  const verdict =
    verified === null ? colors.red.bold('NOT verified.') : colors.green.bold(verified);
  process.stdout.write(`${verdict}\n`);
}

/** Anyone can anchor anything: without the sender's address a forger's anchor looks as good. */
function printUnproven(sender: string | null, pinned: boolean): void {
  const whose = pinned
    ? ''
    : `Sent by ${sender}: that this is the service's account is not proven; pin it with --anchor-address.\n`;
  process.stdout.write(
    colors.dim(
      `${whose}Not proven: who the robot is, who wrote the evidence, that there is no other anchor.\n`,
    ),
  );
}

import { Chalk, supportsColor } from 'chalk';
import { Value } from 'typebox/value';
import { SvcError } from '../../base/svc-error.ts';
import { verifyReceipt } from '../../chain/verify-receipt.ts';
import { isProven } from '../../proof/audit-anchor.ts';
import { hashProof } from '../../proof/hash.ts';
import { Verification } from '../../protocol/resources.ts';
import { exitCodes } from '../exit.ts';
import { readJson, readProof } from '../read-input.ts';

export interface VerifyOptions {
  rpcUrl: string;
  proof?: string;
  anchorAddress?: string;
  json?: boolean;
}

interface Check {
  name: string;
  ok: boolean;
  detail: string;
}

/** `svc verify RECEIPT`: holds a receipt, and the evidence if given, against the chain itself. */
export async function verify(file: string, options: VerifyOptions): Promise<number> {
  const receipt = await readReceipt(file);
  const evidence = options.proof === undefined ? [] : [await checkEvidence(options.proof, receipt)];
  const audit = await verifyReceipt(receipt, {
    rpcUrl: options.rpcUrl,
    ...(options.anchorAddress === undefined ? {} : { from: options.anchorAddress }),
  });
  const checks: Check[] = [...evidence, ...audit.checks];
  const verified = isProven(audit.checks) && evidence.every(({ ok }) => ok);
  const { finality } = audit;
  const confirmations = audit.confirmations === null ? null : String(audit.confirmations);
  if (options.json) {
    const { proof_hash, tx_hash } = receipt;
    const result = { verified, proof_hash, tx_hash, confirmations, finality, checks };
    process.stdout.write(`${JSON.stringify(result)}\n`);
  } else {
    print(checks, verified ? `Verified: ${confirmations} confirmations, ${finality}.` : null);
  }
  return verified ? exitCodes.done : exitCodes.notVerified;
}

async function readReceipt(file: string): Promise<Verification> {
  const document = (await readJson(file)) as { verification?: unknown } | null;
  // What the service answers holds the receipt under `verification`; both forms are taken.
  const receipt = document?.verification ?? document;
  if (Value.Check(Verification, receipt)) return receipt;
  const first = Value.Errors(Verification, receipt)[0];
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

function print(checks: Check[], verdict: string | null): void {
  const colors = new Chalk({ level: supportsColor ? supportsColor.level : 0 });
  const width = Math.max(...checks.map(({ name }) => name.length));
  for (const { name, ok, detail } of checks) {
    const mark = ok ? colors.green('✔') : colors.red('✘');
    process.stdout.write(`${mark} ${name.padEnd(width)}  ${detail}\n`);
  }
  const stated =
    'Not proven: who the robot is, who wrote the evidence, that there is no other anchor.';
  process.stdout.write(
    verdict === null
      ? `${colors.red.bold('NOT verified.')}\n`
      : `${colors.green.bold(verdict)}\n${colors.dim(stated)}\n`,
  );
}

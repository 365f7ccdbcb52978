import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { SvcError } from '../../base/svc-error.ts';
import { verifyAnchor } from '../../chain/verify-anchor.ts';
import { isProven } from '../../proof/audit-anchor.ts';
import { type Bundle, MAX_BUNDLE_DEPTH, readBundle, saysItIsBundle } from '../../proof/bundle.ts';
import { BundleError } from '../../proof/bundle-error.ts';
import { hashProof } from '../../proof/hash.ts';
import type { JsonValue } from '../../proof/json-value.ts';
import { Nullable } from '../../protocol/fields.ts';
import { Inclusion, Verification } from '../../protocol/resources.ts';
import type { Context } from '../context.ts';
import { escapeText } from '../escape-text.ts';
import { type ExitCode, exitCodes } from '../exit.ts';
import type { Output } from '../output.ts';
import { readJson, readProof } from '../read-input.ts';

interface VerifyInput {
  file: string;
  rpcUrl: string[];
  proof?: string;
  anchorAddress?: string;
}

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

/** What is held against the chain, and what it says that no check covers. */
interface Statement {
  proofHash: string;
  txHash: string;
  robotName: string | null;
  document: Verification | Bundle;
}

/** `svc verify FILE`: holds a receipt or a bundle, and evidence if given, against the chain itself. */
export async function verify({ output }: Context, options: VerifyInput): Promise<ExitCode> {
  const { file } = options;
  const pinned = options.anchorAddress;
  if (pinned !== undefined && !/^0x[0-9a-fA-F]{40}$/.test(pinned)) {
    throw new SvcError('usage', '--anchor-address must be an address: 0x and 40 hex digits.');
  }
  if (new Set(options.rpcUrl).size < options.rpcUrl.length) {
    throw new SvcError('usage', 'The same --rpc-url twice would agree with itself.');
  }
  const json = await readJson(file, { maxDepth: MAX_BUNDLE_DEPTH });
  const statement = readStatement(file, json);
  const given = options.proof === undefined ? [] : [await checkFile(options.proof, statement)];
  const audit = await verifyAnchor(statement.document, {
    rpcUrls: options.rpcUrl,
    anchorAddress: pinned,
  });
  const { checks: audited, confirmations, finality, sender } = audit;
  const checks: Check[] = [...given, ...audited];
  const verified = isProven(audited) && given.every(({ ok }) => ok);
  if (output.asksJson) {
    const result = {
      verified,
      proof_hash: statement.proofHash,
      tx_hash: statement.txHash,
      sender,
      confirmations: confirmations === null ? null : String(confirmations),
      finality,
      checks,
      nodes: audit.nodes.map((node) => ({
        rpc: node.label,
        failed: node.checks.filter(({ ok }) => !ok).map(({ name }) => name),
        sender: node.sender,
        confirmations: node.confirmations === null ? null : String(node.confirmations),
        finality: node.finality,
      })),
      ...(statement.robotName === null ? {} : { stated: { robot_name: statement.robotName } }),
    };
    output.json(result);
  } else {
    print(output, checks);
    printVerdict(
      output,
      verified ? `Verified: ${confirmations} confirmations, ${finality}.` : null,
    );
    if (verified) printUnproven(output, pinned === undefined ? sender : null, statement.robotName);
  }
  return verified ? exitCodes.done : exitCodes.notVerified;
}

function readStatement(file: string, json: JsonValue): Statement {
  if (saysItIsBundle(json)) {
    const bundle = bundleOf(file, json);
    const { proof_hash: proofHash, anchor, task } = bundle;
    const { tx_hash: txHash } = anchor;
    return { proofHash, txHash, robotName: task.robot_name, document: bundle };
  }
  const receipt = receiptOf(file, json);
  const { proof_hash: proofHash, tx_hash: txHash } = receipt;
  return { proofHash, txHash, robotName: null, document: receipt };
}

function receiptOf(file: string, document: JsonValue): Verification {
  // What the service answers holds the receipt under `verification`; both forms are taken.
  const receipt = (document as { verification?: unknown } | null)?.verification ?? document;
  if (Value.Check(Receipt, receipt)) return receipt;
  const first = Value.Errors(Receipt, receipt)[0];
  throw new SvcError(
    'invalid_document',
    `${file} is not a verification receipt: ${first?.instancePath || 'it'} ${first?.message}`,
    { hint: 'Give a bundle, or the JSON that the service answered to the completion.' },
  );
}

function bundleOf(file: string, document: JsonValue): Bundle {
  try {
    return readBundle(document);
  } catch (error) {
    if (!(error instanceof BundleError)) throw error;
    throw new SvcError('invalid_document', `${file} is not a bundle: ${error.message}.`, {
      hint: 'A newer format needs a newer version of svc.',
    });
  }
}

async function checkFile(file: string, { proofHash }: Statement): Promise<Check> {
  const found = hashProof(await readProof(file));
  const ok = found === proofHash;
  const detail = ok
    ? `${file} hashes to the proof hash`
    : `${file} hashes to ${found}, the proof hash is ${proofHash}`;
  return { name: 'evidence', ok, detail };
}

function print({ colors, line }: Output, checks: Check[]): void {
  const width = Math.max(...checks.map(({ name }) => name.length));
  for (const { name, ok, detail } of checks) {
    const mark = ok ? colors.green('✔') : colors.red('✘');
    line(`${mark} ${name.padEnd(width)}  ${escapeText(detail)}`);
  }
}

function printVerdict({ colors, line }: Output, verified: string | null): void {
  const verdict =
    verified === null ? colors.red.bold('NOT verified.') : colors.green.bold(verified);
  line(verdict);
}

/** Anyone can anchor anything: a sender that is not pinned may be a forger's. */
function printUnproven(
  { colors, line }: Output,
  unpinnedSender: string | null,
  robotName: string | null,
): void {
  const lines = [
    ...(unpinnedSender === null
      ? []
      : [
          `Sent by ${unpinnedSender}: that this is the service's account is not proven; pin it with --anchor-address.`,
        ]),
    'Not proven: who the robot is, who wrote the evidence, that there is no other anchor.',
    ...(robotName === null
      ? []
      : [`Stated, not proven: the robot's name, ${escapeText(robotName)}`]),
  ];
  line(colors.dim(lines.join('\n')));
}

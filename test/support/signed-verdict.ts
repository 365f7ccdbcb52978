// The verdict of src/proof about a vector of test/fixtures/signed-bundles.json.
import { readBundle } from '../../src/proof/bundle.ts';
import { auditChainProof } from '../../src/proof/chain-proof.ts';
import { DocumentError } from '../../src/proof/document-error.ts';
import type { JsonObject, JsonValue } from '../../src/proof/json-value.ts';
import { auditSigning, expectSigned } from '../../src/proof/statements/audit-signing.ts';
import vectors from '../fixtures/signed-bundles.json' with { type: 'json' };

interface Vector {
  readonly pins: { readonly owner?: string; readonly robot_key?: string };
  readonly changes: readonly (readonly unknown[])[];
}

/** The first bundle with the changes of a vector: paths with their new value, or without a value if it is removed. */
export function documentOf({ changes }: Pick<Vector, 'changes'>): JsonObject {
  const document: JsonObject = structuredClone(vectors.bundle) as JsonObject;
  for (const [path, ...values] of changes) {
    const names = [...(path as string[])];
    const last = names.pop() ?? '';
    let object = document;
    for (const name of names) object = object[name] as JsonObject;
    if (values.length === 0) delete object[last];
    else object[last] = values[0] as JsonValue;
  }
  return document;
}

/** The names of all checks and of the failed ones, in order, and the state of the wallet; null if it is refused. */
export async function signedVerdict({ pins: { owner, robot_key }, changes }: Vector) {
  const pins = { owner, robotKey: robot_key };
  try {
    const bundle = readBundle(documentOf({ changes }));
    const report = await auditSigning(bundle, pins);
    const checks = [
      ...auditChainProof(bundle, bundle.anchor.block_hash),
      ...(report?.checks ?? expectSigned(false, pins)),
    ];
    return {
      names: checks.map(({ name }) => name),
      failed: checks.filter(({ ok }) => !ok).map(({ name }) => name),
      wallet: report?.wallet_check ?? null,
    };
  } catch (error) {
    if (error instanceof DocumentError) return null;
    throw error;
  }
}

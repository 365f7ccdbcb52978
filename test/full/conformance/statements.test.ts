import { spawnSync } from 'node:child_process';
import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { calculateJwkThumbprint, compactVerify, importJWK } from 'jose';
import { afterAll, describe, expect, it } from 'vitest';
import { readStatement } from '../../../src/proof/statements/statement.ts';
import signedBundles from '../../fixtures/signed-bundles.json' with { type: 'json' };
import vectors from '../../fixtures/statements.json' with { type: 'json' };
import { runPython } from '../../support/python-verifier.ts';
import { needsProgram } from '../../support/require-program.ts';
import { documentOf, signedVerdict } from '../../support/signed-verdict.ts';

const jwkOf = (name: string) => {
  const found = vectors.keys.good.find((each) => each.name === name);
  return found?.key as JsonWebKey & { kty: string };
};
const algorithmOf = (name: string) => (name === 'board' ? 'ES256' : 'Ed25519');
const signed = [...vectors.statements.good, ...vectors.promises.good];
const forged = [...vectors.statements.forged, ...vectors.promises.forged];

/** What another library may accept, because it has no rule against a second form of a signature. */
const accepted = ['a high s by ES256'];

describe('jose', () => {
  it.each(signed)('accepts the signature of $name', async ({ key, text }) => {
    const { protectedHeader } = await compactVerify(
      text,
      await importJWK(jwkOf(key), algorithmOf(key)),
    );

    expect(protectedHeader.alg).toBe(algorithmOf(key));
  });

  it.each(forged.filter(({ name }) => !accepted.includes(name)))(
    'refuses $name',
    async ({ key, text }) => {
      await expect(async () => {
        return compactVerify(text, await importJWK(jwkOf(key), algorithmOf(key)));
      }).rejects.toThrow();
    },
  );

  it.each(vectors.keys.good)('computes the thumbprint of $name', async ({ key, thumbprint }) => {
    expect(await calculateJwkThumbprint(key)).toBe(thumbprint);
  });
});

describe('openssl pkeyutl', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'statements-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const fileOf = (name: string, content: string | Uint8Array) => {
    const file = path.join(folder, name);
    writeFileSync(file, content);
    return file;
  };
  /** r and s as the DER of ECDSA. */
  const derOf = (signature: Uint8Array) => {
    const integer = (bytes: Uint8Array) => {
      const digits = Buffer.from(bytes)
        .toString('hex')
        .replace(/^(?:00)+(?=.)/, '');
      const value = Buffer.from(/^[89a-f]/.test(digits) ? `00${digits}` : digits, 'hex');
      return Buffer.concat([Buffer.of(0x02, value.length), value]);
    };
    const both = Buffer.concat([
      integer(signature.subarray(0, 32)),
      integer(signature.subarray(32)),
    ]);
    return Buffer.concat([Buffer.of(0x30, both.length), both]);
  };
  const isAccepted = (openssl: string, key: string, text: string) => {
    const { signed: data, signature, header } = readStatement(text);
    const pem = createPublicKey({ key: jwkOf(key), format: 'jwk' }).export({
      type: 'spki',
      format: 'pem',
    });
    const isBoard = header.alg === 'ES256';
    const { status } = spawnSync(openssl, [
      'pkeyutl',
      ...['-verify', '-pubin', '-inkey', fileOf('key.pem', String(pem))],
      ...['-rawin', '-in', fileOf('data', data), ...(isBoard ? ['-digest', 'sha256'] : [])],
      ...['-sigfile', fileOf('signature', isBoard ? derOf(signature) : signature)],
    ]);
    return status === 0;
  };

  it('accepts the statements that are valid', (context) => {
    const openssl = needsProgram(context, 'openssl');

    const refused = vectors.statements.good.filter(
      ({ key, text }) => !isAccepted(openssl, key, text),
    );
    expect(refused).toEqual([]);
  });

  it('refuses those with a wrong signature', (context) => {
    const openssl = needsProgram(context, 'openssl');

    const found = vectors.statements.forged.filter(({ key, text }) =>
      isAccepted(openssl, key, text),
    );
    expect(found.map(({ name }) => name)).toEqual(accepted);
  });
});

it('examples/verify.py agrees on every signed bundle', async (context) => {
  const code = `
def verdict(document, pins):
    try:
        bundle = verify.read_bundle(json.dumps(document).encode(), [])
    except verify.Refused:
        return None
    checks = list(verify.checks_of(bundle, verify.hex_bytes(bundle["anchor"]["block_hash"])))
    checks += verify.signing_checks(bundle, pins.get("owner"), pins.get("robot_key"))
    wallet = None
    if "signing" in bundle:
        wallet = "signed" if verify.is_wallet_checked(bundle) else "not_checked"
    names = [name for name, _ in checks]
    return {"names": names, "failed": [name for name, ok in checks if not ok], "wallet": wallet}

print(json.dumps([verdict(*each) for each in json.load(sys.stdin)]))
`;
  const cases = [...signedBundles.good, ...signedBundles.bad];
  const found = runPython<unknown[]>(
    context,
    code,
    cases.map((each) => [documentOf(each), each.pins]),
  );
  const expected = await Promise.all(cases.map(signedVerdict));

  const named = (verdicts: unknown[]) => cases.map(({ name }, i) => [name, verdicts[i]]);
  expect(named(found)).toEqual(named(expected));
});

it('examples/verify.py agrees on every vector', (context) => {
  const code = `
vectors = json.load(sys.stdin)
keys = {each["name"]: each["key"] for each in vectors["keys"]["good"]}

def is_refused(function, *arguments):
    try:
        function(*arguments)
        return False
    except verify.Refused:
        return True

def same(payload, expected):
    return payload == verify.parse_strict(json.dumps(expected))

wrong = []
def require(name, holds):
    if not holds:
        wrong.append(name)

for each in vectors["keys"]["good"]:
    require(each["name"], verify.read_key(each["key"])[0] == each["alg"])
    require(each["name"], verify.thumbprint(each["key"]) == each["thumbprint"])
for each in vectors["keys"]["malformed"]:
    require(each["name"], is_refused(verify.read_key, each["key"]))
for kind, read, member in (("statements", verify.read_statement, "statement"), ("promises", verify.read_promise, "promise")):
    for each in vectors[kind]["good"]:
        jws = read(each["text"])
        require(each["name"], same(jws["payload"], each[member]))
        require(each["name"], verify.is_signed(keys[each["key"]], jws))
    for each in vectors[kind]["malformed"]:
        require(each["name"], is_refused(read, each["text"]))
for kind, read in (("statements", verify.read_statement), ("promises", verify.read_promise)):
    for each in vectors[kind]["forged"]:
        require(each["name"], not verify.is_signed(keys[each["key"]], read(each["text"])))
for kind in ("good", "bad"):
    for each in vectors["lists"][kind]:
        found = verify.is_list(verify.parse_strict(json.dumps(each["list"])))
        require(each["name"], found == (kind == "good"))
for each in vectors["key_texts"]["good"]:
    pattern = verify.GRANT if "kid" in each else verify.REVOCATION
    require(each["name"], not is_refused(verify.read_key_text, pattern, each["text"]))
    require(each["name"], each.get("kid") in (None, verify.kid_of(each["text"])))
for each in vectors["key_texts"]["malformed"]:
    for pattern in (verify.GRANT, verify.REVOCATION):
        require(each["name"], is_refused(verify.read_key_text, pattern, each["text"]))
for each in vectors["sequences"]["good"] + vectors["sequences"]["bad"]:
    faults = verify.faults_of_sequence(each["first"], each["items"])
    require(each["name"], all(found == each.get(name, []) for name, found in faults.items()))
print(json.dumps(wrong))
`;
  expect(runPython(context, code, vectors)).toEqual([]);
});

/**
 * `svc verify ARCHIVE` of many statements against bare checks of their signatures with `node:crypto`, by turns. The goal
 * is at most three times the time, in constant memory: the peak is compared with that of an archive of a tenth.
 *
 *   --statements N   (default 100000)
 */
import { createPublicKey, verify } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { kidOf } from '../src/proof/statements/key-text.ts';
import { readStatement } from '../src/proof/statements/statement.ts';
import { grantOf, newSigner, SigningRobot } from '../test/support/signing-robot.ts';
import { byTurns } from './by-turns.js';
import { sized } from './quick.js';
import { report } from './report.js';
import { runToEnd } from './run-to-end.js';

const ROBOT = '01900000-0000-7000-8000-00000000000a';
const TASK = { id: '01900000-0000-7000-8000-00000000000b', title: 'Sort the parcels' };

const { values } = parseArgs({
  options: { statements: { type: 'string', default: sized('100000', '1000') } },
});
const count = Number(values.statements);

const account = privateKeyToAccount(generatePrivateKey());
const owner = { origin: 'https://svc.example.org', wallet: account.address.toLowerCase() };
const signer = newSigner();
const text = grantOf({ ...owner, robot_id: ROBOT, next_number: 1, last: null, keys: [] }, signer);
const robot = new SigningRobot(ROBOT, kidOf(text), signer);
const folder = await mkdtemp(path.join(tmpdir(), 'svc-bench-'));

const texts = Array.from({ length: count }, (_, i) =>
  i % 2 === 0 ? robot.claim(TASK) : robot.result(TASK, { parcels: 12 }),
);
const first = { format: 'svc-statements/1', ...owner, robot_id: ROBOT };
const key = {
  public_key: signer.publicKey,
  text,
  signature: await account.signMessage({ message: text }),
  revocation: null,
};
const lines = texts.map((statement) => {
  const read = readStatement(statement);
  const { signedHash: signed_hash, statementHash: statement_hash } = read;
  return { number: read.statement.number, signed_hash, statement_hash, statement };
});

async function writeArchive(name, most) {
  const file = path.join(folder, name);
  const all = [first, key, ...lines.slice(0, most)];
  await writeFile(file, `${all.map((line) => JSON.stringify(line)).join('\n')}\n`);
  return file;
}

/** Seconds and peak memory in MB of one verification. */
function verifyArchive(file) {
  const svc = fileURLToPath(new URL('../bin/svc.cjs', import.meta.url));
  const command = [svc, 'verify', file, '--owner', account.address];
  return runToEnd(command, { SVC_CONFIG_DIR: folder });
}

function checkSignatures() {
  const opened = createPublicKey({ key: signer.publicKey, format: 'jwk' });
  const started = performance.now();
  for (const statement of texts) {
    const end = statement.lastIndexOf('.');
    const signature = Buffer.from(statement.slice(end + 1), 'base64url');
    if (!verify(null, Buffer.from(statement.slice(0, end)), opened, signature)) {
      throw new Error('A signature is wrong');
    }
  }
  return (performance.now() - started) / 1000;
}

try {
  const [whole, tenth] = [
    await writeArchive('whole', count),
    await writeArchive('tenth', count / 10),
  ];
  const peaks = { whole: 0, tenth: (await verifyArchive(tenth)).megabytes };
  const { measured, raw, ratio } = await byTurns({
    async measured() {
      const { seconds, megabytes } = await verifyArchive(whole);
      peaks.whole = megabytes;
      return seconds;
    },
    raw: async () => checkSignatures(),
  });
  report([
    [`seconds for ${count} statements`, measured],
    ['their signatures alone', raw],
    ['ratio', ratio, '<=', 3],
    ['peak memory in MB', peaks.whole],
    ['of a tenth of the archive', peaks.tenth],
    ['ratio of the two', peaks.whole / peaks.tenth, '<=', 1.5],
  ]);
} finally {
  await rm(folder, { recursive: true });
}

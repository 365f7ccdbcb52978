import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { attachFiles } from '../../src/client/files.ts';
import { hashProof } from '../../src/proof/hash.ts';
import type { JsonObject, Proof } from '../../src/proof/json-value.ts';
import { anvilAccounts } from '../support/anvil.ts';
import { entry, files } from '../support/forged-files.ts';
import { provenBundle } from '../support/proven-bundle.ts';
import { photo, writeRecording } from '../support/recording.ts';
import { runInProcess } from '../support/run-in-process.ts';

let folder: string;
let evidence: JsonObject;
let blockHash: string;

const file = (name: string) => path.join(folder, name);
const svc = (...args: string[]) =>
  runInProcess('svc', args, { env: { SVC_CONFIG_DIR: folder, HOME: folder } });
const identity = ['--anchor-address', anvilAccounts[0].address];
const verify = (bundle: string, ...args: string[]) =>
  svc('verify', file(bundle), '--block-hash', blockHash, ...identity, ...args);

/** Writes a bundle that holds, with this evidence. */
async function writeBundle(name: string, proof: Proof): Promise<string> {
  const proven = provenBundle({ evidence: proof });
  await writeFile(file(name), JSON.stringify(proven.bundle));
  return proven.blockHash;
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-files-'));
  await writeRecording(file('run.mcap'), 600);
  await writeFile(file('photo.jpg'), photo);
  await writeFile(file('other.jpg'), 'another photo');
  await writeFile(file('evidence.json'), '{ "parcels": 12, "nonce": "6c1f84f0e7a5d3b2" }');
  const attached = [file('run.mcap'), file('photo.jpg')];
  evidence = await attachFiles({ parcels: 12, nonce: '6c1f84f0e7a5d3b2' }, attached);
  blockHash = await writeBundle('bundle.json', evidence);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('svc hash --attach', () => {
  const attach = () => ['--attach', file('run.mcap'), '--attach', file('photo.jpg')];

  it('prints the hash of the evidence with its files', async () => {
    const { stdout } = await svc('hash', file('evidence.json'), ...attach());

    expect(stdout).toBe(`${hashProof(evidence)}\n`);
  });

  it.each([
    ['an array', '[]'],
    ['evidence that has files already', '{ "files": [] }'],
  ])('exits with 2 for %s', async (_, text) => {
    await writeFile(file('unfit.json'), text);

    const { exitCode, stderr } = await svc('hash', file('unfit.json'), ...attach());

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('without a member "files"')]);
  });
});

describe('svc verify', () => {
  it('names the files that were not given', async () => {
    const { exitCode, stdout } = await verify('bundle.json', '--file', file('photo.jpg'));

    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^✔ file +photo\.jpg matches$/m);
    expect(stdout).toMatch(/^– file +run\.mcap was not given$/m);
  });

  it('compares by content, not by name', async () => {
    await writeFile(file('renamed'), photo);

    const { exitCode, stdout } = await verify('bundle.json', '--file', file('renamed'));

    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('photo.jpg matches')]);
  });

  it('fails for a file that differs', async () => {
    const folderOfOther = await mkdtemp(path.join(folder, 'other-'));
    await writeFile(path.join(folderOfOther, 'run.mcap'), 'changed');

    const given = ['--file', path.join(folderOfOther, 'run.mcap')];
    const { exitCode, stdout } = await verify('bundle.json', ...given);

    expect(exitCode).toBe(3);
    expect(stdout).toMatch(/^✘ file +run\.mcap differs$/m);
    expect(stdout).toContain(
      'NOT verified.\nA file is not as the evidence lists it, or was not given.\n',
    );
  });

  it('fails with --require-files if a file is not given', async () => {
    const all = ['--file', file('run.mcap'), '--file', file('photo.jpg')];

    expect((await verify('bundle.json', '--require-files')).exitCode).toBe(3);
    expect((await verify('bundle.json', '--require-files', ...all.slice(0, 2))).exitCode).toBe(3);
    expect((await verify('bundle.json', '--require-files', ...all)).exitCode).toBe(0);
  });

  it('fails in the same way with 130 000 files', async () => {
    const entries = Array.from({ length: 130_000 }, (_, i) => ({ ...entry, name: `${i}.jpg` }));
    await writeFile(file('many.json'), JSON.stringify({ files: { ...files, entries } }));
    const { proof: _, ...bare } = JSON.parse(await readFile(file('bundle.json'), 'utf8'));
    await writeFile(file('bare.json'), JSON.stringify(bare));

    const result = await verify('bare.json', '--require-files', '--proof', file('many.json'));

    expect(result.exitCode).toBe(3);
    expect(result.stdout).toMatch(/^✘ file +129999\.jpg/m);
  });

  it('has each file in its JSON', async () => {
    const given = ['--file', file('photo.jpg')];
    const { stdout } = await verify('bundle.json', ...given, '--json');

    expect(JSON.parse(stdout).files).toEqual([
      { name: 'run.mcap', bytes: expect.any(Number), status: 'not_given' },
      { name: 'photo.jpg', bytes: photo.length, status: 'matches' },
    ]);
  });

  it('takes the list from evidence in a file', async () => {
    const { proof, ...bare } = JSON.parse(await readFile(file('bundle.json'), 'utf8'));
    await writeFile(file('bare.json'), JSON.stringify(bare));
    await writeFile(file('with-files.json'), JSON.stringify(proof));
    const given = ['--file', file('photo.jpg')];

    const alone = await verify('bare.json', ...given);
    const both = await verify('bare.json', ...given, '--proof', file('with-files.json'));

    expect([alone.exitCode, both.exitCode]).toEqual([3, 0]);
    expect(alone.stdout).toContain('No evidence was given that lists files');
  });

  it('fails for a list of files that is not that of the anchored evidence', async () => {
    const bundle = JSON.parse(await readFile(file('bundle.json'), 'utf8'));
    bundle.proof.files.entries[1] = entry;
    await writeFile(file('swapped.json'), JSON.stringify(bundle));

    const { exitCode } = await verify('swapped.json');

    expect(exitCode).toBe(3);
  });
});

describe('a part of a recording', () => {
  it('is shown without the rest', async () => {
    const written = await svc('prove-part', file('run.mcap'), '--bytes', '1048000-1049000');
    await writeFile(file('part.json'), written.stdout);
    const recording = await readFile(file('run.mcap'));

    const { exitCode, stdout } = await verify('bundle.json', '--part', file('part.json'));

    expect([written.exitCode, exitCode]).toEqual([0, 0]);
    expect(stdout).toMatch(/^✔ part +Bytes 1048000 to 1049000 are in run\.mcap$/m);
    const shown = JSON.parse(written.stdout)
      .chunks.map((each: string) => each.slice(2))
      .join('');
    expect(Buffer.from(shown, 'hex').equals(recording.subarray(0, 2 ** 21))).toBe(true);
  });

  it.each([
    [[]],
    [['--bytes', '7']],
    [['--bytes', '7-6']],
    [['--bytes', '0-999999999999']],
    [['--bytes', '0x0-0x9']],
  ])('needs bytes of the file: %j', async (args) => {
    expect((await svc('prove-part', file('run.mcap'), ...args)).exitCode).toBe(2);
  });
});

import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { attachFiles } from '../../../src/client/files.ts';
import type { JsonObject, Proof } from '../../../src/proof/json-value.ts';
import { anvilAccounts } from '../../support/anvil.ts';
import {
  content,
  forgedParts,
  files as listed,
  malformedLists,
  misplacedParts,
  part,
} from '../../support/forged-files.ts';
import { provenBundle } from '../../support/proven-bundle.ts';
import { runPython } from '../../support/python-verifier.ts';
import { photo, writeRecording } from '../../support/recording.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import { runInTerminal } from '../../support/terminal.ts';

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
  it('shows progress on a terminal', async () => {
    await truncate(file('other.jpg'), 2 ** 31);

    const args = ['hash', file('evidence.json'), '--attach', file('other.jpg')];
    const { exitCode, screen } = await runInTerminal(args, { env: { SVC_CONFIG_DIR: folder } });

    await writeFile(file('other.jpg'), 'another photo');
    expect(exitCode).toBe(0);
    expect(screen).toMatch(/Hashing \S+other\.jpg \d+ %\r/);
  });
});

describe('svc verify', () => {
  it('fails for a file that the evidence does not list', async () => {
    const { exitCode, stdout } = await verify('bundle.json', '--file', file('other.jpg'));

    expect(exitCode).toBe(3);
    expect(stdout).toContain('other.jpg is not a file that the evidence lists');
  });
});

interface Forged {
  name: string;
  args: string[];
  exitCodes: number[];
}

/** Forged lists and parts in bundles that hold otherwise, and the exit codes that they may have. */
async function forgeries(): Promise<Forged[]> {
  await writeFile(file('content.bin'), content);
  const lists = malformedLists.map(async ([name, files], i) => {
    const hash = await writeBundle(`list-${i}.json`, { files } as Proof);
    const args = [file(`list-${i}.json`), hash, '--file', file('content.bin')];
    return { name: `a list with ${name}`, args, exitCodes: [3] };
  });
  const hash = await writeBundle('listed.json', { files: listed } as never);
  const parts = [...forgedParts, ...misplacedParts].map(async ([name, document], i) => {
    await writeFile(file(`part-${i}.json`), JSON.stringify(document));
    const args = [file('listed.json'), hash, '--part', file(`part-${i}.json`)];
    return { name: `a part with ${name}`, args, exitCodes: i < forgedParts.length ? [2, 3] : [3] };
  });
  return Promise.all([...lists, ...parts]);
}

describe('forged lists and parts', () => {
  // Verifies more than 40 documents of up to 1 MiB: 20 s alone, more than 120 s on a busy machine.
  it('are refused by svc verify and examples/verify.py, with the same exit code', {
    timeout: 300_000,
  }, async (context) => {
    const forged = await forgeries();
    const honest = [file('listed.json'), forged.at(-1)?.args[1] ?? '', '--part', file('good.json')];
    await writeFile(file('good.json'), JSON.stringify(part));
    const cases = [...forged, { name: 'an honest part', args: honest, exitCodes: [0] }];
    const code = `
import contextlib, os
with contextlib.redirect_stdout(None), contextlib.redirect_stderr(open(os.devnull, "w")):
    codes = [verify.main(arguments) for arguments in json.load(sys.stdin)]
print(json.dumps(codes))
`;

    const codes: number[] = [];
    for (const { name, args, exitCodes } of cases) {
      const [bundle = '', hash = '', ...rest] = args;
      const { exitCode } = await svc('verify', bundle, '--block-hash', hash, ...identity, ...rest);
      expect(exitCodes, name).toContain(exitCode);
      codes.push(Number(exitCode));
    }

    expect(forged.length).toBeGreaterThan(40);
    const given = cases.map(({ args }) => [...args, ...identity]);
    expect(runPython(context, code, given)).toEqual(codes);
  });
});

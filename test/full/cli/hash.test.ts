import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runInTerminal } from '../../support/terminal.ts';

const MEGABYTE = 1_000_000;
const bin = fileURLToPath(new URL('../../../bin/svc.cjs', import.meta.url));

/** Prints, when the program ends, the most memory that it ever had, in bytes. */
const measure =
  'data:text/javascript,process.on("exit",()=>process.stderr.write(String(process.resourceUsage().maxRSS*1024)))';

let folder: string;
let large: { file: string; size: number; hash: string };

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-hash-'));
  large = await writeEvidence(path.join(folder, 'large.json'), 100 * MEGABYTE);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Samples of a robot, in canonical form, so that the hash of the file is the proof hash. */
async function writeEvidence(file: string, size: number) {
  const stream = createWriteStream(file);
  const hash = createHash('sha256');
  let written = 0;
  const write = async (part: string) => {
    hash.update(part);
    written += part.length;
    if (!stream.write(part)) await once(stream, 'drain');
  };
  await write('{"samples":[');
  for (let i = 0; written < size; i += 1000) {
    const samples = Array.from({ length: 1000 }, (_, k) => sample(i + k));
    await write(`${i === 0 ? '' : ','}${samples.join(',')}`);
  }
  await write(']}');
  stream.end();
  await once(stream, 'close');
  return { file, size: written, hash: `0x${hash.digest('hex')}` };
}

function sample(i: number): string {
  const [x, y] = [(i % 977) / 8, (i % 1009) / 16];
  return `{"moving":${i % 2 === 0},"state":"busy","t":${1_763_000_000_000 + i},"x":${x},"y":${y}}`;
}

describe('svc hash of 100 MB', () => {
  it('needs less than 8 times as much memory', async () => {
    const child = spawn(process.execPath, ['--import', measure, bin, 'hash', large.file], {
      env: { PATH: process.env.PATH },
      stdio: ['ignore', 'pipe', 'pipe'],
    });

    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);

    expect(stdout).toBe(`${large.hash}\n`);
    expect(Number(stderr)).toBeGreaterThan(large.size);
    expect(Number(stderr)).toBeLessThan(8 * large.size);
  }, 180_000);

  it('shows its progress on a terminal, separate from the hash', async () => {
    const { exitCode, screen } = await runInTerminal(['hash', large.file], {
      env: { SVC_CONFIG_DIR: folder },
    });

    expect(exitCode).toBe(0);
    expect(screen).toMatch(/Reading the evidence \d+ %\r/);
    expect(screen).toMatch(/Hashing the evidence \d+ %\r/);
    expect(screen).toMatch(new RegExp(`\\r\u001b\\[K${large.hash}\n$`));
  }, 180_000);
});

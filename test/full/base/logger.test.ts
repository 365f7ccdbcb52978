import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';

const url = (name: string) => new URL(name, import.meta.url).href;

/** Has Node.js run the script that follows. */
const SCRIPT = ['--input-type=module', '-e'];

/** What a process with this script writes to a file, with JOURNAL_STREAM as `journalStream` makes it of the file. */
async function logged(
  body: string,
  journalStream: (dev: bigint, ino: bigint) => string,
): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-log-'));
  try {
    const handle = await open(path.join(folder, 'log'), 'w+');
    const { dev, ino } = await handle.stat({ bigint: true });
    const script = `const { createLogger } = await import(${JSON.stringify(url('../../../dist/base/logger.js'))});
      ${body}`;
    const child = spawn(process.execPath, [...SCRIPT, script], {
      stdio: ['ignore', 'ignore', handle.fd],
      env: { JOURNAL_STREAM: journalStream(dev, ino) },
    });
    await once(child, 'exit');
    const content = await readFile(path.join(folder, 'log'), 'utf8');
    await handle.close();
    return content;
  } finally {
    await rm(folder, { recursive: true });
  }
}

const ONE_LINE = "createLogger('info').warn('full');";

it('writes the severity if standard error is the journal', async () => {
  const line = await logged(ONE_LINE, (dev, ino) => `${dev}:${ino}`);

  expect(line).toMatch(/^<4>\{.*"msg":"full"\}\n$/);
});

it('writes only JSON if standard error was redirected since', async () => {
  const line = await logged(ONE_LINE, (dev, ino) => `${dev}:${ino + 1n}`);

  expect(JSON.parse(line).msg).toBe('full');
});

it.each([
  ['the journal', 0n],
  ['a file', 1n],
])('loses no fatal line to %s, even in a process that is killed after it', async (_, other) => {
  const body = `const logger = createLogger('info');
    logger.info('first');
    logger.fatal('last');
    process.kill(process.pid, 'SIGKILL');`;

  const lines = await logged(body, (dev, ino) => `${dev}:${ino + other}`);

  expect(lines).toContain('"msg":"last"');
});

it('loses no line of a process that exits', async () => {
  const body = `const logger = createLogger('info');
    for (let i = 0; i < 1000; i += 1) logger.info({ i }, 'line');
    process.exit(1);`;

  const lines = await logged(body, (dev, ino) => `${dev}:${ino}`);

  expect(lines.match(/"msg":"line"/g)).toHaveLength(1000);
});

it('continues without a reader, and reports afterwards how many lines it dropped', async () => {
  const script = `const { createLogger } = await import(${JSON.stringify(url('../../../dist/base/logger.js'))});
    const logger = createLogger('info');
    const given = 3000;
    for (let i = 0; i < given; i += 1) logger.info({ text: 'x'.repeat(1000) }, 'line');
    console.log(given);`;
  const child = spawn(process.execPath, [...SCRIPT, script], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [given] = await once(child.stdout, 'data');

  const logged = (await text(child.stderr))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

  const last = logged.pop();
  expect(last).toMatchObject({
    level: 'warn',
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    msg: 'log lines were dropped',
  });
  expect(last.lines).toBeGreaterThan(0);
  expect(logged.length + last.lines).toBe(Number(given));
});

it.runIf(existsSync('/dev/full')).each([
  [
    'after many lines',
    "for (let i = 0; i < 20; i += 1) { logger.info({ i }, 'line'); await pause(10); }",
  ],
  ['while the first line is being written', "logger.info('line');"],
])('neither ends nor blocks a process whose log has no room, %s', async (_, before) => {
  const script = `const { createLogger } = await import(${JSON.stringify(url('../../../dist/base/logger.js'))});
    const { setTimeout: pause } = await import('node:timers/promises');
    const logger = createLogger('info');
    ${before}
    logger.fatal('last');
    process.exit(0);`;
  const full = await open('/dev/full', 'w');

  const child = spawn(process.execPath, [...SCRIPT, script], {
    stdio: ['ignore', 'ignore', full.fd],
    timeout: 60_000,
    killSignal: 'SIGKILL',
  });
  const [code] = await once(child, 'exit');
  await full.close();

  expect(code).toBe(0);
});

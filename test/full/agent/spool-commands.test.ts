import { chownSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { run } from '../../support/programs.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import { createTemporarySpool } from '../../support/temporary-spool.ts';

let place: ReturnType<typeof createTemporarySpool>;

beforeEach(() => {
  place = createTemporarySpool();
});

afterEach(() => place.remove());

const svcAgent = (start: typeof run, args: string[], folder = place.folder) =>
  start('svc-agent', args, { env: { SVC_AGENT_STATE_DIR: folder } });

const idsOf = (lines: string) =>
  lines
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).id);

async function fillAndClose(count: number): Promise<string[]> {
  const spool = place.open();
  const events = Array.from({ length: count }, () => place.record('event', { event_type: 'info' }));
  const samples = Array.from({ length: count }, (_, n) => place.record('sample', { n }));
  for (const event of events) spool.createEvent(event);
  spool.recordSamples(samples);
  await spool.update(() => {});
  place.close(spool);
  return [...events, ...samples].map(({ id }) => id);
}

it('prints every record once, however many there are, and names the folder', async () => {
  const ids = await fillAndClose(250);

  const { stdout, stderr } = await svcAgent(run, ['spool', 'export']);

  expect(idsOf(stdout)).toEqual(ids);
  expect(stderr).toBe(`500 records of ${place.folder}.\n`);
});

it.each(['export', 'compact'])('%s does not create a spool', async (command) => {
  const folder = path.join(place.folder, 'elsewhere');

  const { exitCode, stderr } = await svcAgent(runInProcess, ['spool', command], folder);

  expect(exitCode).toBe(2);
  expect(stderr).toContain(`There is no spool in ${folder}`);
  expect(existsSync(folder)).toBe(false);
});

it('leaves files that the agent can write if root detects damage', async (context) => {
  if (process.getuid?.() !== 0) {
    process.stderr.write(`${context.task.name}: NOT CHECKED: only root can be tested\n`);
    context.skip('only root can be tested');
  }
  const ids = await fillAndClose(10);
  const file = path.join(place.folder, 'spool.db');
  const bytes = readFileSync(file);
  bytes.fill(0, 0, 100);
  writeFileSync(file, bytes);
  const unprivileged = 65_534;
  chownSync(place.folder, unprivileged, unprivileged);
  for (const name of readdirSync(place.folder)) {
    chownSync(path.join(place.folder, name), unprivileged, unprivileged);
  }

  const { stdout } = await svcAgent(run, ['spool', 'export']);

  expect(idsOf(stdout).toSorted()).toEqual(ids.toSorted());
  const owners = readdirSync(place.folder).map(
    (name) => statSync(path.join(place.folder, name)).uid,
  );
  expect(owners.length).toBeGreaterThan(2);
  expect(new Set(owners)).toEqual(new Set([unprivileged]));
});

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { prepareAgent } from './daemon.js';

const load = fileURLToPath(new URL('ingest-load.js', import.meta.url));
const CONNECTIONS = 4;
/** What is answered is durable after so long. */
const DURABLE_MS = 1000;
/** Rows in one commit of the raw inserts: what the agent commits at once is of this size, too. */
const GROUP = 1000;

/**
 * Samples a second that robot programs hand over to an agent without a network and that are durable, for it is killed
 * at the end and its spool is counted; and how many rows a second SQLite takes of the same, by itself.
 *
 * @param {number} seconds
 */
export async function measureIngest(seconds) {
  const place = await prepareAgent({
    url: 'http://127.0.0.1:9',
    apiKey: `svc_${'0'.repeat(40)}`,
    environment: { SVC_AGENT_SPOOL_MAX_MB: '4096' },
  });
  try {
    const agent = await place.start({ monitored: true });
    await agent.measure();
    const startedAt = performance.now();
    const answered = await sendSamples(place.socket, seconds);
    const busyMb = await agent.residentMb();
    const loop = await agent.measured();
    await sleep(DURABLE_MS);
    const elapsedMs = performance.now() - startedAt;
    await agent.end('SIGKILL');
    const rows = readRows(place.spoolFile);
    if (rows.length !== answered) throw new Error(`${answered} answered, ${rows.length} durable`);
    const rawPerSecond = await insertRaw(rows);
    return {
      perSecond: (answered * 1000) / elapsedMs,
      perCpuSecond: (answered * 1000) / loop.cpuMs,
      rawPerSecond,
      busyMb,
      ...loop,
    };
  } finally {
    await place.remove();
  }
}

/**
 * Sends batches of samples from a process of its own, as many as are taken, or `perSecond` samples; answers how many
 * were answered.
 */
export async function sendSamples(socket, seconds, perSecond = Number.POSITIVE_INFINITY) {
  const child = fork(load, [socket, String(CONNECTIONS), String(seconds), String(perSecond)]);
  const failed = once(child, 'exit').then(([code]) => {
    throw new Error(`The load ended with ${code}`);
  });
  failed.catch(() => {});
  const [answered] = await Promise.race([once(child, 'message'), failed]);
  return answered;
}

function readRows(file) {
  const db = new Database(file);
  const rows = db.prepare('SELECT kind, id, wall_ms, boot, mono_ms, crc, body FROM samples').all();
  db.close();
  return rows;
}

async function insertRaw(rows) {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-bench-'));
  try {
    const db = new Database(path.join(folder, 'raw.db'));
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = FULL');
    db.exec(
      'CREATE TABLE samples (seq INTEGER PRIMARY KEY, kind TEXT, id TEXT, wall_ms INTEGER, boot INTEGER, mono_ms INTEGER, crc INTEGER, body TEXT)',
    );
    const insert = db.prepare(
      'INSERT INTO samples (kind, id, wall_ms, boot, mono_ms, crc, body) VALUES (@kind, @id, @wall_ms, @boot, @mono_ms, @crc, @body)',
    );
    const insertGroup = db.transaction((first) => {
      for (const row of rows.slice(first, first + GROUP)) insert.run(row);
    });
    const startedAt = performance.now();
    for (let first = 0; first < rows.length; first += GROUP) insertGroup(first);
    const perSecond = (rows.length * 1000) / (performance.now() - startedAt);
    db.close();
    return perSecond;
  } finally {
    await rm(folder, { recursive: true });
  }
}

// Robot programs in a process of their own: each sends batches of 50 samples over a connection of its own, the next
// when the one before is answered. Arguments: socket, connections, seconds, samples a second at most. Says how many samples were answered.
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'undici';

const [socketPath, connections, seconds, perSecond] = process.argv.slice(2);
const BATCH = 50;

/** A reading as a robot's program makes it once a second. */
const samplesFrom = (first) =>
  Array.from({ length: BATCH }, (_, i) => ({
    battery_pct: 80 - ((first + i) % 60),
    state: 'busy',
    metrics: { n: first + i, speed_m_s: 0.4, temp_c: 41.5, cpu: 0.37 },
  }));

const startedAt = performance.now();
const end = startedAt + Number(seconds) * 1000;
let sent = 0;
let answered = 0;

async function send(client) {
  while (performance.now() < end) {
    const dueAt = startedAt + (sent / Number(perSecond)) * 1000;
    const body = JSON.stringify({ samples: samplesFrom(sent) });
    sent += BATCH;
    if (dueAt > performance.now()) await sleep(dueAt - performance.now());
    const headers = { 'content-type': 'application/json' };
    const request = { method: 'POST', path: '/api/v1/telemetry', headers, body };
    const answer = await client.request(request);
    const text = await answer.body.text();
    if (answer.statusCode !== 201) throw new Error(`Answered ${answer.statusCode}: ${text}`);
    answered += BATCH;
  }
  await client.close();
}

const clients = Array.from(
  { length: Number(connections) },
  () => new Client('http://localhost', { socketPath }),
);
await Promise.all(clients.map(send));
process.send?.(answered);

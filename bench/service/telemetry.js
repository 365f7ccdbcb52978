import { openSite } from '../site.js';
import { callsPerSecond, inTurn, post } from './calls.js';

const CONNECTIONS = 128;
const SAMPLERS = 200;
export const SAMPLES_PER_REQUEST = 50;

/** A sample as a robot's program makes it once a second. */
export function sampleAt(recordedAt, n) {
  return {
    recorded_at: new Date(recordedAt).toISOString(),
    battery_pct: 80 - (n % 60),
    state: 'busy',
    metrics: { n, speed_m_s: 0.4, temp_c: 41.5, cpu: 0.37 },
  };
}

/** Durable samples a second over HTTP, 50 a request, of 200 robots that send by turns. */
export async function samplesPerSecond({ seconds, environment, profile }) {
  const site = await openSite({ blockTime: 'manual', robots: SAMPLERS, environment, profile });
  try {
    const robot = inTurn(site.robots);
    let sent = 0;
    const begin = Date.now() - 3_600_000;
    const next = () => {
      // Of each robot one a second, as its day goes on.
      const first = Math.floor(sent / SAMPLERS) * SAMPLES_PER_REQUEST;
      sent += 1;
      const samples = Array.from({ length: SAMPLES_PER_REQUEST }, (_, i) =>
        sampleAt(begin + (first + i) * 1000, first + i),
      );
      return post('/api/v1/telemetry', robot().apiKey, JSON.stringify({ samples }));
    };
    const options = { url: site.url, connections: CONNECTIONS, seconds, expected: 201, next };
    return (await callsPerSecond(options)).perSecond * SAMPLES_PER_REQUEST;
  } finally {
    await site.close();
  }
}

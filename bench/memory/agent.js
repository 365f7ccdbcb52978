import { prepareAgent } from '../agent/daemon.js';
import { sendSamples } from '../agent/ingest.js';
import { sized } from '../quick.js';
import { openSite } from '../site.js';
import { watchMemory } from './trend.js';

const TOP_SECONDS = sized(15, 1);

/** An agent that delivers to a service, while robot programs hand it half the samples a second that it can take. */
export async function soakAgent(minutes) {
  const site = await openSite({ blockTime: 1, robots: 1, environment: {} });
  const [{ apiKey }] = site.robots;
  const place = await prepareAgent({ url: site.url, apiKey });
  try {
    const agent = await place.start();
    const topPerSecond = (await sendSamples(place.socket, TOP_SECONDS)) / TOP_SECONDS;
    const seconds = minutes * 60;
    const { result: answered, memory } = await watchMemory(
      agent.residentMb,
      sendSamples(place.socket, seconds, topPerSecond / 2),
    );
    await agent.end('SIGTERM');
    return { unit: 'samples per second', topPerSecond, perSecond: answered / seconds, memory };
  } finally {
    await place.remove();
    await site.close();
  }
}

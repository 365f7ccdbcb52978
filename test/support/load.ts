import { robotClient } from './server-process.ts';
import { newEvidence } from './service.ts';

/** Requests under way at once: batches of samples, each with an event now and then, and completions. */
const RECORDING = 8;
const COMPLETING = 16;
const SAMPLES = 50;

/** Robots at work. A write is what gets a row of its own: a sample, an event, a claim, a completion. */
export interface Load {
  /** Writes that the service answered as taken. */
  accepted(): number;
  /** Writes that it may have taken: those, and what is under way. */
  sent(): number;
  /** Completions that were anchored. */
  verified(): number;
  /** Codes of what was refused. */
  refused(): string[];
  /** Resolves when the last request has been answered. */
  stop(): Promise<void>;
}

/** Sends without a pause, from one robot after another. */
export function startLoad(url: string, apiKeys: string[]): Load {
  const robots = apiKeys.map((apiKey) => robotClient(url, apiKey));
  const refused: string[] = [];
  let [accepted, sent, verified, turn, stopped] = [0, 0, 0, 0, false];

  const nextRobot = () => {
    const robot = robots[turn++ % robots.length];
    if (robot === undefined) throw new Error('A load needs robots');
    return robot;
  };

  async function write<T>(writes: number, request: () => Promise<T>): Promise<T | null> {
    sent += writes;
    try {
      const answer = await request();
      accepted += writes;
      return answer;
    } catch (error) {
      refused.push((error as { code: string }).code);
      return null;
    }
  }

  async function record(): Promise<void> {
    for (let batch = 0; !stopped; batch += 1) {
      const robot = nextRobot();
      const samples = Array.from({ length: SAMPLES }, (_, i) => ({
        state: 'moving',
        battery_pct: 50,
        metrics: { batch, i },
      }));
      await write(SAMPLES, () => robot.call('recordSamples', { body: { samples } }));
      if (batch % 4 > 0) continue;
      await write(1, () => robot.call('createEvent', { body: { event_type: 'moved' } }));
    }
  }

  async function complete(): Promise<void> {
    while (!stopped) {
      const robot = nextRobot();
      const claimed = await write(1, () => robot.call('createTask', { body: { title: 'Sort' } }));
      if (claimed === null) continue;
      const completion = { params: { id: claimed.body.task.id }, body: { proof: newEvidence() } };
      const done = await write(1, () => robot.call('completeTask', completion));
      if (done?.status === 200) verified += 1;
    }
  }

  const working = [
    ...Array.from({ length: RECORDING }, record),
    ...Array.from({ length: COMPLETING }, complete),
  ];
  return {
    accepted: () => accepted,
    sent: () => sent,
    verified: () => verified,
    refused: () => refused,
    async stop() {
      stopped = true;
      await Promise.all(working);
    },
  };
}

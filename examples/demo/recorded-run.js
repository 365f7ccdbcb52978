// Makes evidence from the recorded run of a real robot.
import { readFile } from 'node:fs/promises';

/**
 * Evidence made from the recorded run in examples/indoor-robot: where the robot was, which way it looked and
 * how strong it heard five radio beacons. The recording's nanosecond clock does not fit a JSON number
 * and goes as a string; `nonce` keeps the hash from being guessed.
 *
 * @param {string} nonce
 */
export async function evidenceOfRecordedRun(nonce) {
  // Two folders up from here, and from the bundle too.
  const file = new URL('../../examples/indoor-robot/run.datalog', import.meta.url);
  const [, ...lines] = (await readFile(file, 'utf8')).trim().split('\n');
  const samples = lines.map((line) => sampleOf(line.trim().split(/[\s,]+/)));
  return {
    source: 'herolab-uga/indoor-rssi-mobile-robot, Dataset1, lines 32 to 181',
    nonce,
    distance_m: round(distance(samples)),
    samples,
  };
}

/** @param {string[]} fields */
function sampleOf(fields) {
  const [, seconds = '', nanoseconds = '', x, y] = fields;
  return {
    recorded_ns: `${seconds}${nanoseconds.padStart(9, '0')}`,
    x_m: Number(x),
    y_m: Number(y),
    camera_deg: Number(fields[9]),
    rssi_dbm: fields.slice(15, 20).map(Number),
  };
}

/** @param {{ x_m: number, y_m: number }[]} samples */
function distance(samples) {
  return samples.reduce((sum, { x_m, y_m }, index) => {
    const before = samples[index - 1];
    return before === undefined ? 0 : sum + Math.hypot(x_m - before.x_m, y_m - before.y_m);
  }, 0);
}

/** @param {number} metres */
function round(metres) {
  return Math.round(metres * 1000) / 1000;
}

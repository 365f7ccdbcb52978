import { sized } from '../quick.js';

/**
 * The straight line through the second half of a soak (least squares): by how much it rises over that half, and the
 * standard deviation around it; the first half is for caches to fill.
 *
 * @param {{ at: number, mb: number }[]} memory
 */
export function trendOf(memory) {
  const half = memory.slice(Math.floor(memory.length / 2));
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanAt, meanMb] = [mean(half.map(({ at }) => at)), mean(half.map(({ mb }) => mb))];
  const slope =
    mean(half.map(({ at, mb }) => (at - meanAt) * (mb - meanMb))) /
    mean(half.map(({ at }) => (at - meanAt) ** 2));
  const deviations = half.map(({ at, mb }) => mb - meanMb - slope * (at - meanAt));
  return {
    grown: slope * (half.at(-1).at - half[0].at),
    spread: Math.sqrt(mean(deviations.map((deviation) => deviation ** 2))),
  };
}

/** Reads `residentMb` again and again until `work` ends. */
export async function watchMemory(residentMb, work) {
  const memory = [];
  const timer = setInterval(
    async () => memory.push({ at: performance.now(), mb: await residentMb() }),
    sized(2_000, 100),
  );
  try {
    return { result: await work, memory };
  } finally {
    clearInterval(timer);
  }
}

const isQuick = process.env.BENCH_QUICK === '1';

/**
 * How long a benchmark measures, or how much: `usual`, or `quick` where a test only tries whether it runs.
 *
 * @template T
 * @param {T} usual
 * @param {T} quick
 */
export function sized(usual, quick) {
  return isQuick ? quick : usual;
}

import { Session } from 'node:inspector/promises';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');

/** The files of src in which a function with a name ran during `work`, in this process. */
export async function filesThatRan(work: () => Promise<unknown>): Promise<string[]> {
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    await session.post('Profiler.takePreciseCoverage');
    await work();
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const ran = result.filter(({ functions }) =>
      // Without a name: the module itself, and getters of its exports.
      functions.some(({ functionName, ranges }) => functionName && (ranges[0]?.count ?? 0) > 0),
    );
    const files = ran.map(({ url }) => path.relative(root, url.replace(/^file:\/\//, '')));
    return [...new Set(files)].filter((file) => file.startsWith('src/')).sort();
  } finally {
    await session.post('Profiler.stopPreciseCoverage');
    session.disconnect();
  }
}

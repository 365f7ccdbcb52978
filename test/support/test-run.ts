// What the workers of a run share. The main process of the run has it, see global-setup.ts.
import { expect, inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the main process answers what `askRun` asks. */
    testRun: string;
  }
}

type Thing = 'postgres' | 'chromium' | 'package' | 'python' | 'build';

/** Something that is made when the first worker asks for it, and ends with the run. */
export async function askRun<Answer>(thing: Thing): Promise<Answer> {
  if (!mayStart(thing)) throw new Error(`npm test starts no ${thing}: move this test to test/full`);
  const response = await fetch(`${inject('testRun')}/${thing}`);
  if (!response.ok) throw new Error(`${thing}: ${await response.text()}`);
  return (await response.json()) as Answer;
}

/** In `npm test`, the main process starts nothing but the build and browser of a smoke test (process-guard.ts). */
function mayStart(thing: string): boolean {
  const isSmoke = /[\\/]smoke[\\/]/.test(expect.getState().testPath ?? '');
  return process.env.TEST_STORE !== 'sqlite' || (isSmoke && /^(chromium|build)$/.test(thing));
}

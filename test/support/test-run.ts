// What the workers of a run share. The main process of the run has it, see global-setup.ts.
import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the main process answers what `askRun` asks. */
    testRun: string;
  }
}

/** Something that is made when the first worker asks for it, and ends with the run. */
export async function askRun<Answer>(thing: 'postgres' | 'chromium' | 'package'): Promise<Answer> {
  const response = await fetch(`${inject('testRun')}/${thing}`);
  if (!response.ok) throw new Error(`${thing}: ${await response.text()}`);
  return (await response.json()) as Answer;
}

// Rules for a body of samples that schemas cannot state; the service and the agent apply them.
import type { Body } from './routes.ts';
import type { WireError } from './schema-error.ts';
import type { NewSample } from './telemetry.ts';

type Samples = Body<'recordSamples'>;

/** What is wrong with the body; null if nothing is. */
export function samplesProblem(body: Samples): WireError | null {
  const { samples, ...single } = body;
  if (samples !== undefined && Object.keys(single).length > 0) {
    const message = 'Send one sample at the top level or several in samples, not both.';
    return { code: 'invalid_sample', message };
  }
  // Without a time, the same id would have another time when it is sent again.
  const index = samplesOf(body).findIndex(
    ({ id, recorded_at }) => id !== undefined && recorded_at === undefined,
  );
  if (index < 0) return null;
  const message = `${placesOf(body)(index)}recorded_at is required if id is given.`;
  return { code: 'invalid_sample', message };
}

/** The samples of a body: a single one at the top level, or those in `samples`. */
export function samplesOf(body: Samples): NewSample[] {
  return body.samples ?? [body];
}

/** The prefix of field names in messages about a sample, by its index; empty for a single one. */
export function placesOf({ samples }: Samples): (index: number) => string {
  // The function must not keep the body in memory.
  return samples === undefined ? () => '' : (index) => `samples.${index}.`;
}

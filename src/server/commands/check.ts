import { withStore } from './with-store.ts';

/** `svc-server check`: answers 0 when every invariant of the database holds, else 1. */
export async function check(
  environment: NodeJS.ProcessEnv,
  options: { json?: boolean },
): Promise<number> {
  const findings = await withStore(environment, options, (store) => store.checkInvariants());
  if (options.json) {
    process.stdout.write(`${JSON.stringify({ ok: findings.length === 0, findings })}\n`);
  } else if (findings.length === 0) {
    process.stdout.write('Every invariant holds.\n');
  } else {
    for (const { invariant, violations } of findings) {
      process.stdout.write(`${invariant}\n${violations.map((line) => `  ${line}\n`).join('')}`);
    }
  }
  return findings.length === 0 ? 0 : 1;
}

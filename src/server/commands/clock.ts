// `svc-server clock confirm`: accepts a clock that the service does not believe.
import { SvcError } from '../../base/svc-error.ts';
import { formatTimestamp } from '../../protocol/timestamp.ts';
import { operator } from '../core/account.ts';
import { withStore } from './database.ts';
import { type Output, print } from './print.ts';

/** `svc-server clock confirm`: accepts the clock of this machine. Without `yes` it refuses and names the times. */
export async function confirmClock(
  environment: NodeJS.ProcessEnv,
  { yes = false, ...options }: Output & { yes?: boolean },
): Promise<void> {
  await withStore(environment, options, async (store, clock) => {
    const now = clock.wallMs;
    const [wall, service] = [formatTimestamp(now), formatTimestamp(clock.now())];
    if (!yes) {
      throw new SvcError('usage', `This machine's clock says ${wall}, the service's ${service}.`, {
        hint: "If this machine's clock is right, run svc-server clock confirm --yes.",
      });
    }
    await store.confirmTime(now, operator('clock confirm'));
    const lines = [`Accepted ${wall}. A running server follows within a minute.`];
    print({ accepted_at: wall, service_time: service }, lines, options);
  });
}

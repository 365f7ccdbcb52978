// svc-server with a fault: kills itself, as `kill -9` would, when the anchorer comes to the step named in
// CRASH_AT for the CRASH_COUNT-th time.
import { createLogger } from '../../dist/base/logger.js';
import { readConfig } from '../../dist/server/config.js';
import { startServer } from '../../dist/server/main.js';

const { CRASH_AT, CRASH_COUNT, ...environment } = process.env;
let countdown = Number(CRASH_COUNT ?? 1);
const config = readConfig(environment);
const server = await startServer(config, {
  logger: createLogger(config.values.SVC_LOG_LEVEL),
  onAnchorStep: (step) => {
    if (step === CRASH_AT && --countdown === 0) process.kill(process.pid, 'SIGKILL');
  },
});
process.stdout.write(`${JSON.stringify({ url: server.url })}\n`);
// Ends by itself once nothing is left open.
process.once('SIGTERM', () => server.close());

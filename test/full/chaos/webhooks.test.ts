import { afterAll, expect, it } from 'vitest';
import { type Kill, performWebhooks } from '../../chaos/webhooks.ts';
import { needsProgram } from '../../support/require-program.ts';
import { killServers } from '../../support/server-process.ts';

afterAll(killServers);

const kills: readonly Kill[] = [
  { after: 20, what: 'service' },
  // The receiver has the message, and the service does not know.
  { after: 5, what: 'service', crash: { at: 'recordDelivered:before', count: 3 } },
  { after: 5, what: 'service', crash: { at: 'readDueWebhook:before', count: 2 } },
  { after: 10, what: 'receiver' },
  { after: 5, what: 'database' },
  { after: 20, what: 'service' },
];

it.for(['sqlite', 'postgres'] as const)(
  'on %s, a webhook receives each event in order, and duplicates only with the same id, even after kills',
  { timeout: 400_000 },
  async (store, context) => {
    const openssl = needsProgram(context, 'openssl');
    const report = await performWebhooks(store, kills, { openssl });

    expect(report.violations).toEqual([]);
    expect(report.repeated).toBeGreaterThan(0);
    expect(report.events).toBeGreaterThan(60);
  },
);

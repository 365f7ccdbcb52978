import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMetrics } from '../../src/server/metrics/metrics.ts';
import { createTestClock } from '../support/clock.ts';

const deploy = path.resolve(import.meta.dirname, '../../deploy');

interface Panel {
  title: string;
  type: string;
  targets?: { expr: string }[];
}

const dashboard: { panels: Panel[] } = JSON.parse(
  readFileSync(path.join(deploy, 'grafana-dashboard.json'), 'utf8'),
);
const alerts = readFileSync(path.join(deploy, 'alerts.yml'), 'utf8');

const queries = dashboard.panels.flatMap(({ title, targets = [] }) =>
  // As Grafana sends them.
  targets.map(({ expr }) => ({ title, expr: expr.replaceAll('$__rate_interval', '1m') })),
);

/** Names of metrics in a query, by the prefixes of the server's. */
const metricsIn = (query: string): string[] => query.match(/\b(svc|process|nodejs)_\w+/g) ?? [];

describe('the monitoring files', () => {
  let exposed: Set<string>;
  let folder: string;
  beforeAll(async () => {
    const { text } = await createMetrics(createTestClock()).read(async () => ({ degraded: [] }));
    const declared = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)];
    exposed = new Set(
      declared.flatMap(([, name = '', type]) =>
        type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name],
      ),
    );
    folder = mkdtempSync(path.join(tmpdir(), 'svc-monitoring-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('query metrics that the server exposes', () => {
    const missing = [...queries.map(({ expr }) => expr), ...alerts.matchAll(/expr: (.*)/g)]
      .flatMap((query) => metricsIn(String(query)))
      .filter((name) => !exposed.has(name));

    expect(missing).toEqual([]);
    expect(queries.filter(({ expr }) => metricsIn(expr).length === 0)).toEqual([]);
  });

  it('warn at 80 % of the cap on spend, and never without a cap', () => {
    expect(alerts).toContain(
      'max(svc_anchor_spend_reserved) / (max(svc_anchor_spend_cap) > 0) > 0.8',
    );
  });

  it('show every metric of the service on the dashboard', () => {
    const shown = new Set(queries.flatMap(({ expr }) => metricsIn(expr)).map(family));

    const own = [...exposed].filter((name) => name.startsWith('svc_')).map(family);
    expect(own.filter((name) => !shown.has(name))).toEqual([]);
  });

  it('have a section of the dashboard for each subject', () => {
    const rows = dashboard.panels.filter(({ type }) => type === 'row').map(({ title }) => title);

    expect(rows).toEqual([
      'Requests',
      'Anchoring',
      'Store',
      'Money',
      'Quotas',
      'Streams and webhooks',
      'Process',
    ]);
  });
});

/** The metric of a series, without the ending of a histogram's series. */
function family(name: string): string {
  return name.replace(/_(bucket|sum|count)$/, '');
}

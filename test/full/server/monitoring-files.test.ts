import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/server/metrics/metrics.ts';
import { createTestClock } from '../../support/clock.ts';
import { needsProgram } from '../../support/require-program.ts';

const deploy = path.resolve(import.meta.dirname, '../../../deploy');

interface Panel {
  title: string;
  type: string;
  targets?: { expr: string }[];
}

const dashboard: { panels: Panel[] } = JSON.parse(
  readFileSync(path.join(deploy, 'grafana-dashboard.json'), 'utf8'),
);

const queries = dashboard.panels.flatMap(({ title, targets = [] }) =>
  // As Grafana sends them.
  targets.map(({ expr }) => ({ title, expr: expr.replaceAll('$__rate_interval', '1m') })),
);

describe('the monitoring files', () => {
  let _exposed: Set<string>;
  let folder: string;
  beforeAll(async () => {
    const { text } = await createMetrics(createTestClock()).read(async () => ({ degraded: [] }));
    const declared = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)];
    _exposed = new Set(
      declared.flatMap(([, name = '', type]) =>
        type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name],
      ),
    );
    folder = mkdtempSync(path.join(tmpdir(), 'svc-monitoring-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('are valid for Prometheus', (context) => {
    const promtool = needsProgram(context, 'promtool');
    const rules = queries.map(({ expr }, i) => ({ record: `panel:${i}`, expr }));
    const file = path.join(folder, 'dashboard.json');
    // JSON is YAML.
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));

    for (const each of [file, path.join(deploy, 'alerts.yml')]) {
      const { status, stdout, stderr } = spawnSync(promtool, ['check', 'rules', each]);
      expect([status, `${stdout}${stderr}`]).toEqual([0, expect.stringContaining('SUCCESS')]);
    }
  });
});

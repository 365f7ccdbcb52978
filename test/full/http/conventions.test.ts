import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Owner, startServiceWithRobot, type TestService } from '../../support/service.ts';

let service: TestService;
let owner: Owner;
beforeAll(async () => {
  ({ service, owner } = await startServiceWithRobot({ chain: 'mining' }));
});
afterAll(() => service.close());

describe('a call with a robot key', () => {
  it('is refused above the limit, even if its path cannot be decoded', async () => {
    const { apiKey } = await service.makeRobot(owner);
    const call = () => service.call('GET', '/api/v1/tasks/%zz', { apiKey });

    // A minute may end on the way.
    let reply = await call();
    for (let n = 0; n < 1200 && reply.status !== 429; n += 1) reply = await call();

    expect([reply.status, reply.body.error]).toEqual([429, 'rate_limited']);
  });
});

describe('a table for spreadsheets', () => {
  const table = async (path: string) => {
    const headers = { cookie: `svc_session=${owner.session}`, accept: 'text/csv' };
    const response = await fetch(`${service.url}/api/v1${path}`, { headers });
    return { response, lines: (await response.text()).trimEnd().split('\r\n') };
  };

  it('contains all tasks, and no text that would run as a formula', async () => {
    const writer = await service.makeRobot(owner, 'writer');
    await service.claim(writer, { title: '＝1+1' });
    const formula = '=HYPERLINK("https://evil.test";"x")';
    const titles = Array.from({ length: 205 }, (_, n) => `Task ${n}`);
    await Promise.all(titles.map((title) => service.claim(writer, { title })));
    await service.claim(writer, { title: formula });

    const { response, lines } = await table(`/tasks?robot_id=${writer.id}`);

    expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(response.headers.get('x-ratelimit-limit')).not.toBeNull();
    expect(lines).toHaveLength(1 + 207);
    expect(lines[0]).toMatch(/^id,title,description,status,/);
    expect(lines.at(-1)).toContain(`,"'＝1+1",`);
    expect(lines[1]).toContain(`"'=HYPERLINK(""https://evil.test"";""x"")"`);
  });
});

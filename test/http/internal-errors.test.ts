import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../support/service.ts';

describe('an internal error', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });
  afterAll(() => service.close());

  it('is answered with only the request id, and logged once with its stack', async () => {
    const { baseUrl } = service.settings;
    service.settings.baseUrl = 'no origin: secret';

    const headers = { 'x-request-id': 'lost-1', origin: baseUrl };
    const reply = await service.call('GET', '/healthz', { headers });

    service.settings.baseUrl = baseUrl;
    const lines = service.logLines.filter((line) => line.includes('"lost-1"'));
    expect(reply.status).toBe(500);
    expect(reply.body).toEqual({
      error: 'internal_error',
      message: 'Unexpected error. Give the operator the request id lost-1.',
    });
    expect(lines.filter((line) => line.includes('"stack"'))).toHaveLength(1);
  });
});

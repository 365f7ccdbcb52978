import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../support/service.ts';

describe('the API reference page', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });
  afterAll(() => service.close());

  it('shows the API without content from other sites', async () => {
    const response = await fetch(`${service.url}/docs`);
    const html = await response.text();
    const policy = response.headers.get('content-security-policy') ?? '';

    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).not.toContain('unsafe');
    expect(html).not.toMatch(/https?:|<script>|<style|style=|onload=/);
  });

  it('serves every file that the page names', async () => {
    const html = await (await fetch(`${service.url}/docs`)).text();
    const files = [...html.matchAll(/(?:src|href)="(\/[^"]+\.(?:js|css))"/g)].map(
      ([, file]) => file,
    );

    expect(files.join()).toMatch(/color-scheme\.js.*docs-.*\.js.*docs-.*\.css/);
    for (const file of files) {
      const response = await fetch(`${service.url}${file}`);
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toMatch(
        /^(text\/css|(text|application)\/javascript); charset=utf-8$/,
      );
      expect(response.headers.get('x-ratelimit-limit')).toBe('600');
    }
  });

  it('serves no other file under its address', async () => {
    for (const file of ['package.json', 'index.html', '../package.json', '%2e%2e/package.json']) {
      expect((await service.call('GET', `/docs/${file}`)).status).toBe(404);
    }
  });

  it.each([
    ['a path that leaves the folder', '/assets/..%2findex.html', {}, 404, 'not_found'],
    ['a hidden step up', '/assets/a%2f..%2f..%2findex.html', {}, 404, 'not_found'],
    ['an empty segment', '/assets//x.js', {}, 404, 'not_found'],
    ['a folder', '/assets/', {}, 404, 'not_found'],
    ['a zero byte', '/assets/%00', {}, 400, 'invalid_request'],
    ['a range behind the end', '/icon.svg', { range: 'bytes=99999999-' }, 416, 'invalid_range'],
    ['a version of elsewhere', '/icon.svg', { 'if-match': '"x"' }, 412, 'precondition_failed'],
    [
      'a date before the file',
      '/color-scheme.js',
      { 'if-unmodified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' },
      412,
      'precondition_failed',
    ],
  ])('answers %s as a caller error, without a stack in the log', async (...attack) => {
    const [, path, headers, status, error] = attack;
    const logged = service.logLines.length;
    const reply = await service.call('GET', path, { headers });

    expect([reply.status, reply.body.error]).toEqual([status, error]);
    expect(service.logLines.slice(logged).join('')).not.toMatch(/"level":50|stack/);
  });

  it('serves the document that it shows', async () => {
    const { status, body } = await service.call('GET', '/openapi.json');

    expect(status).toBe(200);
    expect(body.paths['/api/v1/tasks/{id}/complete'].post.operationId).toBe('completeTask');
  });
});

describe('every answer', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });
  afterAll(() => service.close());

  it.each(['/healthz', '/api/v1/me', '/nowhere', '/api/v1/tasks/%'])(
    'of %s forbids content sniffing, framing and referrers',
    async (path) => {
      const { headers } = await service.call('GET', path);

      expect(headers.get('x-content-type-options')).toBe('nosniff');
      if (path.endsWith('%')) return;
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('strict-transport-security')).toBeNull();
    },
  );

  it('over https sends Strict-Transport-Security', async () => {
    const secure = await startTestService({ settings: { baseUrl: 'https://svc.example' } });

    const { headers } = await secure.call('GET', '/healthz');

    expect(headers.get('strict-transport-security')).toMatch(/^max-age=\d+/);
    await secure.close();
  });
});

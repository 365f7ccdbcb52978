import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../support/service.ts';

const built = path.resolve(import.meta.dirname, '../../dist/dashboard');

/** Bytes of JavaScript, gzipped, that a browser loads before it shows the first view. */
const FIRST_LOAD = 200 * 1024;

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

const get = (address: string) => fetch(service.url + address);
const hash = `0x${'ab'.repeat(32)}`;

describe('the dashboard', () => {
  it.each([
    '/',
    '/sign-in',
    '/robots',
    '/robots/x',
    '/fleets',
    '/tasks',
    '/tasks/x',
    '/events',
    '/account',
    '/access',
    '/verify',
    `/verify/${hash}`,
    `/tx/${hash}`,
  ])('answers %s with its document, which is never cached', async (address) => {
    const response = await get(address);

    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('cache-control')).toBe('private, no-store');
    expect(response.headers.get('x-ratelimit-limit')).toBe('600');
    expect(await response.text()).toContain('<div id="root">');
  });

  it('allows only its own scripts and styles, and styles with the nonce', async () => {
    const [first, second] = await Promise.all([get('/'), get('/')]);
    const policy = first.headers.get('content-security-policy') ?? '';
    const html = await first.text();
    const nonce = /name="csp-nonce" content="([0-9a-f]{32})"/.exec(html)?.[1];

    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("connect-src 'self'");
    expect(policy).toContain(`style-src 'self' 'nonce-${nonce}'`);
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(html).not.toMatch(/https?:|<script>|<style|style=|\son\w+=/);
    expect(await second.text()).not.toContain(nonce);
  });

  it('names files whose content never changes', async () => {
    const html = await (await get('/')).text();
    const files = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, file]) => file);

    expect(files.length).toBeGreaterThanOrEqual(2);
    for (const file of files) {
      const response = await get(`${file}`);
      expect(response.status).toBe(200);
      expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(response.headers.get('content-type')).toMatch(
        /^(text\/css|application\/javascript); charset=utf-8$/,
      );
    }
  });

  it('sends its scripts and styles compressed, as they were built', async () => {
    const html = await (await get('/')).text();
    const file = /src="(\/assets\/[^"]+\.js)"/.exec(html)?.[1] ?? '';
    const plain = await fetch(service.url + file, { headers: { 'accept-encoding': 'identity' } });
    const compressed = await fetch(service.url + file, { headers: { 'accept-encoding': 'gzip' } });

    expect(compressed.headers.get('content-encoding')).toBe('gzip');
    expect(compressed.headers.get('vary')).toContain('accept-encoding');
    expect(compressed.headers.get('content-type')).toBe(plain.headers.get('content-type'));
    // Not as texts, whose difference would fill the report.
    expect((await compressed.text()) === (await plain.text())).toBe(true);
    expect(plain.headers.get('content-encoding')).toBeNull();
  });

  it('has no source map and no reference to one', async () => {
    const files = await readdir(built, { recursive: true });
    const scripts = files.filter((file) => file.endsWith('.js'));

    expect(files.filter((file) => file.endsWith('.map'))).toEqual([]);
    expect(scripts.length).toBeGreaterThan(10);
    for (const file of scripts) {
      expect(await readFile(path.join(built, file), 'utf8')).not.toContain('sourceMappingURL');
    }
  });

  it.each([
    '/assets/none.js',
    '/assets/',
    '/assets/../index.html',
    '/assets/%2e%2e/index.html',
    '/robots/x/y',
  ])('answers %s with a plain 404', async (address) => {
    const { status, body, headers } = await service.call('GET', address);

    expect([status, body.error]).toEqual([404, 'not_found']);
    expect(headers.get('cache-control')).toBe('private, no-store');
    expect(headers.get('x-ratelimit-limit')).toBe('600');
  });

  it('does not show a title from a link', async () => {
    const html = await (await get('/verify/0x%3C/title%3E%3Cscript%3E')).text();

    expect(html).not.toContain('<script>');
  });

  it('is small enough for a phone on a slow network', async () => {
    const html = await readFile(path.join(built, 'index.html'), 'utf8');
    const scripts = [...html.matchAll(/(?:src|href)="(\/[^"]+\.js)"/g)].map(
      ([, file]) => file ?? '',
    );
    const sizes = await Promise.all(
      [...new Set([...scripts, ...(await importedBy('overview'))])].map(
        async (file) => gzipSync(await readFile(path.join(built, file))).length,
      ),
    );

    expect(scripts).toContain('/color-scheme.js');
    expect(sizes.reduce((total, size) => total + size, 0)).toBeLessThan(FIRST_LOAD);
  });
});

/** A view's file and all that it imports, whether or not the document does too. */
async function importedBy(view: string): Promise<string[]> {
  const files = await readdir(path.join(built, 'assets'));
  const found = new Set<string>();
  const waiting = files.filter((file) => file.startsWith(`${view}-`) && file.endsWith('.js'));
  for (const file of waiting) {
    if (found.has(file)) continue;
    found.add(file);
    const text = await readFile(path.join(built, 'assets', file), 'utf8');
    const imports = [...text.matchAll(/(?:from|import)\s*["']\.\/([^"']+\.js)["']/g)];
    waiting.push(...imports.map(([, name]) => name ?? ''));
  }
  return [...found].map((file) => `/assets/${file}`);
}

import { describe, expect, it } from 'vitest';
import {
  afterFailure,
  connectionRule,
  connectionRules,
  refusalOfUrl,
} from '../../src/server/rules/webhooks.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const IPV6_END = 'ffff:ffff:ffff:ffff:ffff:ffff';

describe('a webhook', () => {
  const mayConnect = connectionRule([]);

  it.each([
    ['0.0.0.0', '0.255.255.255', null, '1.0.0.0'],
    ['10.0.0.0', '10.255.255.255', '9.255.255.255', '11.0.0.0'],
    ['100.64.0.0', '100.127.255.255', '100.63.255.255', '100.128.0.0'],
    ['127.0.0.0', '127.255.255.255', '126.255.255.255', '128.0.0.0'],
    ['168.63.129.16', '168.63.129.16', '168.63.129.15', '168.63.129.17'],
    ['169.254.0.0', '169.254.255.255', '169.253.255.255', '169.255.0.0'],
    ['172.16.0.0', '172.31.255.255', '172.15.255.255', '172.32.0.0'],
    ['192.0.0.0', '192.0.0.255', '191.255.255.255', '192.0.1.0'],
    ['192.0.2.0', '192.0.2.255', '192.0.1.255', '192.0.3.0'],
    ['192.88.99.0', '192.88.99.255', '192.88.98.255', '192.88.100.0'],
    ['192.168.0.0', '192.168.255.255', '192.167.255.255', '192.169.0.0'],
    ['198.18.0.0', '198.19.255.255', '198.17.255.255', '198.20.0.0'],
    ['198.51.100.0', '198.51.100.255', '198.51.99.255', '198.51.101.0'],
    ['203.0.113.0', '203.0.113.255', '203.0.112.255', '203.0.114.0'],
    ['224.0.0.0', '255.255.255.255', '223.255.255.255', null],
    ['::', `1fff:ffff:${IPV6_END}`, null, '2000::'],
    ['2001::', `2001:1ff:${IPV6_END}`, `2000:ffff:${IPV6_END}`, '2001:200::'],
    ['2001:db8::', `2001:db8:${IPV6_END}`, `2001:db7:${IPV6_END}`, '2001:db9::'],
    ['2002::', `2002:ffff:${IPV6_END}`, `2001:ffff:${IPV6_END}`, '2003::'],
    ['3fff::', `3fff:fff:${IPV6_END}`, `3ffe:ffff:${IPV6_END}`, '3fff:1000::'],
    ['4000::', `ffff:ffff:${IPV6_END}`, `3fff:ffff:${IPV6_END}`, null],
  ])('connects to no address from %s to %s', (first, last, before, after) => {
    expect([first, last].map(mayConnect)).toEqual([false, false]);
    for (const beside of [before, after])
      if (beside !== null) expect(mayConnect(beside)).toBe(true);
  });

  it('connects to the ranges and addresses that the operator allows', () => {
    const mayConnect = connectionRule(['10.1.0.0/16', '192.168.0.7', 'fd00::/16', '::1']);

    for (const allowed of ['10.1.255.255', '192.168.0.7', 'fd00::1', '::1', '9.9.9.9']) {
      expect(mayConnect(allowed)).toBe(true);
    }
    for (const refused of ['10.2.0.0', '192.168.0.8', 'fd01::', '::2']) {
      expect(mayConnect(refused)).toBe(false);
    }
  });

  it('of a wallet that the operator did not name connects to public addresses only', () => {
    const [named, other] = [`0x${'aB'.repeat(20)}`, `0x${'cd'.repeat(20)}`];
    const ruleOf = connectionRules(['10.1.0.0/16'], [named]);

    for (const wallet of [named, named.toLowerCase()]) {
      expect(['10.1.0.1', '10.2.0.1', '9.9.9.9'].map(ruleOf(wallet))).toEqual([true, false, true]);
    }
    expect(['10.1.0.1', '9.9.9.9'].map(ruleOf(other))).toEqual([false, true]);
  });

  it('connects to nothing that is not an address', () => {
    expect(mayConnect('example.org')).toBe(false);
    expect(mayConnect('')).toBe(false);
  });

  it.each([
    ['example.org', 'it is not a URL'],
    ['http://example.org/', 'it is not https'],
    ['https://user@example.org/', 'it has credentials'],
    ['https://:password@example.org/', 'it has credentials'],
    ['https://10.0.0.1/', 'its address is not public'],
    ['https://[::1]/', 'its address is not public'],
  ])('for %s is refused because %s', (url, reason) => {
    expect(refusalOfUrl(url, mayConnect)).toBe(reason);
  });

  it.each(['https://9.9.9.9/', 'https://[2620:fe::fe]/', 'https://example.org/'])(
    'may have the URL %s',
    (url) => {
      expect(refusalOfUrl(url, mayConnect)).toBeNull();
    },
  );
});

describe('a failed message', () => {
  it('is retried after growing pauses, up to four hours', () => {
    const pauses = [5 * SECOND, 30 * SECOND];
    for (const minutes of [2, 10, 30, 60, 120, 240, 240, 240]) pauses.push(minutes * MINUTE);

    const retries = pauses.map((_, failures) => afterFailure(failures, null, HOUR));

    expect(retries).toEqual(pauses.map((pause) => ({ at: HOUR + pause })));
  });

  it('disables its webhook three days after the first failure in a row', () => {
    expect(afterFailure(20, HOUR, HOUR + 3 * DAY - 1)).toHaveProperty('at');
    expect(afterFailure(20, HOUR, HOUR + 3 * DAY)).toEqual({ disable: 'failures' });
  });

  it('disables no webhook before 20 failures in a row, whatever the clock shows', () => {
    expect(afterFailure(18, HOUR, HOUR + 300 * DAY)).toHaveProperty('at');
    expect(afterFailure(19, HOUR, HOUR + 300 * DAY)).toEqual({ disable: 'failures' });
  });
});

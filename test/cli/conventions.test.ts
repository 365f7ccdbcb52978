import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { cliPage } from '../../docs/cli-page.ts';
import { SvcError } from '../../src/base/svc-error.ts';
import { groupsFor } from '../../src/cli/groups.ts';
import { exitCodeOf, exitCodes, meanings } from '../../src/cli/program/exit-codes.ts';
import { reportError } from '../../src/cli/program/report-error.ts';
import { errors } from '../../src/protocol/errors.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { createSvcUser, registerRobot, type SvcUser } from '../support/svc.ts';

let service: TestService;
let user: SvcUser;

beforeAll(async () => {
  service = await startTestService();
  user = await createSvcUser(service.url);
  await user.signIn();
  await registerRobot(service.url, user, 'arm');
});
afterAll(async () => {
  await user.remove();
  await service.close();
});

describe('svc COMMAND --help', () => {
  it('has the summary of docs/cli.md, and the details and options of the declaration', async () => {
    const { stdout } = await runInProcess('svc', ['verify', '--help']);

    const help = stdout.replaceAll(/\s+/g, ' ');
    const [, summary = ''] = /`svc verify <subject>`: (.+)\./.exec(await cliPage()) ?? [];
    expect(summary).not.toBe('');
    expect(help).toContain(summary);
    const commands = (await groupsFor([])).flatMap((group) => group.commands);
    const verify = commands.find(({ path }) => path === 'verify');
    const paragraphs = verify?.details?.split('\n\n') ?? [];
    expect(paragraphs.length).toBeGreaterThan(3);
    for (const paragraph of paragraphs) expect(help).toContain(paragraph.replaceAll(/\s+/g, ' '));
    for (const { flags } of verify?.options ?? []) expect(help).toContain(flags);
  });

  it('lists the values of an option once', async () => {
    const { stdout } = await runInProcess('svc', ['webhooks', 'create', '--help']);

    expect(stdout.match(/task\.verified/g)).toHaveLength(1);
  });
});

describe('unknown input of svc', () => {
  it.each([
    [['robots', 'lst'], 'Did you mean list?'],
    [['robts'], 'Did you mean robots?'],
    [['robots', 'list', '--jsn'], 'Did you mean --json?'],
    [['tasks', 'list', '--status', 'done'], 'claimed, verified'],
    [['tasks', 'list', '--limit', '0'], 'whole number above 0'],
    [['verify', 'bundle.json', '--rpc', 'x'], 'Did you mean --rpc-url?'],
    [['tasks', 'list', '--status', 'verifed'], 'Did you mean verified?'],
    [['events', '--severity', 'warning'], 'info, warn, error'],
    [['telemetry', 'arm', '--resolution', 'hours'], 'Did you mean hour?'],
    [['alerts', 'watch', 'robot_ofline'], 'Did you mean robot_offline?'],
    [
      ['webhooks', 'create', 'https://example.org', '--event', 'alert.open'],
      'Did you mean alert.opened?',
    ],
    [['tokens', 'create', 'ci', '--scope', 'wrte'], 'Did you mean write?'],
    [['telemetry', 'arm', '--from', 'yesterday'], 'date (UTC), or date and time with a time zone'],
    [['telemetry', 'arm', '--to', '2026-13-01'], 'date (UTC), or date and time with a time zone'],
    [
      ['webhooks', 'create', 'https://example.org', '--event', 'alert.opened,alert.closed'],
      'Separate values with spaces.',
    ],
    [['robots', 'move', 'a', '--fleet', 'X', '--no-fleet'], '--fleet and --no-fleet exclude each'],
    [['robots', 'list', '--no-fleet', '--fleet', 'X'], '--fleet and --no-fleet exclude each other'],
    [['fleets', 'update', 'X', '--tag', 'a', '--no-tag'], '--tag and --no-tag exclude each other'],
    [['webhooks', 'update', 'X', '--enable', '--disable'], '--enable and --disable exclude each'],
    [['webhooks', 'update', 'X'], 'Nothing to change. Give --to, --event, --enable or --disable.'],
    [['webhooks', 'replay', '6b536ca2'], '<delivery> must be the whole id of a message.'],
    [['robots', 'show'], "Missing required argument 'robot'"],
    [['robots', 'list', 'extra'], 'Too many arguments'],
    [['help', 'robts'], 'Did you mean robots?'],
    [['help', 'exit-code'], 'Did you mean exit-codes?'],
    [['help', 'nothing'], 'Choose a command'],
    [['completion', 'powershell'], 'bash, zsh, fish'],
  ])('%j is a usage error with a suggestion', async (args, help) => {
    const { exitCode, stdout, stderr } = await user.svc(args);

    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^svc: (?:[A-Z]|--|<).*\.\n/);
    expect(stderr).toContain(help);
  });

  it('has its suggestion in the hint with --json, too', async () => {
    const { stderr } = await user.svc(['tasks', 'list', '--status', 'verifed', '--json']);

    expect(JSON.parse(stderr)).toMatchObject({
      message: expect.stringMatching(/^Option '--status <status>' .* claimed, verified\.$/),
      hint: expect.stringMatching(/^Did you mean verified\?\n/),
    });
  });

  it('does not reach the terminal unescaped', async () => {
    const { exitCode, stderr } = await user.svc(['ro\u001b[31mbots']);

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('ro\\u{1b}[31mbots')]);
  });
});

describe('--json', () => {
  it.each([
    [['robots', 'show', 'nothing'], 5, 'not_found'],
    [['robots', 'show', 'arm', '--url', 'x'], 2, 'usage'],
    [['robts'], 2, 'usage'],
    [['robots'], 2, 'usage'],
    [['robots', 'list', '--jsn'], 2, 'usage'],
    [['robots', 'list', '--profile', 'nope'], 5, 'not_found'],
  ])('prints the error of %j as JSON', async (args, code, error) => {
    const { exitCode, stdout, stderr } = await user.svc([...args, '--json']);

    expect([exitCode, stdout]).toEqual([code, '']);
    expect(JSON.parse(stderr)).toMatchObject({ error, message: expect.any(String) });
  });
});

describe('a value that the service refuses', () => {
  it.each([
    [['tokens', 'create', 'ci', '--days', '366'], '--days must be at most 365.'],
    [['robots', 'create', 'x'.repeat(81)], '<name> must have at most 80 characters.'],
    [['robots', 'update', 'arm', '--name', 'x'.repeat(81)], '--name must have at most 80'],
    [['fleets', 'create', 'Hall', '--tag', 'a', 'x'.repeat(33)], '--tag must have at most 32'],
    [['tasks', 'list', '--cursor', '?'], '--cursor '],
    [['webhooks', 'create', `https://${'x'.repeat(3000)}`], '<url> must have at most '],
    [['alerts', 'watch', 'battery_low', '--threshold', '101'], '--threshold must be at most 100 '],
  ])('%j is quoted as it was typed', async (args, message) => {
    const { exitCode, stderr } = await user.svc(args);

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(`svc: ${message}`)]);
  });
});

describe('a question without a terminal', () => {
  it.each([
    [['webhooks', 'listen'], '--secret-file'],
    [['wallet', 'new', '--keystore', 'new.json'], '--password-file'],
    [['login', '--manual'], '--address'],
  ])('%j names the option that answers it', async (args, option) => {
    const { exitCode, stderr } = await user.svc(args);

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('Cannot ask for an answer: ')]);
    expect(stderr).toContain(`\nGive ${option}, or run it in a terminal, without --no-input.\n`);
  });
});

describe('a rate limit', () => {
  it.each([['The limit is 300 requests per minute. Retry in 11 s.'], ['Too many requests.']])(
    'prints the retry time once: %s',
    (message) => {
      const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
      onTestFinished(() => written.mockRestore());
      const error = new SvcError('rate_limited', message, { details: { retry_after: 11 } });

      expect(reportError(error, null, null)).toBe(exitCodes.refused);

      const text = written.mock.calls.join('');
      expect(text.split('Retry in 11 s.')).toHaveLength(2);
    },
  );
});

describe('a document', () => {
  it.each([
    ['a byte order mark', '\uFEFF{}', 'begins with a byte order mark'],
    ['a syntax error', '{', 'Not JSON'],
    ['no object or array', '1', 'is not a proof'],
  ])('with %s is a usage error', async (_, input, reason) => {
    const { exitCode, stderr } = await user.svc(['hash', '-'], { input });

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(reason)]);
  });
});

describe('exit codes', () => {
  it('are one table, printed by svc help exit-codes', async () => {
    const { stdout } = await runInProcess('svc', ['help', 'exit-codes']);

    const rows = Object.entries(exitCodes).map(
      ([name, code]) => `${code}\t${meanings[name as keyof typeof meanings]}\n`,
    );
    expect(stdout).toBe(rows.join(''));
  });

  it.each(Object.entries(errors))('%s follows its HTTP status', (code, { status }) => {
    const expected: Partial<Record<number, number>> = {
      401: exitCodes.signInNeeded,
      402: exitCodes.refused,
      404: exitCodes.notFound,
      429: exitCodes.refused,
      503: exitCodes.unreachable,
    };
    const special: Record<string, number> = {
      invalid_signature: exitCodes.failed,
      anchor_queued: exitCodes.pending,
    };
    const wanted = special[code] ?? expected[status];
    if (wanted !== undefined) expect(exitCodeOf(code)).toBe(wanted);
    const isLimit = /limit|quota|credit/.test(code);
    if (isLimit) expect(exitCodeOf(code)).toBe(exitCodes.refused);
    expect(Object.values(exitCodes)).toContain(exitCodeOf(code));
  });
});

describe('--quiet', () => {
  it('does not suppress data and errors', async () => {
    const made = await user.svc(['robots', 'create', 'silent', '--quiet']);
    const failed = await user.svc(['robots', 'show', 'unknown', '--quiet']);

    expect(made.stderr).toBe('');
    expect(made.stdout).toMatch(/^svc_/);
    expect(failed.stderr).toContain('There is no robot');
  });
});

describe('svc doctor', () => {
  it('exits with 7 if nothing answers', async () => {
    const { exitCode, stdout } = await user.svc(['doctor', '--url', 'http://127.0.0.1:9']);

    expect([exitCode, stdout]).toEqual([7, expect.stringMatching(/^service\tfailed\t/)]);
  });

  it('warns about a degraded service, with the balance, the required amount and the remedy', async () => {
    const low = await startTestService();
    onTestFinished(low.close);
    const address = `0x${'12'.repeat(20)}`;
    const sender = { chainId: 31_337, address };
    const lease = await low.store.acquireLease(sender, 'test', 60_000, Date.now());
    if (lease === null) throw new Error('The lease is held by another');
    const degraded = [
      'clock_implausible',
      'nonce_conflict',
      'restored',
      'sender_busy',
      'underfunded',
    ];
    const funds = { balance: 5n * 10n ** 13n, neededWei: 12n * 10n ** 13n };
    const status = { degraded, parked: 0, now: Date.now(), ...funds };
    await low.store.saveChainStatus(lease, status);

    const { stdout } = await user.svc(['doctor', '--url', low.url]);
    const json = JSON.parse((await user.svc(['doctor', '--json', '--url', low.url])).stdout);

    const lines = stdout.split('\n');
    expect(lines).toContain(`service\tok\t${low.url} accepts requests`);
    expect(lines).toContain(
      `degraded\twarning\tunderfunded: anchors wait. The balance of ${address} is 0.00005 ETH, and its next anchor needs 0.00012 ETH. Send ETH to this address.`,
    );
    const clock = /^degraded\twarning\tclock_implausible: .*anchoring goes on.*clock confirm\.$/m;
    expect(stdout).toMatch(clock);
    expect(stdout).toMatch(/^degraded\twarning\tchain_unreachable: .*Check endpoints/m);
    expect(stdout).toMatch(/^degraded\twarning\tnonce_conflict: .*final.*reconcile --yes/m);
    expect(stdout).toMatch(/^degraded\twarning\trestored: .*or the operator paused anchoring/m);
    expect(stdout).toMatch(/^degraded\twarning\tsender_busy: .*docs\/operations\.md/m);
    const warned = { name: 'degraded', ok: true, warning: true };
    expect(json.checks).toContainEqual({
      ...warned,
      detail: expect.stringMatching(/^underfunded/),
    });
  });

  it('names the command that signs in, and exits with 4', async () => {
    const stranger = await createSvcUser(service.url);

    const { exitCode, stdout } = await stranger.svc(['doctor', '--url', service.url]);

    expect(exitCode).toBe(4);
    expect(stdout).toMatch(/^service\tok\t/);
    expect(stdout).toContain(`Sign in with: svc login ${service.url}\n`);
    await stranger.remove();
  });
});

describe('completion in bash', () => {
  it('prints nothing without a session', async () => {
    const stranger = await createSvcUser(service.url);

    const { exitCode, stdout, stderr } = await stranger.svc(['__complete', 'robots', 'show', '']);

    expect([exitCode, stdout, stderr]).toEqual([0, '', '']);
    await stranger.remove();
  });
});

describe('completion in every shell', () => {
  it.each(['bash', 'zsh', 'fish'])('%s passes the words to svc __complete', async (shell) => {
    const { stdout } = await user.svc(['completion', shell]);

    expect(stdout).toMatch(/^ .*\bsvc __complete .* 2>\/dev\/null\)/m);
  });

  it('reads one candidate and its description per line, separated by a tab', async () => {
    const { stdout } = await user.svc(['__complete', 'robots', 'ro']);
    const without = await user.svc(['__complete', 'tasks', 'list', '--status', '']);

    expect(stdout).toBe(
      'rotate-key\tIssue a new API key and show it one time; the old key stops working immediately\n',
    );
    expect(without.stdout).toBe('claimed\t\nverified\t\n');
  });
});

describe('completion of what the account has', () => {
  it('offers the names of tokens', async () => {
    await user.svc(['tokens', 'create', 'nightly report']);

    const { stdout } = await user.svc(['__complete', 'tokens', 'revoke', 'ni']);

    expect(stdout).toMatch(/^nightly report\t[0-9a-f-]{36}\n$/);
  });

  it.each([['tasks', 'show'], ['tasks', 'watch'], ['bundle']])(
    'offers the ids of tasks with their titles: svc %s %s',
    async (...words) => {
      const { robot } = await registerRobot(service.url, user, `of ${words.join(' ')}`);
      const { body } = await robot.call('createTask', { body: { title: 'Pick parcels' } });

      const { id } = body.task;
      const { stdout } = await user.svc(['__complete', ...words, id.slice(0, -2)]);

      expect(stdout).toContain(`${id}\tPick parcels\n`);
    },
  );
});

describe('docs/cli.md', () => {
  it('matches the command table', async () => {
    const page = await readFile(new URL('../../docs/cli.md', import.meta.url), 'utf8');

    expect(page).toBe(await cliPage());
  });
});

import { randomUUID } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createProgram } from '../../src/agent/main.ts';
import { DiskReserve } from '../../src/agent/spool/limits.ts';
import { attachFiles } from '../../src/client/files.ts';
import { hashProof } from '../../src/proof/hash.ts';
import { createTestAgent, type TestAgent } from '../support/agent.ts';
import { photo, writeRecording } from '../support/recording.ts';
import { runInProcess } from '../support/run-in-process.ts';
import {
  type Owner,
  startTestService,
  type TestRobot,
  type TestService,
} from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

let service: TestService;
let owner: Owner;
let robot: TestRobot;
let daemon: TestAgent;

const file = (name: string) => path.join(daemon.folder, name);
const agent = (args: string[], input?: string) =>
  runInProcess('svc-agent', args, {
    env: daemon.environment,
    ...(input !== undefined && { input }),
  });

async function startAgent(): Promise<TestAgent> {
  const started = await createTestAgent({ url: service.url, apiKey: robot.apiKey });
  await started.start();
  await waitFor('the connection', async () => (await started.status()).connected);
  return started;
}

/** For tests that leave something behind, or that must find nothing. */
function useOwnAgent(): void {
  beforeEach(async () => {
    const shared = { robot, daemon };
    robot = await service.makeRobot(owner, 'arm');
    daemon = await startAgent();
    return async () => {
      await daemon.remove();
      ({ robot, daemon } = shared);
    };
  });
}

beforeAll(async () => {
  service = await startTestService({ chain: 'mining' });
  ({ owner, robot } = await service.signInWithRobot());
  daemon = await startAgent();
});

afterAll(async () => {
  await daemon?.remove();
  await service?.close();
});

describe('for shell scripts', () => {
  it('claim prints the id of a task, and complete prints its receipt', async () => {
    const proof = { picked: 12, spoken: 'Grüße' };
    await writeFile(file('evidence.json'), JSON.stringify(proof));

    const claimed = await agent(['claim', 'Pick parcels', '--description', 'Hall 2']);
    const task = claimed.stdout.trim();
    const completed = await agent(['complete', task, file('evidence.json'), '--wait', '60']);

    expect([claimed.exitCode, claimed.stderr, completed.exitCode]).toEqual([0, '', 0]);
    expect(JSON.parse(completed.stdout)).toMatchObject({
      task_id: task,
      proof_hash: hashProof(proof),
    });
    const receipt = await agent(['receipts', '--task', task]);
    // Blocks go on: it may have become final meanwhile.
    const finality = expect.any(String);
    expect(JSON.parse(receipt.stdout)).toEqual({ ...JSON.parse(completed.stdout), finality });
    const all = await agent(['receipts']);
    expect(all.stdout).toContain(task);
  });

  it('complete lists attached files in the evidence, with hashes', async () => {
    await writeFile(file('evidence.json'), '{ "picked": 12 }');
    await writeRecording(file('run.mcap'), 60);
    await writeFile(file('photo.jpg'), photo);
    const { stdout } = await agent(['claim', 'Map the hall']);
    const attach = ['--attach', file('run.mcap'), '--attach', file('photo.jpg')];

    const args = ['complete', stdout.trim(), file('evidence.json'), ...attach, '--wait', '60'];
    const completed = await agent(args);
    const again = await agent(args);

    const stored = `/api/v1/tasks/${stdout.trim()}/proof`;
    const { body } = await service.call('GET', stored, { session: owner.session });
    const attached = await attachFiles({ picked: 12 }, [file('run.mcap'), file('photo.jpg')]);
    expect(body.proof).toEqual(attached);
    expect(JSON.parse(completed.stdout).proof_hash).toBe(hashProof(attached));
    expect(again.exitCode).toBe(0);
  });

  it.each([
    ['an array', '[]', 'run.mcap'],
    ['evidence that has files already', '{ "files": [] }', 'run.mcap'],
    ['a text', '"evidence"', 'run.mcap'],
    ['a file that is not there', '{}', 'gone.mcap'],
  ])('complete attaches nothing to %s', async (_, evidence, name) => {
    await writeFile(file('run.mcap'), 'recording');

    const args = ['complete', randomUUID(), '-', '--attach', file(name)];
    const { exitCode, stdout } = await agent(args, evidence);

    expect([exitCode, stdout]).toEqual([2, '']);
  });

  it('complete exits with 8 only while this evidence is stored and not anchored', async () => {
    const task = await service.claim(robot);

    const first = await agent(['complete', task, '-'], '{"picked":1}');
    const second = await agent(['complete', task, '-'], '{"picked":2}');

    expect(first.exitCode).toBe(8);
    expect(JSON.parse(first.stdout)).toMatchObject({ error: 'anchor_unconfirmed', task_id: task });
    expect([second.exitCode, second.stdout]).toEqual([1, '']);
    expect(second.stderr).toContain('This evidence was NOT stored, because');
    expect(second.stderr).toContain('Claim a new task for this evidence.');
  });

  it('complete prints the receipt again for the same evidence, and none for other evidence', async () => {
    const task = await service.claim(robot);
    const first = await agent(['complete', task, '-', '--wait', '60'], '{"picked":1,"left":2}');

    const same = await agent(['complete', task, '-'], '{ "left": 2, "picked": 1 }');
    const other = await agent(['complete', task, '-'], '{"picked":2}');

    expect([first.exitCode, same.exitCode, other.exitCode]).toEqual([0, 0, 1]);
    const finality = expect.any(String);
    expect(JSON.parse(same.stdout)).toEqual({ ...JSON.parse(first.stdout), finality });
    expect(other.stdout).toBe('');
    expect(other.stderr).toContain('This evidence was NOT stored, because');
    expect(other.stderr).toContain(JSON.parse(first.stdout).proof_hash);
  });

  it('telemetry and event reach the service', async () => {
    const args = ['--battery', '81', '--state', 'busy', '--metric', 'speed_m_s=0.4'];
    expect((await agent(['telemetry', ...args])).exitCode).toBe(0);
    expect((await agent(['event', 'error', 'Jammed', '--severity', 'error'])).exitCode).toBe(0);

    /** Other tests of this file send samples and events too. */
    const find = async (what: string, member: string, value: unknown) => {
      const { body } = await service.call('GET', `/api/v1/${what}`, { session: owner.session });
      return body.items.find((one: Record<string, unknown>) => one[member] === value);
    };
    const sample = await waitFor('the sample', () =>
      find(`robots/${robot.id}/telemetry`, 'battery_pct', 81),
    );
    const event = await waitFor('the event', () => find('events', 'message', 'Jammed'));
    expect(sample).toMatchObject({ battery_pct: 81, state: 'busy', metrics: { speed_m_s: 0.4 } });
    expect(event).toMatchObject({ event_type: 'error', message: 'Jammed', severity: 'error' });
  });

  it.each([
    [['claim'], 2],
    [['telemetry', '--metric', 'speed'], 2],
    [['telemetry', '--metric', 'speed='], 2],
    [['telemetry', '--metric', 'speed=0x10'], 2],
    [['telemetry', '--battery', ''], 2],
    [['telemetry', '--battery', 'abc'], 2],
    [['telemetry', '--battery', '101'], 2],
    [['telemetry', 'samples.json', '--battery', '1'], 2],
    [['complete', 'x', '-', '--wait', '1e2'], 2],
    [['complete', 'x', '-', '--wait', '601'], 2],
    [['complete', 'x', '/nowhere'], 2],
    // No task has such an id.
    [['complete', 'x', '-'], 1],
    [['event', ''], 2],
    [['event', 'info', '--severity', 'bad'], 2],
  ])('%j exits with %i and records nothing', async (args, code) => {
    const { exitCode, stdout, stderr } = await agent(args, '{}');

    expect([exitCode, stdout, stderr]).toEqual([code, '', expect.not.stringContaining('recorded')]);
  });

  it.each([
    ['a byte order mark', '\uFEFF{}', 'byte order mark'],
    ['no JSON', '{', 'standard input: Not JSON'],
    ['a name twice', '{"a":1,"a":2}', '/a'],
  ])('complete refuses evidence with %s', async (_, input, reason) => {
    const { exitCode, stderr } = await agent(['complete', randomUUID(), '-'], input);

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(reason)]);
  });
});

describe('every command', () => {
  const pathsOf = (command: Command): string[][] => [
    [],
    ...command.commands.flatMap((one) => pathsOf(one).map((path) => [one.name(), ...path])),
  ];

  it('prints its help', async () => {
    const paths = pathsOf(await createProgram(() => {}));
    expect(paths.length).toBeGreaterThan(15);
    for (const path of paths) {
      const { exitCode, stdout } = await agent([...path, '--help']);
      const usage = `Usage: ${['svc-agent', ...path].join(' ')} `;
      expect([exitCode, stdout.slice(0, usage.length)]).toEqual([0, usage]);
    }
  });

  it('escapes unknown input, and reports it as JSON with --json', async () => {
    const text = await agent(['ru\u001b[31mn']);
    const json = await agent(['status', '--jsn', '--json']);

    expect(text.exitCode).toBe(2);
    expect(text.stderr).toMatch(/^svc-agent: Unknown command 'ru\\u\{1b\}\[31mn'\.\n/);
    expect([json.exitCode, JSON.parse(json.stderr).error]).toEqual([2, 'usage']);
  });

  it('is completed by the shell', async () => {
    const script = await agent(['completion', 'bash']);
    const commands = await agent(['__complete', 'sp']);
    const options = await agent(['__complete', 'event', 'info', '--se']);
    const values = await agent(['__complete', 'event', 'info', '--severity', 'w']);

    expect(script.stdout).toContain('complete -o default -F _svc_agent svc-agent\n');
    expect(commands.stdout).toMatch(/^spool\t.*\n$/);
    expect(options.stdout).toMatch(/^--severity\t/);
    expect(values.stdout).toBe('warn\t\n');
  });
});

describe('a completion that is set aside', () => {
  useOwnAgent();

  /** Set aside: the task has another proof already. */
  const setAside = async (): Promise<string> => {
    const task = await service.claim(robot);
    await service.complete(robot, task);
    expect((await agent(['complete', task, '-', '--wait', '60'], '{"lost":1}')).exitCode).toBe(1);
    return task;
  };

  it('is not kept for a task that the service does not know: the call is refused', async () => {
    const { exitCode, stderr } = await agent(['complete', randomUUID(), '-'], '{"picked":1}');

    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('does not know task')]);
    expect(stderr).toContain('To store the evidence nevertheless, add --anyway.');
    expect((await agent(['status'])).stdout).toContain('set aside   none\n');
  });

  it.each([[[]], [['--anyway']]])(
    'is not offered for an id that is no UUID (%j)',
    async (options) => {
      const { exitCode, stderr } = await agent(
        ['complete', 'foo', '-', ...options],
        '{"picked":1}',
      );

      expect(exitCode).toBe(1);
      expect(stderr).toMatch(/^svc-agent: id must be a UUID.*\n$/);
    },
  );

  it('is kept with --anyway for a task that the service does not know', async () => {
    const task = randomUUID();

    const { exitCode, stderr } = await agent(['complete', task, '-', '--anyway'], '{"picked":1}');

    expect([exitCode, stderr]).toEqual([
      8,
      `Warning: The service does not know task ${task}. Check the id.\n`,
    ]);
    await waitFor('the refusal of the service', async () =>
      (await agent(['status'])).stdout.includes(task),
    );
  });

  it('is shown, and can be submitted for another task', async () => {
    const wrong = await setAside();
    const right = await service.claim(robot);

    const status = await agent(['status']);
    const doctor = await agent(['doctor']);
    const receipts = await agent(['receipts']);
    const unknown = await agent(['spool', 'retarget', wrong, '--task', randomUUID()]);
    const retargeted = await agent(['spool', 'retarget', wrong, '--task', right]);
    const receipt = await agent(['complete', right, '-', '--wait', '60'], '{"lost":1}');

    for (const { stdout } of [status, doctor]) expect(stdout).toContain(wrong);
    expect(doctor.exitCode).toBe(1);
    expect(receipts.stderr).toContain(wrong);
    expect([unknown.exitCode, retargeted.exitCode, receipt.exitCode]).toEqual([1, 0, 0]);
    expect(JSON.parse(receipt.stdout)).toMatchObject({
      task_id: right,
      proof_hash: hashProof({ lost: 1 }),
    });
    expect((await agent(['status'])).stdout).not.toContain(wrong);
  });

  it('can be sent again, and submitted for its own task again', async () => {
    const [first, second] = [await setAside(), await setAside()];

    const resent = await agent(['spool', 'resend']);
    const refused = await agent(['complete', first, '-', '--wait', '60'], '{"lost":1}');
    const { stderr } = await agent(['complete', second, '-', '--wait', '60'], '{"lost":1}');
    const same = await agent(['spool', 'retarget', first, '--task', first]);

    expect([resent.exitCode, resent.stderr]).toEqual([0, '2 queued again.\n']);
    expect([refused.exitCode, stderr]).toEqual([1, expect.stringContaining('another proof')]);
    expect([same.exitCode, JSON.parse(same.stdout)]).toEqual([
      0,
      { task_id: first, proof_hash: hashProof({ lost: 1 }), state: 'queued' },
    ]);
  });

  it('can be dropped, which prints its proof, and only once', async () => {
    const task = await setAside();

    const dropped = await agent(['spool', 'drop', task]);
    const again = await agent(['spool', 'drop', task]);

    expect(JSON.parse(dropped.stdout)).toMatchObject({ task_id: task, proof: { lost: 1 } });
    expect([dropped.exitCode, again.exitCode]).toEqual([0, 1]);
  });
});

describe('status', () => {
  useOwnAgent();

  it('shows the contents of the spool, as text and as one JSON object', async () => {
    const shown = await agent(['status']);
    const { stdout, stderr } = await agent(['status', '--json']);

    expect(shown.stdout).toMatch(/^service {5}http:\/\/127\.0\.0\.1:\d+, connected\n/);
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toMatchObject({
      connected: true,
      robot_id: robot.id,
      retried: { count: 0 },
      spool: { failure: null },
    });
  });

  it('shows, like doctor, that the spool cannot grow on a full disk', async () => {
    vi.spyOn(DiskReserve.prototype, 'hold').mockReturnValue(false);
    onTestFinished(() => void vi.restoreAllMocks());

    const shown = await agent(['status']);
    const doctor = await agent(['doctor']);

    expect(shown.stdout).toMatch(/^spool .*; WRITE FAILED \(disk_full\)$/m);
    expect(doctor.stdout).toMatch(/^WRONG {2}spool .*cannot write the spool \(disk_full\)/m);
  });

  it('exits with 7 if no daemon answers', async () => {
    const { exitCode, stderr } = await runInProcess('svc-agent', ['status'], {
      env: { ...daemon.environment, SVC_AGENT_SOCKET: file('none.sock') },
    });

    expect(exitCode).toBe(7);
    expect(stderr).toMatch(/No svc-agent answers .*ENOENT[\s\S]*svc-agent run/);
  });
});

describe('key set', () => {
  useOwnAgent();

  it('replaces the file once the service accepts the key, and the daemon uses it', async () => {
    const { body } = await service.call('POST', `/api/v1/robots/${robot.id}/rotate-key`, {
      session: owner.session,
    });
    robot = { ...robot, apiKey: body.api_key };

    const { exitCode, stderr } = await agent(['key', 'set'], `${body.api_key}\n`);

    expect([exitCode, stderr]).toEqual([
      0,
      expect.stringContaining('The daemon uses the new key.'),
    ]);
    expect(await readFile(daemon.keyFile, 'utf8')).toBe(`${body.api_key}\n`);
    expect((await stat(daemon.keyFile)).mode & 0o777).toBe(0o600);
    expect(stderr).not.toContain(body.api_key.slice(4));
  });

  it('leaves the file unchanged if the service refuses the key or it belongs to another robot', async () => {
    const before = await readFile(daemon.keyFile, 'utf8');
    const other = await service.makeRobot(owner, 'arm-2');

    const unknown = await agent(['key', 'set'], `svc_${'ab'.repeat(20)}`);
    const foreign = await agent(['key', 'set'], other.apiKey);
    const none = await agent(['key', 'set'], 'hello');

    expect([unknown.exitCode, foreign.exitCode, none.exitCode]).toEqual([1, 1, 2]);
    expect(foreign.stderr).toContain(other.id);
    expect(await readFile(daemon.keyFile, 'utf8')).toBe(before);
  });
});

describe('config', () => {
  it('prints effective values, and of a key only that it is set', async () => {
    const key = `svc_${'0123456789'.repeat(4)}`;

    const { stdout } = await runInProcess('svc-agent', ['config'], {
      env: { SVC_AGENT_KEY: key, STATE_DIRECTORY: '/var/lib/x' },
    });

    expect(stdout).toContain('SVC_AGENT_KEY=(set)\n');
    expect(stdout).toContain('SVC_AGENT_STATE_DIR=/var/lib/x\n');
    expect(stdout).not.toContain(key);
  });
});

describe('samples that are malformed', () => {
  useOwnAgent();

  it.each([
    ['"battery_pct": 101', /^1 recorded\.\nSet aside: samples\.0\.battery_pct must be .*\n$/],
    ['"metrics": {"x": 1e400}', /^1 recorded\.\nSet aside: .*IEEE 754 double.*\n$/],
  ])(
    'are reported by telemetry, which exits with 1 and records the others: %s',
    async (bad, said) => {
      const samples = `{"samples":[{${bad}},{"state":"idle"}]}`;
      const { exitCode, stderr } = await agent(['telemetry', '-'], samples);

      expect([exitCode, stderr]).toEqual([1, expect.stringMatching(said)]);
    },
  );

  it('are all refused if the error is outside the samples', async () => {
    const body = '{"samples":{"a":1e999},"x":[0,{"battery_pct":1}]}';
    const asked = [await agent(['telemetry', '-'], body), await agent(['telemetry', '-'], body)];

    expect(asked.map(({ exitCode }) => exitCode)).not.toContain(0);
    expect(asked.map(({ stderr }) => stderr).join()).not.toContain('recorded');
  });
});

import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import type { Verification } from '../../../src/protocol/resources.ts';
import { anvilAccounts } from '../../support/anvil.ts';
import { type DevProcess, run, startDev } from '../../support/programs.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import { robotClient, signInAt } from '../../support/server-process.ts';

let folder: string;
let dev: DevProcess;
let receipt: Verification;
let wallet: string;
const evidence = { picked: 12, spoken: 'Grüße' };
const file = (name: string) => path.join(folder, name);
const onDatabase = () => ({ env: { SVC_DATA_DIR: dev.data_dir } });

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-programs-'));
  dev = await startDev(file('data'));
  const session = await signInAt(dev.url);
  wallet = session.wallet;
  const { body } = await session.owner.call('createRobot', { body: { name: 'arm' } });
  const robot = robotClient(dev.url, String(body.api_key));
  const claim = await robot.call('createTask', { body: { title: 'Pick parcels' } });
  const params = { id: claim.body.task.id };
  const answer = await robot.call('completeTask', { params, body: { proof: evidence } });
  if (answer.status !== 200) throw new Error('the proof was not anchored in time');
  receipt = answer.body.verification;
  await writeFile(file('receipt.json'), JSON.stringify(receipt));
  await writeFile(file('evidence.json'), JSON.stringify(evidence));
});

afterAll(async () => {
  await dev?.stop();
  await rm(folder, { recursive: true, force: true });
});

describe('every program', () => {
  it.each(['svc', 'svc-agent', 'svc-server'] as const)('%s prints its version', async (program) => {
    const { exitCode, stdout } = await run(program, ['--version']);

    expect([exitCode, stdout]).toEqual([0, `${packageJson.version}\n`]);
  });

  it.each(['svc', 'svc-agent', 'svc-server'] as const)(
    '%s refuses unknown input',
    async (program) => {
      const { exitCode, stdout, stderr } = await run(program, ['frobnicate']);

      expect([exitCode, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(new RegExp(`^${program}: `));
    },
  );
});

describe('the log of svc-server start', () => {
  /** Ends after the first line, because the port is in use. */
  const firstLine = async (format: string) => {
    const { stderr } = await run('svc-server', ['start'], {
      env: {
        SVC_DATA_DIR: file('log-data'),
        SVC_PORT: new URL(dev.url).port,
        SVC_CHAIN_RPC_URL: 'http://127.0.0.1:9',
        SVC_ANCHOR_PRIVATE_KEY: anvilAccounts[0].privateKey,
        SVC_LOG_FORMAT: format,
      },
    });
    return stderr.split('\n')[0] ?? '';
  };

  it('starts with version and configuration, which shows secrets only as set', async () => {
    expect(JSON.parse(await firstLine('json'))).toMatchObject({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      msg: 'configuration loaded',
      version: packageJson.version,
      SVC_ANCHOR_PRIVATE_KEY: '(set)',
      SVC_CHAIN_RPC_URL: '(set)',
    });
  });

  it('is plain text with SVC_LOG_FORMAT=pretty', async () => {
    expect(await firstLine('pretty')).toMatch(
      /^\d\d:\d\d:\d\d INFO {2}configuration loaded .*version="?\d/,
    );
  });
});

describe('svc hash', () => {
  it('prints the hash that the service anchored, and nothing else', async () => {
    const { exitCode, stdout } = await run('svc', ['hash', file('evidence.json')]);

    expect([exitCode, stdout]).toEqual([0, `${receipt.proof_hash}\n`]);
  });

  it('reads standard input', async () => {
    const input = '{"spoken":"Gr\\u00fc\\u00dfe", "picked":12.0}';

    const { stdout } = await run('svc', ['hash', '-'], { input });

    expect(stdout).toBe(`${receipt.proof_hash}\n`);
  });

  it.each([
    ['{"ns":1424869691565433684}', '/ns'],
    ['{"a":1,"a":2}', '/a'],
    ['{"a":', 'standard input'],
    ['"text"', 'object or array'],
  ])('refuses %s and names the place', async (input, where) => {
    const { exitCode, stdout, stderr } = await runInProcess('svc', ['hash', '-'], { input });

    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toContain(where);
  });
});

describe('svc verify', () => {
  const verifyBy = (start: typeof run, ...args: string[]) =>
    start('svc', ['verify', ...args, '--rpc-url', dev.rpc_url]);
  const verify = (...args: string[]) => verifyBy(runInProcess, ...args);
  const pin = ['--anchor-address', anvilAccounts[0].address];
  const inclusion = { root: `0x${'00'.repeat(32)}`, leaf_index: 0, leaf_count: 2, path: [] };

  it('proves a receipt and its evidence from the chain', async () => {
    const { exitCode, stdout } = await verifyBy(
      run,
      file('receipt.json'),
      '--proof',
      file('evidence.json'),
      '--anchor-address',
      anvilAccounts[0].address,
    );

    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^✔ evidence .*\n(✔ .*\n)+Verified: /);
  });

  it('prints one JSON object with --json', async () => {
    const { stdout, stderr } = await verify(file('receipt.json'), '--json', ...pin);

    expect(JSON.parse(stdout)).toMatchObject({
      outcome: 'verified',
      verified: true,
      identity: 'named',
      identity_by: '--anchor-address',
      evidence: 'not_included',
      tx_hash: receipt.tx_hash,
      facts: { robot: receipt.robot_id, block: receipt.block_number },
    });
    expect(stderr).toBe('');
  });

  it.each([
    ['another task', { task_id: randomUUID() }, 'leaf'],
    ['another block time', { anchored_at: '2020-01-01T00:00:00.000Z' }, 'anchored_at'],
    ['another chain', { chain_id: 1 }, 'chain'],
  ])('refuses a receipt for %s', async (_, change, check) => {
    await writeFile(file('forged.json'), JSON.stringify({ ...receipt, ...change }));

    const { exitCode, stdout } = await verify(file('forged.json'), '--json');

    expect(exitCode).toBe(3);
    const { checks } = JSON.parse(stdout) as { checks: { name: string; status: string }[] };
    expect(checks.filter(({ status }) => status === 'failed').map(({ name }) => name)).toEqual([
      check,
    ]);
  });

  it('does not accept an unnamed account, and does not suggest its address', async () => {
    const { exitCode, stdout } = await verify(file('receipt.json'));
    const { stdout: json } = await verify(file('receipt.json'), '--json');

    expect(exitCode).toBe(9);
    expect(stdout).toContain('Anchored by an account you have not named.\n');
    expect(stdout).not.toMatch(/Verified|--anchor-address 0x/);
    expect(JSON.parse(json)).toMatchObject({
      outcome: 'unnamed',
      verified: false,
      identity: 'unnamed',
      sender: anvilAccounts[0].address.toLowerCase(),
    });
  });

  it.each([
    ['a member', (receipt: object) => ({ ...receipt, since: '2.0' }), '/since'],
    [
      'a member of the inclusion',
      (receipt: object) => ({ ...receipt, inclusion: { ...inclusion, 'a/b': 1 } }),
      '/inclusion/a~1b',
    ],
    ['evidence beside it', (receipt: object) => ({ verification: receipt, proof: {} }), '/proof'],
  ])('refuses a receipt with %s that no check covers', async (_, change, pointer) => {
    await writeFile(file('added.json'), JSON.stringify(change(receipt)));

    const { exitCode, stdout, stderr } = await verify(file('added.json'), ...pin);

    expect([exitCode, stdout]).toEqual([3, '']);
    expect(stderr).toContain(`No check covers ${pointer} in ${file('added.json')}`);
  });

  it('fails without evidence if it is required', async () => {
    const required = [...pin, '--require-evidence'];

    const bare = await verify(file('receipt.json'), ...required);
    const whole = await verify(file('receipt.json'), ...required, '--proof', file('evidence.json'));

    expect([bare.exitCode, whole.exitCode]).toEqual([3, 0]);
    expect(bare.stdout).toContain('✘ evidence_required ');
    expect(bare.stdout).toContain('NOT verified.\n');
  });

  it('accepts any of several accounts', async () => {
    const other = ['--anchor-address', anvilAccounts[1].address];

    expect((await verify(file('receipt.json'), ...other, ...pin)).exitCode).toBe(0);
  });

  it('refuses an invalid address as a usage error', async () => {
    const { exitCode } = await verify(file('receipt.json'), '--anchor-address', '0x12');

    expect(exitCode).toBe(2);
  });

  it('refuses another sender', async () => {
    const other = anvilAccounts[1].address;

    const { exitCode, stdout } = await verify(file('receipt.json'), '--anchor-address', other);

    expect(exitCode).toBe(3);
    expect(stdout).toMatch(/✘ sender .*\n[\s\S]*NOT verified\.\n/);
    expect(stdout).toMatch(new RegExp(`Sent by ${anvilAccounts[0].address}$`, 'im'));
  });

  it('names the field that makes a receipt invalid', async () => {
    await writeFile(file('broken.json'), JSON.stringify({ ...receipt, tx_hash: '0x12' }));

    const { exitCode, stderr } = await verify(file('broken.json'));

    expect(exitCode).toBe(2);
    expect(stderr).toContain('tx_hash must be 32 bytes');
  });

  it('distinguishes an unreachable chain from a refusal, without the URL', async () => {
    const url = 'http://user:secret@127.0.0.1:9/key';

    const { exitCode, stderr } = await runInProcess('svc', [
      'verify',
      file('receipt.json'),
      '--rpc-url',
      url,
    ]);

    expect(exitCode).toBe(7);
    expect(stderr).not.toMatch(/secret|user|\/key/);
  });
});

describe('svc-server', () => {
  it('start names the variable to set if there is no chain', async () => {
    const { exitCode, stderr } = await run('svc-server', ['start']);

    expect(exitCode).toBe(2);
    expect(stderr).toMatch(
      /SVC_CHAIN_RPC_URL is not set\n.*SVC_ANCHOR_KEY_FILE .* is not set\n.*dev/,
    );
  });

  it('names the option with an invalid port', async () => {
    const { exitCode, stderr } = await runInProcess('svc-server', ['dev', '--port', '70000']);

    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringMatching(/'--port <number>'.*at most 65535/),
    ]);
  });

  it('dev refuses to listen on other interfaces', async () => {
    const { exitCode, stderr } = await runInProcess('svc-server', ['dev', '--host', '0.0.0.0']);

    expect(exitCode).toBe(2);
    expect(stderr).toContain('loopback');
  });

  it('refuses a second server on one database', async () => {
    const { exitCode, stderr } = await run('svc-server', ['start'], {
      env: {
        ...onDatabase().env,
        SVC_PORT: '0',
        SVC_CHAIN_RPC_URL: dev.rpc_url,
        SVC_ANCHOR_PRIVATE_KEY: anvilAccounts[0].privateKey,
      },
    });

    expect(exitCode).toBe(1);
    expect(stderr).toContain('PostgreSQL');
  });

  it('start refuses a chain that is not the configured one', async () => {
    const { exitCode, stderr } = await run('svc-server', ['start'], {
      env: {
        SVC_DATA_DIR: file('other-chain'),
        SVC_PORT: '0',
        SVC_CHAIN_ID: '1',
        SVC_CHAIN_RPC_URL: dev.rpc_url,
        SVC_ANCHOR_PRIVATE_KEY: anvilAccounts[0].privateKey,
      },
    });

    // A node may be wrong for a while, so a supervisor may restart the service.
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /SVC_CHAIN_ID is 1, but SVC_CHAIN_RPC_URL belongs to chain 31337\.\nCorrect/,
    );
  });

  it('reports a port in use', async () => {
    const { port } = new URL(dev.url);

    const args = ['dev', '--port', port, '--data-dir', file('elsewhere')];
    const { exitCode, stderr } = await run('svc-server', args);

    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /^svc-server: Cannot listen on 127\.0\.0\.1, port \d+: the port is already in use\.\n.*--port/,
    );
  });

  it('exits if its database fails, so that a supervisor restarts it', async () => {
    const data = file('doomed');
    const doomed = await startDev(data);
    const { owner } = await signInAt(doomed.url);
    for (const name of ['svc.db', 'svc.db-wal']) {
      const noise = randomBytes((await stat(path.join(data, name))).size);
      await writeFile(path.join(data, name), noise, { flag: 'r+' });
    }

    await expect(owner.call('createRobot', { body: { name: 'arm' } })).rejects.toThrow();

    expect(await doomed.ended).toBe(1);
  });

  it('grants credits while a server runs, once per id', async () => {
    const id = randomUUID();
    const grant = ['credits', 'grant', wallet.toLowerCase(), '--anchors', '5', '--gas-wei', '7'];
    const before = await run('svc-server', ['credits', 'show', wallet, '--json'], onDatabase());

    await run('svc-server', [...grant, '--note', 'gift', '--id', id], onDatabase());
    const again = await runInProcess(
      'svc-server',
      [...grant, '--note', 'gift', '--id', id],
      onDatabase(),
    );

    expect(again.exitCode).toBe(0);
    expect(again.stderr).toContain('nothing was changed');
    const after = await runInProcess(
      'svc-server',
      ['credits', 'show', wallet, '--json'],
      onDatabase(),
    );
    expect(again.stdout).toMatch(/^gas_credit_wei\t\d+$/m);
    const [old, now] = [before, after].map(({ stdout }) => JSON.parse(stdout));
    expect(now.anchor_quota - old.anchor_quota).toBe(5);
    expect(BigInt(now.gas_credit_wei) - BigInt(old.gas_credit_wei)).toBe(7n);
  });

  it('check finds no violation in the data of the service', async () => {
    const { exitCode, stdout } = await run('svc-server', ['check'], onDatabase());

    expect([exitCode, stdout]).toEqual([0, 'Every invariant holds.\n']);
  });

  it('config shows effective values and no secret', async () => {
    const secrets = {
      SVC_ANCHOR_PRIVATE_KEY: '0x'.padEnd(66, 'ab'),
      SVC_CHAIN_RPC_URL: 'https://rpc.example/apikey',
    };

    const { stdout } = await runInProcess('svc-server', ['config'], {
      env: { ...secrets, SVC_PORT: '4000' },
    });

    expect(stdout).toContain('SVC_BASE_URL=http://127.0.0.1:4000\n');
    expect(stdout).toContain('SVC_CHAIN_RPC_URL=(set)\n');
    expect(stdout).not.toMatch(/abab|apikey/);
  });

  it('dev restores its chain and its receipts in the same folder', async () => {
    const data = file('again');
    const first = await startDev(data);
    const { owner } = await signInAt(first.url);
    const { body } = await owner.call('createRobot', { body: { name: 'arm' } });
    const before = robotClient(first.url, String(body.api_key));
    const claim = await before.call('createTask', { body: { title: 'Pick' } });
    const params = { id: claim.body.task.id };
    await before.call('completeTask', { params, body: { proof: { a: 1 } } });
    expect(await first.stop()).toBe(0);

    const second = await startDev(data);
    const after = robotClient(second.url, String(body.api_key));
    const { verification } = (await after.call('getTask', { params })).body;
    const hash = verification?.proof_hash ?? '';
    const checked = await after.call('verifyProofHash', { params: { proofHash: hash } });

    expect(checked.body.verified).toBe(true);
    expect(await second.stop()).toBe(0);
  });
});

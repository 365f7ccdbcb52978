// Builds the image and runs it as an engine would.
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anvilAccounts, startTestChain, type TestChain } from '../../support/anvil.ts';
import { freePort } from '../../support/free-port.ts';
import { buildImage, type Container, type Image, lackForImages } from '../../support/image.ts';
import { robotClient, signInAt } from '../../support/server-process.ts';
import { waitFor } from '../../support/wait-for.ts';

const lack = lackForImages();
if (lack !== null) process.stderr.write(`${lack}\n`);

describe.skipIf(lack !== null)('the image', () => {
  let folder: string;
  let image: Image;
  let chain: TestChain;
  let data: string;
  let secrets: string;
  beforeAll(async () => {
    // On the disk: the image's files need device nodes and a gigabyte.
    folder = await mkdtemp(path.join(process.env.SVC_IMAGE_TMPDIR ?? '/var/tmp', 'svc-image-'));
    image = await buildImage(folder);
    chain = await startTestChain({ blockTime: 1 });
    secrets = path.join(folder, 'secrets');
    await mkdir(secrets);
    await writeFile(path.join(secrets, 'anchor-key'), anvilAccounts[0].privateKey, { mode: 0o600 });
    await chown(path.join(secrets, 'anchor-key'), 10001, 10001);
    data = await volume('data');
  }, 600_000);
  afterAll(async () => {
    await chain?.close();
    await image?.remove();
    await rm(folder, { recursive: true, force: true });
  });

  async function volume(name: string): Promise<string> {
    const made = path.join(folder, name);
    await mkdir(made, { mode: 0o700 });
    await chown(made, 10001, 10001);
    return made;
  }

  /** The service in a container, on a port of this machine. */
  async function start(on = data): Promise<Container & { url: string }> {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const env = {
      SVC_HOST: '127.0.0.1',
      SVC_PORT: String(port),
      SVC_BASE_URL: url,
      SVC_CHAIN_RPC_URL: chain.url,
      SVC_ANCHOR_KEY_FILE: '/run/secrets/anchor-key',
      SVC_SIGNUP_ANCHORS: '100',
      SVC_SIGNUP_GAS_WEI: '1000000000000000000',
    };
    const container = image.run({ env, volumes: { '/var/lib/svc': on, '/run/secrets': secrets } });
    let over = '';
    container.ended.then(({ code, stderr }) => {
      over = `${code} ${stderr}`;
    });
    await waitFor('an answer', async () => {
      if (over !== '') throw new Error(over);
      return (await fetch(`${url}/readyz`).catch(() => null))?.ok === true;
    });
    return { ...container, url };
  }

  it('is at most 180 MB, compressed', () => {
    process.stderr.write(`image: ${Math.round(image.size / 1e6)} MB\n`);
    expect(image.size).toBeLessThan(180_000_000);
  });

  it('runs as process 1 without root, and writes only to its volume', async () => {
    const container = await start();
    const { stdout } = await container.script(`
      const fs = require('node:fs');
      const write = (file) => { try { fs.writeFileSync(file, ''); return 'written'; } catch (error) { return error.code; } };
      console.log(JSON.stringify({
        first: fs.readFileSync('/proc/1/cmdline', 'utf8').split('\\0').slice(0, 3),
        uid: process.getuid(),
        root: write('/opt/svc/x'),
        volume: write('/var/lib/svc/x'),
      }));`);

    expect(JSON.parse(stdout)).toEqual({
      first: ['node', '/opt/svc/bin/svc-server.js', 'start'],
      uid: 10001,
      root: 'EROFS',
      volume: 'written',
    });
    await container.kill('SIGTERM');
    expect((await container.ended).code).toBe(0);
  });

  it('answers accepted calls on SIGTERM, and keeps them after a restart', async () => {
    const first = await start();
    const { owner, session } = await signInAt(first.url);
    const { body } = await owner.call('createRobot', { body: { name: 'arm' } });
    const robot = robotClient(first.url, String(body.api_key));
    const accepted: string[] = [];
    let stopped = false;
    const load = Promise.all(
      Array.from({ length: 8 }, async () => {
        while (!stopped) {
          const claim = await robot.call('createTask', { body: { title: 'x' } }).catch(() => null);
          if (claim === null) return;
          accepted.push(claim.body.task.id);
        }
      }),
    );
    await waitFor('load', () => accepted.length > 50);
    await first.kill('SIGTERM');
    const { code, stderr } = await first.ended;
    stopped = true;
    await load;
    expect(code).toBe(0);
    expect(stderr).not.toMatch(/"level":"(error|fatal)"/);

    const second = await start();
    const again = robotClient(second.url, String(body.api_key));
    for (const id of accepted) {
      expect((await again.call('getTask', { params: { id } })).status).toBe(200);
    }
    expect(session).toBeTruthy();
    await second.kill('SIGTERM');
    expect((await second.ended).code).toBe(0);
  });

  it('runs other commands, such as a migration', async () => {
    const used = await volume('used');
    const service = await start(used);
    await service.kill('SIGTERM');
    await service.ended;
    const volumes = { '/var/lib/svc': used };
    const { code, stdout } = await image.run(
      { env: { SVC_HOST: '127.0.0.1' }, volumes },
      'migrate',
      '--json',
    ).ended;

    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toBeTypeOf('object');
  });

  it('reports a volume that is not writable', async () => {
    const foreign = await volume('foreign');
    await chown(foreign, 0, 0);
    await chmod(foreign, 0o700);

    await expect(start(foreign)).rejects.toThrow('Cannot follow the path /var/lib/svc/svc.db.');
  });
});

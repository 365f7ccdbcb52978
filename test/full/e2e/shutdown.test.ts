import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startAnvil } from '../../../src/server/commands/dev-chain.ts';
import { anvilAccounts, callRpc } from '../../support/anvil.ts';
import { startServerProgram } from '../../support/programs.ts';
import { robotClient, signInAt } from '../../support/server-process.ts';
import { newEvidence } from '../../support/service.ts';
import { waitFor } from '../../support/wait-for.ts';

describe('svc-server start, on a stop signal', () => {
  let folder: string;
  let child: ChildProcess | undefined;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'svc-stop-'));
  });
  afterEach(async () => {
    child?.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });

  async function start(rpcUrl: string): Promise<string> {
    const started = await startServerProgram({
      SVC_DATA_DIR: folder,
      SVC_CHAIN_RPC_URL: rpcUrl,
      SVC_ANCHOR_PRIVATE_KEY: anvilAccounts[0].privateKey,
      SVC_SIGNUP_ANCHORS: '10',
      SVC_SIGNUP_GAS_WEI: '1000000000000000000',
    });
    child = started.child;
    return started.url;
  }

  /** Answers its exit code. */
  async function stop(signal: NodeJS.Signals): Promise<number | null> {
    child?.kill(signal);
    if (child?.exitCode === null) await once(child, 'exit');
    return child?.exitCode ?? null;
  }

  /** A connection whose request never ends. */
  async function sendSlowly(url: string): Promise<Socket> {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write(
      'POST /api/auth/challenge HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{',
    );
    return socket;
  }

  it('answers waiting completions, and exits with 0 within 30 s', async () => {
    const anvil = await startAnvil({ blockTime: 'manual' });
    const url = await start(anvil.url);
    const { owner } = await signInAt(url);
    const made = await owner.call('createRobot', { body: { name: 'arm' } });
    const robot = robotClient(url, String(made.body.api_key));
    const claimed = await robot.call('createTask', { body: { title: 'Sort' } });
    const params = { id: claimed.body.task.id };
    // A session's reads are not metered.
    const readTask = async () => (await owner.call('getTask', { params })).body;
    let completion: Promise<unknown> | undefined;
    await waitFor('the proof to be sent', async () => {
      // Refused while there is no quote of fees yet.
      completion = robot
        .call('completeTask', { params, body: { proof: newEvidence() } })
        .then(({ status }) => status)
        .catch((error: { code: string }) => error.code);
      await Promise.race([completion, waitFor('a state', async () => (await readTask()).anchor)]);
      return (await readTask()).anchor !== null;
    });
    // The first nonce is taken once a block has come.
    await callRpc(anvil.url, 'evm_mine');
    await waitFor('a transaction', async () => (await readTask()).anchor?.state === 'submitted');

    const code = await stop('SIGTERM');

    expect(await completion).toBe(202);
    expect(code).toBe(0);
    await anvil.close();
  });

  it('does not wait for a chain that never answers', async () => {
    const silent = await listen();
    await start(`http://127.0.0.1:${portOf(silent.server)}`);
    await waitFor('a call of the anchorer', () => silent.sockets.length > 0);

    expect(await stop('SIGTERM')).toBe(0);

    for (const socket of silent.sockets) socket.destroy();
    silent.server.close();
  });

  it('waits for a slow sender for less than 30 s', async () => {
    const socket = await sendSlowly(await start('http://127.0.0.1:9'));

    expect(await stop('SIGTERM')).toBe(0);

    socket.destroy();
  });

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'exits immediately on a second signal, %s',
    {},
    async (signal) => {
      const url = await start('http://127.0.0.1:9');
      const socket = await sendSlowly(url);
      child?.kill('SIGTERM');
      await waitFor('it to stop listening', () =>
        fetch(`${url}/healthz`).then(
          () => false,
          () => true,
        ),
      );

      expect(await stop(signal)).toBe(130);

      socket.destroy();
    },
  );
});

/** Takes connections and says nothing. */
async function listen(): Promise<{ server: Server; sockets: Socket[] }> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => {});
    sockets.push(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, sockets };
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

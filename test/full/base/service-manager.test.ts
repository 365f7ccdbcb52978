import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectServiceManager } from '../../../src/base/install/service-manager.ts';
import { bindNotifySocket } from '../../support/notify-socket.ts';
import { needsProgram } from '../../support/require-program.ts';
import { waitFor } from '../../support/wait-for.ts';

let socket: Awaited<ReturnType<typeof bindNotifySocket>>;
let logLines: string[];

beforeEach(async (context) => {
  needsProgram(context, 'systemd-notify');
  socket = await bindNotifySocket();
  logLines = [];
});

afterEach(async () => {
  await socket?.close();
});

const connect = (variables: Record<string, string> = {}, progressAt = () => performance.now()) =>
  connectServiceManager({
    environment: { PATH: process.env.PATH, NOTIFY_SOCKET: socket.address, ...variables },
    progressAt,
    logger: pino({}, { write: (line) => logLines.push(line) }),
  });

describe('the service manager', () => {
  it('is notified when the service is ready and when it stops', async () => {
    const manager = connect();

    await manager.ready();
    await manager.stopping();

    await waitFor('both messages', () => socket.messages.length === 2);
    expect(socket.messages).toEqual(['READY=1', 'STOPPING=1']);
  });

  it('gets a watchdog notification only after a check that finds progress', async () => {
    const looks = [true, true, false, false, true, false];
    let looked = 0;
    const progressAt = () => (looks[looked++] ? performance.now() : Number.NEGATIVE_INFINITY);
    const manager = connect({ WATCHDOG_USEC: '80000' }, progressAt);

    await manager.ready();
    await waitFor('all looks', () => looked > looks.length);
    await manager.stopping();

    await waitFor('the last message', () => socket.messages.includes('STOPPING=1'));
    const fed = ['WATCHDOG=1', 'WATCHDOG=1', 'WATCHDOG=1'];
    expect(socket.messages).toEqual(['READY=1', ...fed, 'STOPPING=1']);
  });

  it('gets no notification from a process that its watchdog does not watch', async () => {
    let looked = 0;
    const progressAt = () => {
      looked += 1;
      return performance.now();
    };
    const manager = connect({ WATCHDOG_USEC: '1000', WATCHDOG_PID: '1' }, progressAt);

    await manager.ready();
    await manager.stopping();

    expect(looked).toBe(0);
  });

  it('gets no notification if systemd did not ask for one', async () => {
    const manager = connect({ NOTIFY_SOCKET: '' });

    await manager.ready();
    await manager.stopping();

    expect([socket.messages, logLines]).toEqual([[], []]);
  });

  it('does not prevent the service from serving if it cannot be notified', async () => {
    const manager = connect({ NOTIFY_SOCKET: `${socket.address}-gone` });

    await manager.ready();

    expect(logLines.join('')).toContain('systemd notification failed');
  });
});

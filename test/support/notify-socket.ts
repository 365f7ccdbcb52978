import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { requireProgram } from './require-program.ts';

/** Node.js has no datagram sockets of unix. The message's file descriptor is dropped, as sd_notify(3) wants. */
const RECEIVER = `
import json, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print(json.dumps('bound'), flush=True)
while True:
    print(json.dumps(s.recv(4096).decode()), flush=True)
`;

/** A real socket as systemd binds it, and what came in on it. */
export async function bindNotifySocket() {
  const python = requireProgram('python3');
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-notify-'));
  const address = path.join(folder, 'notify');
  const receiver = spawn(python, ['-c', RECEIVER, address], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const messages: string[] = [];
  const lines = createInterface(receiver.stdout);
  const ended = once(receiver, 'exit').then(() => Promise.reject(new Error('python3 ended')));
  ended.catch(() => {});
  await Promise.race([once(lines, 'line'), ended]);
  lines.on('line', (line) => {
    const message = JSON.parse(line);
    // By this one systemd-notify learns that it was heard.
    if (message !== 'BARRIER=1') messages.push(message);
  });
  return {
    address,
    messages,
    async close() {
      receiver.kill('SIGKILL');
      await ended.catch(() => {});
      await rm(folder, { recursive: true, force: true });
    },
  };
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { residentMb } from './resident.js';

const monitor = new URL('event-loop.js', import.meta.url).href;

/**
 * One of our programs in a process of its own, from when it listens.
 *
 * @param {{ command: string[], env: Record<string, string | undefined>, log: string, profile?: string,
 *   monitored?: boolean }} options `command`: the program's file and its arguments; `log`: the file that its log goes
 *   to; `profile`: the folder for a CPU profile; `monitored`: with what measures its event loop
 */
export async function startProgram({ command, env, log, profile, monitored = false }) {
  const profiling = profile === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', profile];
  const monitoring = monitored ? ['--import', monitor] : [];
  const logFile = await open(log, 'w');
  const child = spawn(process.execPath, [...profiling, ...monitoring, ...command], {
    stdio: ['ignore', 'ignore', logFile.fd, 'ipc'],
    env,
  });
  await logFile.close();
  const { url } = await listening(child, log);
  return {
    url,
    pid: child.pid,
    /** Resident memory in MB. */
    residentMb: () => residentMb(child.pid),
    /** Begins to measure its event loop and processor time. */
    async measure() {
      child.send('reset');
      await once(child, 'message');
    },
    /** @returns {Promise<{ p99Ms: number, maxMs: number, cpuMs: number }>} */
    async measured() {
      child.send('read');
      const [answer] = await once(child, 'message');
      return answer;
    },
    /** @param {NodeJS.Signals} signal */
    async end(signal) {
      child.kill(signal);
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}

/** The line of its log that says so. */
async function listening(child, log) {
  for (;;) {
    const lines = (await readFile(log, 'utf8')).split('\n');
    const line = lines.find((text) => text.includes('"msg":"listening"'));
    if (line !== undefined) return JSON.parse(line);
    if (child.exitCode !== null) throw new Error(`It did not start:\n${lines.join('\n')}`);
    await sleep(20);
  }
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Runs one of our programs to its end.
 *
 * @param {string[]} command the program's file and its arguments
 * @param {NodeJS.ProcessEnv} env
 * @returns seconds and peak memory in MB. Throws when it ends with another code than 0
 */
export async function runToEnd(command, env) {
  const peak = 'process.on("exit", () => console.error(process.resourceUsage().maxRSS))';
  const preload = `data:text/javascript,${encodeURIComponent(peak)}`;
  const started = performance.now();
  const child = spawn(process.execPath, ['--import', preload, ...command], { env });
  child.stdout.resume();
  const errors = [];
  child.stderr.on('data', (chunk) => errors.push(chunk));
  const [code] = await once(child, 'close');
  const stderr = Buffer.concat(errors).toString();
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${stderr}`);
  const [kilobytes = 0] = stderr.match(/\d+(?=\s*$)/) ?? [];
  return { seconds: (performance.now() - started) / 1000, megabytes: (kilobytes * 1024) / 1e6 };
}

// Outlives the run of tests that has the other end of its standard input. When that run has ended, however it did, this
// ends the processes that it left and removes its folders, the arguments. Every process of the run has the first folder in
// its environment.
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const folders = process.argv.slice(2);
const [folder = ''] = folders;
if (!/\/svc-test-\w+$/.test(folder)) throw new Error(`${folder} is no folder of a test run`);

process.stdin.resume().once('end', async () => {
  // What is killed may have been about to start something.
  for (let round = 0, quiet = 0; round < 50 && quiet < 3; round += 1) {
    quiet = endProcesses() ? 0 : quiet + 1;
    await sleep(100);
  }
  for (const one of folders) {
    try {
      rmSync(one, { recursive: true, force: true, maxRetries: 5 });
    } catch (error) {
      process.stderr.write(`${one} stays: ${error}\n`);
    }
  }
});
// Only the end of the run ends it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});

/** Whether there were any. Without /proc there are none to be found. */
function endProcesses() {
  let any = false;
  for (const pid of numbersIn('/proc')) {
    if (pid === process.pid || !isOfRun(pid)) continue;
    any = true;
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
  return any;
}

/** @param {string} where */
function numbersIn(where) {
  try {
    return readdirSync(where).map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

/** @param {number} pid */
function isOfRun(pid) {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(folder);
  } catch {
    return false;
  }
}

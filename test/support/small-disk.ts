import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { findProgram } from './require-program.ts';

export type SmallDisk = Awaited<ReturnType<typeof mountSmallDisk>>;

/**
 * A file system in memory of so many bytes, which only what is started through `within` sees, at `folder`. It needs no
 * root, but a kernel that lets users have namespaces; where it does not, this rejects and says so.
 */
export async function mountSmallDisk(bytes: number) {
  for (const name of ['unshare', 'nsenter'] as const) {
    if (findProgram(name) === null) {
      throw new Error(`This test runs ${name}, which is not here (apt-get install util-linux).`);
    }
  }
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-disk-'));
  const script = `mount -t tmpfs -o size=${bytes} tmpfs "$1" && echo mounted && exec cat`;
  const holder = spawn('unshare', ['-Urm', 'sh', '-c', script, 'sh', folder], { stdio: 'pipe' });
  const complaint = text(holder.stderr);
  const mounted = await Promise.race([once(holder.stdout, 'data'), once(holder, 'close')]);
  if (!String(mounted[0]).startsWith('mounted')) {
    throw new Error(
      `No small file system for this test: ${await complaint}It needs user namespaces: as root, ` +
        'sysctl kernel.unprivileged_userns_clone=1 or kernel.apparmor_restrict_unprivileged_userns=0; in a ' +
        'container, --security-opt seccomp=unconfined and CAP_SYS_ADMIN.',
    );
  }
  const enter = [
    'nsenter',
    '-t',
    String(holder.pid),
    '-U',
    '-m',
    '--preserve-credentials',
  ] as const;
  const run = async (command: string): Promise<string> => {
    const child = spawn(enter[0], [...enter.slice(1), 'sh', '-c', command], { cwd: '/' });
    const [output, errors, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ]);
    if (code !== 0) throw new Error(`${command}: ${errors}`);
    return output;
  };
  return {
    folder,
    /** The beginning of a command line that is to run there. */
    within: enter,
    /** Takes all the room that is left. */
    async fill() {
      await run(`cat /dev/zero > ${folder}/ballast 2>/dev/null; test -s ${folder}/ballast`);
    },
    /** Gives that room back. */
    async free() {
      await run(`rm -f ${folder}/ballast`);
    },
    async beReadOnly(isReadOnly: boolean) {
      await run(`mount -o remount,${isReadOnly ? 'ro' : 'rw'} ${folder}`);
    },
    /** Its files, each with its size. */
    list: () => run(`ls -ls ${folder} ${folder}/*`),
    async remove() {
      holder.stdin.end();
      if (holder.exitCode === null) await once(holder, 'exit');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

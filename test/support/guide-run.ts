import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from './free-port.ts';
import type { Step } from './guide-page.ts';
import { openShell } from './shell-session.ts';

/** Ports that guides name; each stands for a free one. */
const PORTS = ['3000', '8545'];
/** The folder from which a guide starts, as it shows it. */
const HOME = '/home/ada';

/**
 * Does what a guide tells, in an empty home of its own, and ends what it started. `seen` is told what each block of
 * commands showed, as it would be with the guide's ports and home. `installed` holds what `npm install` brings.
 *
 * @throws Error when a command fails, or something goes on running at the end of the guide.
 */
export async function runGuide(
  steps: readonly Step[],
  installed: string,
  seen: (step: Extract<Step, { kind: 'commands' }>, output: string) => void,
): Promise<void> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'svc-guide-')));
  const home = path.join(folder, 'home');
  await mkdir(home);
  const ports: [string, string][] = [];
  for (const name of PORTS) ports.push([name, String(await freePort())]);
  const here = (text: string) => swap(text, ports);
  const asShown = (text: string) =>
    swap(
      text,
      ports.map(([name, port]) => [port, name]),
    ).replaceAll(home, HOME);
  const shell = await openShell({
    cwd: home,
    folder,
    env: { PATH: pathOfReader(), HOME: home, LANG: 'C.UTF-8', INSTALLED: installed },
    before: NPM_INSTALL,
  });
  try {
    for (const step of steps) {
      if (step.kind === 'file') {
        const cwd = (await shell.run('pwd')).trim();
        await writeFile(path.join(cwd, step.name), here(step.text));
      } else if (step.kind === 'commands') {
        seen(step, asShown(await shell.run(here(step.text))));
      }
    }
    const left = await shell.run(JOBS_LEFT);
    if (left.trim() !== '') throw new Error(`The guide leaves behind: ${left}`);
  } finally {
    await shell.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Each number that stands in the text as a whole for its other one. */
function swap(text: string, numbers: readonly [string, string][]): string {
  return numbers.reduce(
    (all, [from, to]) => all.replace(new RegExp(`(?<!\\d)${from}(?!\\d)`, 'g'), to),
    text,
  );
}

/** What was installed once stands for what each reader installs. */
const NPM_INSTALL = `npm() {
  case "$*" in
    'install --ignore-scripts robot-svc' | 'install robot-svc @foundry-rs/anvil@1.7.1')
      ln -sfn "$INSTALLED/node_modules" node_modules ;;
    *) command npm "$@" ;;
  esac
}`;

/** What still runs, after those that were told to end have had the time. */
const JOBS_LEFT = `for try in {1..300}; do [ -z "$(jobs -r)" ] && break; sleep 0.2; done; jobs -r`;

/** Without the programs of this tree. */
function pathOfReader(): string {
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  const own = folders.filter((folder) => !folder.includes('node_modules'));
  return [path.dirname(process.execPath), ...own].join(path.delimiter);
}

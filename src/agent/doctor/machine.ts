// Checks that need no service: daemon, socket, spool and disk.
import { constants, existsSync, type Stats } from 'node:fs';
import { access, readdir, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import { SvcError } from '../../base/svc-error.ts';
import type { AgentConfig } from '../config.ts';
import { KEY_REVOKED_HINT, setAsideError } from '../errors.ts';
import { readSigningKey, signingKeyFile } from '../signing/key-file.ts';
import { becomeOwnerOf, checkSpool } from '../spool/database.ts';
import type { AgentStatus } from '../status.ts';
import { type Check, check, valueOrThrow, wrong } from './check.ts';

const MIB = 1024 * 1024;
const KEY_REFUSED_HINT =
  'Set another key with svc-agent key set. The agent tries the same key every 15 minutes; restart it to try now.';

/** `daemon`: its status, or why it could not be asked. */
export async function checkMachine(
  { socket, stateDir, spoolBytes, signCommand }: AgentConfig,
  daemon: AgentStatus | SvcError,
): Promise<Check[]> {
  const status = daemon instanceof SvcError ? null : daemon;
  return [
    await check('daemon', () => describeDaemon(valueOrThrow(daemon))),
    await check('socket', () => describeSocket(socket)),
    await check('spool', () => describeSpool(stateDir, status)),
    await check('disk', () => describeDisk(stateDir, spoolBytes, status)),
    ...(existsSync(signingKeyFile(stateDir))
      ? [await check('signing', () => describeSigning(stateDir, signCommand, status))]
      : []),
  ];
}

function describeDaemon(status: AgentStatus): string {
  const { state, last_error: error, completions_wait_for: waiting, refused, version } = status;
  if (state !== 'connected') {
    const why = error === null ? '' : ` ${error.message}`;
    const hint = state === 'key_refused' ? KEY_REFUSED_HINT : undefined;
    throw wrong(`Not connected: ${state.replaceAll('_', ' ')}.${why}`, hint);
  }
  if (waiting !== null) throw wrong(`Completions are paused: ${waiting}.`);
  const [newest] = status.set_aside;
  if (newest !== undefined) throw setAsideError(newest);
  const aside = refused === 0 ? '' : `; ${refused} records that the service refused are set aside`;
  return `version ${version}, connected${aside}`;
}

async function describeSocket(file: string): Promise<string> {
  const folder = path.dirname(file);
  const [own, around] = [await statOf(file), await statOf(folder)];
  if (!own.isSocket()) throw wrong(`SVC_AGENT_SOCKET ${file} is not a socket.`);
  const shown = `mode ${modeOf(own)}, owner ${own.uid}, group ${own.gid}`;
  if ((own.mode & 0o007) !== 0 || (own.mode & 0o060) !== 0o060) {
    throw wrong(
      `SVC_AGENT_SOCKET ${file} must be open to its owner and group only (${shown}).`,
      'Restart the agent to recreate it.',
    );
  }
  // With the sticky bit, as on /tmp, only owners can remove files.
  if ((around.mode & 0o1002) === 0o002) {
    throw wrong(`Any user can replace ${file}: ${folder} has mode ${modeOf(around)}.`);
  }
  return `${shown}, in a folder of mode ${modeOf(around)}`;
}

/** The daemon checks each record as it reads it. The spool of a stopped daemon is read as a whole. */
async function describeSpool(folder: string, status: AgentStatus | null): Promise<string> {
  const aside = (await filesOf(folder)).filter((name) => /\.damaged-\d+$/.test(name));
  const history = aside.map((name) => `; ${name} was set aside`).join('');
  if (status === null) {
    const records = checkAsOwner(folder);
    if (records === null) return `no spool in ${folder} yet${history}`;
    return `every page is intact, ${records} records${history}`;
  }
  const { failure, bytes_used: used, bytes_allowed: allowed } = status.spool;
  if (failure !== null) throw wrong(`The daemon cannot write the spool (${failure}).`);
  return `${sizeText(used)} of ${sizeText(allowed)} used; stop the daemon to check every page${history}`;
}

function checkAsOwner(folder: string): number | null {
  const becomeSelf = becomeOwnerOf(folder);
  try {
    return checkSpool(folder);
  } finally {
    becomeSelf();
  }
}

/** Fails if the disk has less room than the spool may still take. */
async function describeDisk(stateDir: string, spoolBytes: number, status: AgentStatus | null) {
  const folder = await nearestFolder(stateDir);
  try {
    await access(folder, constants.W_OK);
  } catch (error) {
    throw wrong(`Cannot write SVC_AGENT_STATE_DIR ${folder} (${codeOf(error)}).`);
  }
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const used =
    status?.spool.bytes_on_disk ??
    (await stat(path.join(stateDir, 'spool.db')).catch(() => null))?.size ??
    0;
  const wanted = Math.max(0, spoolBytes - used);
  const shown = `${sizeText(free)} free, the spool can grow by ${sizeText(wanted)}`;
  if (free < wanted) throw wrong(`${shown}.`, 'Free disk space, or lower SVC_AGENT_SPOOL_MAX_MB.');
  return shown;
}

/** Fails if others can read the key, the owner revoked it, or signing fails. */
async function describeSigning(
  folder: string,
  command: readonly string[] | null,
  status: AgentStatus | null,
): Promise<string> {
  const key = await readSigningKey(folder, command, 0);
  const { state = 'not known: the daemon does not answer', last_error: error = null } =
    status?.signing ?? {};
  if (error !== null) throw wrong(error.message, 'Run svc-agent status to see what waits.');
  if (state === 'revoked') throw wrong('The owner revoked the signing key.', KEY_REVOKED_HINT);
  return `key ${key?.thumbprint.slice(0, 8)}…, ${state.replaceAll('_', ' ')}`;
}

async function statOf(file: string): Promise<Stats> {
  try {
    return await stat(file);
  } catch (error) {
    throw wrong(`Cannot access ${file} (${codeOf(error)}).`);
  }
}

async function filesOf(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw wrong(`Cannot read ${folder} (${codeOf(error)}).`);
  }
}

/** The folder itself, or the nearest existing one above it. */
async function nearestFolder(folder: string): Promise<string> {
  try {
    await stat(folder);
    return folder;
  } catch (error) {
    const parent = path.dirname(folder);
    if (codeOf(error) !== 'ENOENT' || parent === folder)
      throw wrong(`Cannot access ${folder} (${codeOf(error)}).`);
    return nearestFolder(parent);
  }
}

function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException).code);
}

function modeOf({ mode }: Stats): string {
  return (mode & 0o777).toString(8);
}

function sizeText(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`;
}

// `svc-agent status`: prints what the daemon delivered and what it keeps.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { escapeText } from '../../base/escape.ts';
import { KEY_REVOKED_HINT } from '../errors.ts';
import type { AgentStatus, QueueStatus } from '../status.ts';
import { askDaemon } from './local-client.ts';

const EVERY_MS = 2_000;
/** Completions that were set aside; --json has up to 100. */
const SET_ASIDE_SHOWN = 5;
/** Problems with promises; --json has up to 20. */
const PROBLEMS_SHOWN = 5;
/** Records that are tried again; --json has up to 20. */
const RETRIED_SHOWN = 5;

export function addCommands(program: Command): void {
  program
    .command('status')
    .description('Show the connection, the queues and the spool of the daemon')
    .option('--json', 'print one JSON object')
    .option('--watch', 'repeat every 2 seconds until Ctrl-C')
    .addHelpText('after', '\nExamples:\n  svc-agent status\n  svc-agent status --json')
    .action(showStatus);
}

/** `--json` prints the daemon's answer, one line each time. */
async function showStatus({ json, watch }: { json?: true; watch?: true }): Promise<void> {
  for (;;) {
    const status: AgentStatus = (await askDaemon('GET', '/api/v1/status')).body;
    process.stdout.write(json ? `${JSON.stringify(status)}\n` : describe(status));
    if (!watch) return;
    if (!json) process.stdout.write('\n');
    await sleep(EVERY_MS);
  }
}

function describe(status: AgentStatus): string {
  const { queues, spool, clock, last_error: error } = status;
  const lines: [string, string][] = [
    ['service', `${status.service}, ${status.state.replaceAll('_', ' ')}`],
    ['robot', status.robot_id ?? 'unknown until the first connection'],
    ['key', status.key_hint === null ? 'not read yet' : `${status.key_hint}…`],
    ['signing', signingLine(status.signing)],
    ['claims', queueLine(queues.claims)],
    ['completions', queueLine(queues.completions)],
    ['promises', promisesLine(status.promises)],
    ['samples', queueLine(queues.samples)],
    ['events', queueLine(queues.events)],
    ['set aside', status.refused === 0 ? 'none' : `${status.refused} records`],
    ['retried', status.retried.count === 0 ? 'none' : `${status.retried.count} records`],
    ['spool', spoolLine(spool)],
    ['upload', `${status.samples_per_minute} samples per minute${drainText(status.drain_seconds)}`],
    ['clock', clockLine(clock)],
    ['last error', error === null ? 'none' : `${error.at} ${error.code}: ${error.message}`],
  ];
  const waiting = status.completions_wait_for;
  const { damaged_file: damaged } = status.spool;
  if (damaged !== null) lines.push(['damaged', `${damaged} was set aside`]);
  if (waiting !== null) lines.push(['attention', `completions are paused: ${waiting}`]);
  for (const { kind, id, message } of status.retried.records.slice(0, RETRIED_SHOWN)) {
    lines.push(['attention', `${kind} ${id} is tried again: ${message}`]);
  }
  for (const { message } of status.promises.problems.slice(0, PROBLEMS_SHOWN)) {
    lines.push(['attention', message]);
  }
  for (const { task_id, code, message } of status.set_aside.slice(0, SET_ASIDE_SHOWN)) {
    lines.push(['attention', `completion of ${task_id} was set aside (${code}): ${message}`]);
  }
  return lines.map(([name, text]) => `${name.padEnd(12)}${escapeText(text)}\n`).join('');
}

function signingLine({ state, kid, last_number, unsigned, last_error }: AgentStatus['signing']) {
  const key =
    kid === null ? '' : ` with key ${kid.slice(0, 8)}…, last number ${last_number ?? 'none'}`;
  const waiting = unsigned === 0 ? '' : `; ${unsigned} wait for a signature`;
  const error = last_error === null ? '' : `; ${last_error.message}`;
  const toDo = state === 'revoked' ? `. ${KEY_REVOKED_HINT}` : '';
  return `${state.replaceAll('_', ' ')}${key}${waiting}${error}${toDo}`;
}

function promisesLine({ kept, problems }: AgentStatus['promises']): string {
  const wrong = problems.length === 0 ? '' : `; ${problems.length} with a problem`;
  return kept === 0 && wrong === '' ? 'none' : `${kept} wait for their receipts${wrong}`;
}

function queueLine({ count, bytes, oldest_at: oldest }: QueueStatus): string {
  return count === 0 ? 'none' : `${count}, ${sizeText(bytes)}, oldest from ${oldest ?? 'now'}`;
}

function spoolLine(spool: AgentStatus['spool']): string {
  const written = spool.bytes_written_last_hour;
  const wear = written === null ? '' : `; ${sizeText(written)} written in the last hour`;
  const failure = spool.failure === null ? '' : `; WRITE FAILED (${spool.failure})`;
  return `${sizeText(spool.bytes_used)} of ${sizeText(spool.bytes_allowed)}${wear}${failure}`;
}

function drainText(seconds: number | null): string {
  return seconds === null || seconds === 0 ? '' : `, backlog delivered in about ${seconds} s`;
}

function clockLine({ now, ahead_of_service_ms: ahead }: AgentStatus['clock']): string {
  if (ahead === null) return now;
  return `${now}, ${Math.round(Math.abs(ahead) / 1000)} s ${ahead >= 0 ? 'ahead of' : 'behind'} the service`;
}

function sizeText(bytes: number): string {
  return bytes < 1024 * 1024
    ? `${Math.ceil(bytes / 1024)} KiB`
    : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

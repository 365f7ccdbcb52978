// `svc-agent spool`: exports and compacts the spool, and handles records that were set aside.
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { SvcError } from '../../base/svc-error.ts';
import { machineClock } from '../clock.ts';
import { environmentOfAgent } from '../installation.ts';
import type { Spool } from '../spool/spool.ts';
import { askDaemon, readText } from './local-client.ts';

export function addCommands(program: Command): void {
  const spool = program
    .command('spool')
    .description('Export or compact the spool, or decide about set-aside records');
  spool
    .command('export')
    .description(
      'Print the records that wait for delivery, the set-aside records (refused by the service), and the statements of the robot, as JSON lines',
    )
    .addHelpText('after', '\nExample:\n  svc-agent spool export > spool.jsonl')
    .action(exportSpool);
  spool
    .command('compact')
    .description('Free the disk space of delivered records; the daemon must be stopped')
    .addHelpText('after', '\nExample:\n  sudo svc-agent spool compact')
    .action(compactSpool);
  spool
    .command('resend')
    .description(
      'Send all set-aside records (refused by the service) again: claims, completions, samples and events; the daemon must run',
    )
    .addHelpText(
      'after',
      '\nIf the time of a sample is more than 24 hours in the future, the service refuses the sample again. Print it with spool export, correct its recorded_at, and record it again with svc-agent telemetry. The old one stays set aside.\n\nExample:\n  svc-agent spool resend',
    )
    .action(resend);
  spool
    .command('retarget')
    .description(
      'Submit the evidence of a set-aside completion for another task; the daemon must run',
    )
    .argument('<task>', 'task id of the completion, as svc-agent status shows it')
    .requiredOption('--task <id>', 'id of the task to complete instead (required)')
    .addHelpText('after', '\nExample:\n  svc-agent spool retarget "$wrong" --task "$right"')
    .action((id: string, { task }: { task: string }) => settle(id, 'retarget', { task_id: task }));
  spool
    .command('drop')
    .description(
      'Delete a completion that the service refused (set aside), and print its evidence and the reason of the refusal; the daemon must run',
    )
    .argument('<task>', 'task id of the completion, as svc-agent status shows it')
    .addHelpText('after', '\nExample:\n  svc-agent spool drop "$task" > dropped.json')
    .action((id: string) => settle(id, 'drop'));
}

/** Prints one line for each record: of the stopped spool, or through the daemon that has it open. */
async function exportSpool(): Promise<void> {
  const { exportLines } = await import('../spool/export.ts');
  const { spool, folder } = await open().catch((error) => {
    if (error instanceof SvcError && error.code === 'spool_locked')
      return { spool: null, folder: '' };
    throw error;
  });
  let count = 0;
  try {
    const parts = spool ? exportLines(spool) : readText('/api/v1/spool');
    for await (const part of parts) {
      if (!process.stdout.write(part)) await once(process.stdout, 'drain');
      count += part.split('\n').length - 1;
    }
    process.stderr.write(`${count} records of ${spool ? folder : 'the running daemon'}.\n`);
  } finally {
    spool?.close();
  }
}

/** @throws SvcError `spool_locked` while a daemon runs */
async function compactSpool(): Promise<void> {
  const { spool, folder } = await open();
  try {
    const before = spool.bytesOnDisk();
    spool.compact();
    const now = spool.bytesOnDisk();
    process.stderr.write(`${folder}: ${before} bytes before, ${now} bytes now.\n`);
  } finally {
    spool.close();
  }
}

/** Prints how many records are queued again. */
async function resend(): Promise<void> {
  const { body } = await askDaemon('POST', '/api/v1/set-aside/resend');
  process.stderr.write(`${body.queued} queued again.\n`);
}

/** Decides what becomes of a completion that was set aside, and prints the daemon's answer. */
async function settle(id: string, action: 'retarget' | 'drop', body?: object): Promise<void> {
  const path = `/api/v1/set-aside/${encodeURIComponent(id)}/${action}`;
  const answer = await askDaemon('POST', path, body && { body: JSON.stringify(body) });
  process.stdout.write(`${JSON.stringify(answer.body)}\n`);
}

async function open(): Promise<{ spool: Spool; folder: string }> {
  const { readConfig } = await import('../config.ts');
  const { becomeOwnerOf } = await import('../spool/database.ts');
  const { openSpool } = await import('../spool/spool.ts');
  const { stateDir: folder, spoolBytes: maxBytes } = readConfig(
    await environmentOfAgent(process.env),
  );
  if (!existsSync(path.join(folder, 'spool.db'))) {
    throw new SvcError('usage', `There is no spool in ${folder}.`, {
      hint: 'Set SVC_AGENT_STATE_DIR like the daemon, and run this as root or as its account.',
    });
  }
  // Until the process ends: every file that it writes must belong to the agent.
  becomeOwnerOf(folder);
  return { spool: openSpool({ folder, maxBytes, clock: machineClock() }), folder };
}

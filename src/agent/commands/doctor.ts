// `svc-agent doctor`: checks of the machine and of the service.
import type { Command } from 'commander';
import { escapeText } from '../../base/escape.ts';
import { adoptProxies } from '../../base/proxy/variables.ts';
import { SvcError } from '../../base/svc-error.ts';
import { environmentToLookAfter, readAgentUnit } from '../installation.ts';
import type { AgentStatus } from '../status.ts';
import { askAgent } from './local-client.ts';

const DAEMON_MS = 10_000;

export function addCommands(program: Command, exitWith: (code: number) => void): void {
  program
    .command('doctor')
    .description('Check daemon, socket, spool, disk and service; exits with 1 if a check fails')
    .option('--json', 'print one JSON object: { ok, checks: [{ name, ok, detail }] }')
    .addHelpText(
      'after',
      '\nIf the environment has no API key, doctor uses the settings of the installed systemd service. Only root can read these settings.\n\nExamples:\n  sudo svc-agent doctor\n  svc-agent doctor --json',
    )
    .action(async (options: { json?: true }) => exitWith(await doctor(process.env, options)));
}

/** Exit code: 0 if every check passes, else 1. */
async function doctor(own: NodeJS.ProcessEnv, { json }: { json?: true }): Promise<number> {
  const { readConfig } = await import('../config.ts');
  const { checkMachine } = await import('../doctor/machine.ts');
  const { checkService } = await import('../doctor/service.ts');
  const environment = await environmentToLookAfter(own, await readAgentUnit());
  adoptProxies(environment);
  const config = readConfig(environment);
  const daemon = await statusOf(config.socket);
  const status = daemon instanceof SvcError ? null : daemon;
  const checks = [...(await checkMachine(config, daemon)), ...(await checkService(config, status))];
  const ok = checks.every((check) => check.ok);
  process.stdout.write(
    json
      ? `${JSON.stringify({ ok, checks })}\n`
      : checks
          .map(
            (one) =>
              `${one.ok ? 'ok    ' : 'WRONG '} ${one.name.padEnd(9)}${escapeText(one.detail)}\n`,
          )
          .join(''),
  );
  return ok ? 0 : 1;
}

async function statusOf(socket: string): Promise<AgentStatus | SvcError> {
  try {
    const signal = AbortSignal.timeout(DAEMON_MS);
    return (await askAgent(socket, 'GET', '/api/v1/status', { signal })).body;
  } catch (error) {
    if (error instanceof SvcError) return error;
    throw error;
  }
}

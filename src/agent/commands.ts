import { text } from 'node:stream/consumers';
import { type Command, InvalidArgumentError } from 'commander';
import { addConfigCommand } from '../base/config-command.ts';
import { addInstallCommands } from '../base/install-commands.ts';

/** The commands of `svc-agent`; each loads what it needs when it runs. */
export function addCommands(program: Command, exitWith: (code: number) => void): void {
  program
    .command('run')
    .description('Run the daemon from the environment (SVC_AGENT_…), until SIGTERM or SIGINT')
    .addHelpText(
      'after',
      '\nExample:\n  SVC_AGENT_URL=https://svc.example.org SVC_AGENT_KEY_FILE=/etc/svc-agent/key svc-agent run',
    )
    .action(async () => {
      const { run } = await import('./commands/run.ts');
      await run(process.env);
    });
  program
    .command('status')
    .description('Show what the daemon has delivered and what it keeps')
    .option('--json', 'print one JSON object')
    .option('--watch', 'again every 2 seconds, until Ctrl-C')
    .addHelpText('after', '\nExamples:\n  svc-agent status\n  svc-agent status --json')
    .action(async (options: import('./commands/status.ts').StatusOptions) => {
      const { showStatus } = await import('./commands/status.ts');
      await showStatus(process.env, options);
    });
  program
    .command('doctor')
    .description(
      'Say what keeps the robot from delivering, now or soon; ends with 1 if anything is wrong',
    )
    .option('--json', 'print one JSON object: { ok, checks: [{ name, ok, detail }] }')
    .addHelpText(
      'after',
      '\nWhere the environment names no key it looks at the installed service, which takes root.' +
        '\n\nExamples:\n  sudo svc-agent doctor\n  svc-agent doctor --json',
    )
    .action(async (options: { json?: true }) => {
      const { doctor } = await import('./commands/doctor.ts');
      exitWith(await doctor(process.env, options));
    });
  addConfigCommand(program, () => import('./config.ts'));
  addRobotCommands(program, exitWith);
  addUpkeepCommands(program);
  addInstallCommands(program, async () => (await import('./installation.ts')).agentInstallation);
}

/** What a robot's shell scripts need. */
function addRobotCommands(program: Command, exitWith: (code: number) => void): void {
  program
    .command('claim')
    .description('Claim a task and print its id')
    .argument('<title>', 'what the robot is about to do')
    .option('--id <uuid>', 'makes a repeated claim harmless')
    .option('--description <text>', 'more than the title says')
    .option('--expected <file>', 'JSON object with the expected result; - reads standard input')
    .addHelpText('after', '\nExample:\n  task=$(svc-agent claim "Survey the office hall")')
    .action(async (title: string, options: import('./commands/robot.ts').ClaimOptions) => {
      const { claim } = await import('./commands/robot.ts');
      await claim(process.env, title, options);
    });
  program
    .command('complete')
    .description('Hand in the proof of a task; ends with 8 while it is not anchored')
    .argument('<task>', 'id of the task')
    .argument('<file>', 'JSON object or array; - reads standard input')
    .option('--wait <seconds>', 'wait so long for the receipt', wholeNumber, 0)
    .addHelpText('after', '\nExample:\n  svc-agent complete "$task" evidence.json --wait 60')
    .action(async (task: string, file: string, options: { wait: number }) => {
      const { complete } = await import('./commands/robot.ts');
      exitWith(await complete(process.env, task, file, options));
    });
  program
    .command('telemetry')
    .description('Record a health sample, or those of a file')
    .argument('[file]', 'JSON: one sample, or { "samples": […] }; - reads standard input')
    .option('--battery <percent>', 'battery_pct, 0 to 100', Number)
    .option('--state <text>', 'idle, busy, error, charging, offline, or another')
    .option('--metric <name=number>', 'a reading; may be repeated', collect, [])
    .addHelpText(
      'after',
      '\nExamples:\n  svc-agent telemetry --battery 81 --state busy --metric speed_m_s=0.4\n  svc-agent telemetry samples.json',
    )
    .action(
      async (file: string | undefined, options: import('./commands/robot.ts').SampleOptions) => {
        const { recordSample } = await import('./commands/robot.ts');
        await recordSample(process.env, file, options);
      },
    );
  program
    .command('event')
    .description('Log an ops event')
    .argument('<type>', 'error, state_change, info, or another')
    .argument('[message]', 'what happened')
    .option('--severity <severity>', 'info, warn or error')
    .option('--payload <file>', 'JSON object; - reads standard input')
    .addHelpText('after', '\nExample:\n  svc-agent event error "Gripper jammed" --severity error')
    .action(
      async (
        type: string,
        message: string | undefined,
        options: import('./commands/robot.ts').EventOptions,
      ) => {
        const { logEvent } = await import('./commands/robot.ts');
        await logEvent(process.env, type, message, options);
      },
    );
  program
    .command('receipts')
    .description('Print the newest receipts that came through this agent, one JSON object a line')
    .option('--task <id>', 'of this task alone; ends with 8 while there is none')
    .addHelpText('after', '\nExample:\n  svc-agent receipts --task "$task" > receipt.json')
    .action(async (options: { task?: string }) => {
      const { printReceipts } = await import('./commands/robot.ts');
      exitWith(await printReceipts(process.env, options));
    });
}

/** What a person needs who looks after the robot. */
function addUpkeepCommands(program: Command): void {
  const key = program.command('key').description("Look after the robot's API key");
  key
    .command('set')
    .description(
      "Read a key from standard input, prove it with one call, and put it in SVC_AGENT_KEY_FILE, or the installed service's file",
    )
    .addHelpText(
      'after',
      '\nThe daemon picks it up by itself; an installed one has a copy of its own, and must be restarted.' +
        '\n\nExample:\n  svc robots rotate-key arm-1 --yes | sudo svc-agent key set',
    )
    .action(async () => {
      const { setKey } = await import('./commands/key.ts');
      if (process.stdin.isTTY) {
        process.stderr.write('Paste the key, then press Enter and Ctrl-D.\n');
      }
      await setKey(process.env, await text(process.stdin));
    });
  const spool = program.command('spool').description('Look after the spool of a stopped daemon');
  spool
    .command('export')
    .description('Print every record that is not delivered, and those set aside, as JSON lines')
    .addHelpText('after', '\nExample:\n  svc-agent spool export > spool.jsonl')
    .action(async () => {
      const { exportSpool } = await import('./commands/spool.ts');
      await exportSpool(process.env);
    });
  spool
    .command('compact')
    .description('Give the disk back what delivered records took')
    .action(async () => {
      const { compactSpool } = await import('./commands/spool.ts');
      await compactSpool(process.env);
    });
}

function wholeNumber(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

function collect(text: string, before: string[]): string[] {
  return [...before, text];
}

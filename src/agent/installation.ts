import type { Installation } from '../base/install-service.ts';

/** `svc-agent` as a systemd service. The programs of the group svc-agent may call its socket. */
export const agentInstallation: Installation = {
  name: 'svc-agent',
  description: "svc-agent, which delivers a robot's claims, evidence and telemetry",
  subcommand: 'run',
  credential: 'robot-key',
  directives: [
    // A robot's memory is small, and the agent needs 15 MiB of heap; docs/performance.md has what each saves.
    'Environment="NODE_OPTIONS=--max-semi-space-size=1 --max-old-space-size=128"',
    'Environment=MALLOC_ARENA_MAX=1',
    'RuntimeDirectory=svc-agent',
    'RuntimeDirectoryMode=0750',
    'RuntimeDirectoryPreserve=restart',
    // A damaged spool is salvaged first.
    'TimeoutStartSec=infinity',
    'WatchdogSec=2min',
  ],
  environment: `# Environment of svc-agent; see svc-agent config --describe. svc-agent key set keeps the key.
#SVC_AGENT_URL=https://svc.example.com
#SVC_AGENT_LISTEN=127.0.0.1:3800
#SVC_AGENT_SPOOL_MAX_MB=256
`,
  nextSteps: [
    'set SVC_AGENT_URL in /etc/svc-agent/environment',
    "svc-agent key set             with the robot's key on standard input",
    'usermod -aG svc-agent NAME    for each account that shall call the agent',
    'systemctl restart svc-agent',
  ],
};

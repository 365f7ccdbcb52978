import type { Installation } from '../base/install-service.ts';

/** `svc-agent` as a service of systemd. The programs of the group svc-agent may call its socket. */
export const agentInstallation: Installation = {
  name: 'svc-agent',
  description: "svc-agent, which delivers a robot's claims, evidence and telemetry",
  subcommand: 'run',
  credential: 'robot-key',
  directives: [
    'RuntimeDirectory=svc-agent',
    'RuntimeDirectoryMode=0750',
    'RuntimeDirectoryPreserve=restart',
    // A damaged spool is salvaged first.
    'TimeoutStartSec=10min',
    'WatchdogSec=2min',
  ],
  environment: `# Environment of svc-agent; see svc-agent --help. The key goes to /etc/svc-agent/robot-key.
#SVC_AGENT_URL=https://svc.example.com
#SVC_AGENT_LISTEN=127.0.0.1:3800
#SVC_AGENT_SPOOL_MAX_MB=256
`,
  nextSteps: [
    'set SVC_AGENT_URL in /etc/svc-agent/environment',
    "put the robot's key into /etc/svc-agent/robot-key (owner root, mode 600)",
    'usermod -aG svc-agent NAME    for each account that shall call the agent',
    'systemctl restart svc-agent',
  ],
};

import type { Installation } from '../../base/install-service.ts';

/** `svc-server` as a systemd service. */
export const serverInstallation: Installation = {
  name: 'svc-server',
  description: "svc-server, which anchors the hash of robots' evidence",
  subcommand: 'start',
  credential: 'anchor-key',
  directives: [
    // What requests under way hold is copied at each collection: half as often; docs/performance.md has what it gives.
    'Environment=NODE_OPTIONS=--max-semi-space-size=32',
    'Environment=SVC_DATA_DIR=%S/svc-server',
    // As $CREDENTIALS_DIRECTORY; the specifier for it is not in systemd 249 of Ubuntu 22.04.
    'Environment=SVC_ANCHOR_KEY_FILE=%t/credentials/%n/anchor-key',
    // Migrations come first.
    'TimeoutStartSec=infinity',
    'WatchdogSec=1min',
  ],
  environment: `# Environment of svc-server; see svc-server config --describe. The anchoring key goes to
# /etc/svc-server/anchor-key.
#SVC_CHAIN_RPC_URL=https://rpc.example.com
#SVC_BASE_URL=https://svc.example.com
`,
  nextSteps: [
    'set SVC_CHAIN_RPC_URL and SVC_BASE_URL in /etc/svc-server/environment',
    'put the anchoring key into /etc/svc-server/anchor-key (owner root, mode 600)',
    'systemctl restart svc-server',
  ],
};

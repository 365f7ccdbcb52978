import { parseArgs } from 'node:util';
import { killAgents } from '../../support/agent-process.ts';
import { killServers } from '../../support/server-process.ts';
import { performHardwareKeys } from './campaign.ts';
import { missingPackages } from './emulators.ts';

const help = `npm run campaign:hardware-keys -- [options]

Robots sign their work with keys in a PKCS #11 token (softhsm2, by pkcs11-tool) and in a TPM (swtpm, by tpm2_sign), and
their owner verifies that no statement is missing. Then 20 completions a second go through a TPM that takes 50 ms for a
signature. Prints one JSON document. Exits with 1 when anything is wrong. Skips without the packages of Debian:
apt-get install softhsm2 opensc swtpm tpm2-tools

  --seconds N  how long completions come to the slow TPM (default 20)
  --help
`;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '20' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) process.stdout.write(help);
else await campaign();

async function campaign(): Promise<void> {
  const missing = missingPackages();
  if (missing.length > 0) {
    process.stderr.write(`NOT CHECKED: apt-get install ${missing.join(' ')}\n`);
    return;
  }
  try {
    const report = await performHardwareKeys(Number(values.seconds), (line) =>
      process.stderr.write(`${line}\n`),
    );
    process.stdout.write(`${JSON.stringify(report)}\n`);
    if (report.violations.length > 0) process.exitCode = 1;
  } finally {
    killAgents();
    killServers();
  }
}

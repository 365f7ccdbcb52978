// The whole way, once: a robot's evidence goes to a chain and comes back as a receipt that anyone
// can check. `npm run demo`; `npm run demo -- --keep` leaves the service running. The build bundles this file for
// `svc-server demo`.
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import chalk from 'chalk';
import { createClient } from 'robot-svc';
import { hashProof } from 'robot-svc/proof';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { programs, startDevService, svc } from './dev-service.js';
import { evidenceOfRecordedRun } from './recorded-run.js';
import { expectThat, say, step, table } from './steps.js';

const NEXT_STEP = `
Next: connect a robot of your own, as docs/guides/robot-developer.md explains.
To call the service of this demo yourself, run the demo with --keep.`;
const folder = path.join(tmpdir(), `svc-demo-${randomBytes(6).toString('hex')}`);
const files = {
  evidence: path.join(folder, 'evidence.json'),
  receipt: path.join(folder, 'receipt.json'),
  altered: path.join(folder, 'altered-evidence.json'),
  forged: path.join(folder, 'forged-receipt.json'),
};

/** @type {Awaited<ReturnType<typeof startDevService>> | undefined} */
let service;

/**
 * Runs the demo and returns the exit code.
 *
 * @param {NodeJS.ProcessEnv} _
 * @param {{ keep?: boolean }} options
 */
export async function demo(_, { keep }) {
  for (const [signal, exitCode] of /** @type {const} */ ([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ])) {
    process.once(signal, () => stop().then(() => process.exit(exitCode)));
  }
  try {
    const startedAt = performance.now();
    await mkdir(folder, { mode: 0o700 });
    service = await step('Start the service, with a local chain of 1-second blocks', () =>
      startDevService(path.join(folder, 'data')),
    );
    const robotKey = await registerRobot(service.url);
    const receipt = await anchorEvidence(service.url, robotKey);
    const { url, rpcUrl } = service;
    const checked = { url, rpcUrl, account: await accountOf(url) };
    await checkReceipt(checked, receipt);
    await refuseAlteredEvidence(checked, receipt);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    say(chalk.green.bold(`\nEvery step held, in ${seconds} s.`));
    if (keep) await keepRunning(service, robotKey, receipt);
    else say(NEXT_STEP);
    return 0;
  } catch (error) {
    say(chalk.red(`\n${error instanceof Error ? error.message : error}`));
    return 1;
  } finally {
    await stop();
  }
}

/** @param {string} url */
async function registerRobot(url) {
  const wallet = privateKeyToAccount(generatePrivateKey());
  const session = await step(`Sign in with a fresh wallet, ${wallet.address}`, async () => {
    const guest = createClient({ baseUrl: url, fetch });
    const challenge = await guest.call('createChallenge', { body: { address: wallet.address } });
    const signature = await wallet.signMessage({ message: challenge.body.message });
    const answer = await guest.call('verifySignature', {
      body: { address: wallet.address, signature },
    });
    const cookie = answer.headers.getSetCookie().join('\n');
    return /svc_session=([^;]+)/.exec(cookie)?.[1] ?? '';
  });
  const owner = createClient({ baseUrl: url, fetch, credential: { session } });
  const { body } = await step('Register a robot, which gets an API key of its own', () =>
    owner.call('createRobot', { body: { name: 'hall-robot-1' } }),
  );
  return String(body.api_key);
}

/**
 * @param {string} url
 * @param {string} apiKey
 */
async function anchorEvidence(url, apiKey) {
  const robot = createClient({ baseUrl: url, fetch, credential: { apiKey } });
  const { body: claim } = await step('Claim a task, before the work starts', () =>
    robot.call('createTask', {
      body: {
        title: 'Survey the office hall',
        description: 'Drive the aisle and record the strength of five radio beacons.',
        expected_result: { samples: 150 },
      },
    }),
  );
  const evidence = await evidenceOfRecordedRun(randomBytes(16).toString('hex'));
  await writeFile(files.evidence, JSON.stringify(evidence, null, 2));
  const summary = `${evidence.samples.length} samples over ${evidence.distance_m} m`;
  const answer = await step(`Hand in the evidence of a real run (${summary}) and wait`, () =>
    robot.call('completeTask', { params: { id: claim.task.id }, body: { proof: evidence } }),
  );
  if (answer.status !== 200) throw new Error(answer.body.message);
  const { verification } = answer.body;
  await writeFile(files.receipt, JSON.stringify(verification, null, 2));
  say(`\n  The ${chalk.bold('verification receipt')}:`);
  table(verification);
  say();
  return verification;
}

/** @typedef {Awaited<ReturnType<typeof anchorEvidence>>} Receipt */
/** @typedef {{ url: string, rpcUrl: string, account: string }} Checked */

/**
 * The account that the service anchors with. Anyone can anchor anything, so a check names the sender.
 *
 * @param {string} url
 */
async function accountOf(url) {
  const { body } = await createClient({ baseUrl: url, fetch }).call('getChain');
  const [account] = body.anchor_addresses;
  if (account === undefined) throw new Error('The service names no anchoring account.');
  return account;
}

/**
 * @param {Checked} checked
 * @param {Receipt} receipt
 */
async function checkReceipt({ url, rpcUrl, account }, receipt) {
  const guest = createClient({ baseUrl: url, fetch });
  await step('Ask the public endpoint, which reads the chain', async () => {
    const { body } = await guest.call('verifyProofHash', {
      params: { proofHash: receipt.proof_hash },
      query: { task_id: receipt.task_id },
    });
    expectThat(body.verified, 'The public endpoint did not verify the receipt.');
  });
  const audit = await step(
    'Check without the service: receipt, evidence and chain alone',
    async () => {
      const result = await verify({ rpcUrl, account }, files.receipt, files.evidence);
      expectThat(result.exitCode === 0, `The chain does not hold the receipt.\n${result.output}`);
      return result;
    },
  );
  say(indent(audit.output));
}

/**
 * @param {Checked} checked
 * @param {Receipt} receipt
 */
async function refuseAlteredEvidence({ url, rpcUrl, account }, receipt) {
  const evidence = JSON.parse(await readFile(files.evidence, 'utf8'));
  evidence.samples[75].x_m = changeLastDigit(evidence.samples[75].x_m);
  const alteredHash = hashProof(evidence);
  await writeFile(files.altered, JSON.stringify(evidence, null, 2));
  await writeFile(files.forged, JSON.stringify({ ...receipt, proof_hash: alteredHash }, null, 2));

  await step('Change one digit of the evidence: the receipt no longer fits it', async () => {
    const { exitCode } = await verify({ rpcUrl, account }, files.receipt, files.altered);
    expectThat(exitCode === 3, 'Altered evidence passed as the original.');
  });
  await step('Rewrite the receipt for it: the service does not know that hash', async () => {
    const guest = createClient({ baseUrl: url, fetch });
    const refusal = await guest
      .call('verifyProofHash', { params: { proofHash: alteredHash } })
      .catch((/** @type {{ code?: string }} */ error) => error);
    expectThat(
      'code' in refusal && refusal.code === 'not_found',
      'The service knew an altered hash.',
    );
  });
  const audit = await step('and the chain does not hold it', async () => {
    const result = await verify({ rpcUrl, account }, files.forged, files.altered);
    expectThat(result.exitCode === 3, 'A forged receipt passed the check against the chain.');
    return result;
  });
  say(
    indent(
      audit.output
        .split('\n')
        .filter((line) => /✘|NOT/.test(line))
        .join('\n'),
    ),
  );
}

/**
 * @param {Pick<Checked, 'rpcUrl' | 'account'>} by
 * @param {string} receipt
 * @param {string} evidence
 */
function verify({ rpcUrl, account }, receipt, evidence) {
  const [input, proof] = [path.basename(receipt), path.basename(evidence)];
  const by = ['--rpc-url', rpcUrl, '--anchor-address', account];
  return svc(folder, 'verify', input, '--proof', proof, ...by);
}

/**
 * @param {{ url: string, rpcUrl: string, ended: Promise<unknown> }} service
 * @param {string} robotKey
 * @param {Receipt} receipt
 */
async function keepRunning({ url, rpcUrl, ended }, robotKey, receipt) {
  say(`
The service runs at ${chalk.cyan(url)}, its chain at ${chalk.cyan(rpcUrl)}, until you press Ctrl-C. To go on:

  curl ${url}/api/v1/verify/${receipt.proof_hash}
  curl ${url}/api/v1/tasks -H 'Authorization: Bearer ${robotKey}' \\
    -H 'Content-Type: application/json' -d '{"title":"Water the plants"}'
  curl ${url}/api/v1/tasks/ID/complete -H 'Authorization: Bearer ${robotKey}' \\
    -H 'Content-Type: application/json' -d '{"proof":{"watered":12}}'      # ID: of the task
  node ${programs.cli} verify ${files.receipt} --proof ${files.evidence} --rpc-url ${rpcUrl} --url ${url}
`);
  await ended;
}

async function stop() {
  await service?.close();
  await rm(folder, { recursive: true, force: true });
}

/** @param {number} value */
function changeLastDigit(value) {
  const text = String(value);
  return Number(text.slice(0, -1) + ((Number(text.at(-1)) + 1) % 10));
}

/** @param {string} text */
function indent(text) {
  return text.trimEnd().replace(/^/gm, '    ').concat('\n');
}

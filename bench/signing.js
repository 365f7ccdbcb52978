/**
 * What signed work costs the server more than unsigned work, by turns: processor time per task, and gas per paying
 * proof. Robots claim tasks and hand in results over HTTP, several at once, and wait for their receipts; half of them
 * sign. The claims of these also take free places in the batches.
 *
 *   --seconds N   of each turn (default 20)
 *   --robots N    of each kind (default 100)
 */
import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import { Client } from 'undici';
import { createClient } from '../dist/client/client.js';
import { kidOf } from '../src/proof/statements/key-text.ts';
import { grantOf, newSigner, SigningRobot } from '../test/support/signing-robot.ts';
import { readAnchors } from './anchor/anchors.js';
import { byTurns } from './by-turns.js';
import { sized } from './quick.js';
import { report } from './report.js';
import { post } from './service/calls.js';
import { openSite } from './site.js';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: sized('20', '1') },
    robots: { type: 'string', default: sized('100', '5') },
  },
});
const count = Number(values.robots);
const seconds = Number(values.seconds);
const GOAL_MS = 0.5;
const proof = { picked: 12, distance_m: 3.269, route: ['a1', 'b4', 'c7'] };

/** Puts a key of the robot into use. Answers what signs for it. */
async function signing(url, { id, apiKey, session, account }) {
  const signer = newSigner();
  const [robot, owner] = [{ apiKey }, { session }].map((credential) =>
    createClient({ baseUrl: url, fetch, credential }),
  );
  await robot.call('proposeKey', { body: { public_key: signer.publicKey } });
  const { body } = await owner.call('getIdentity', { params: { id } });
  const text = grantOf(body.identity, signer);
  const signature = await account.signMessage({ message: text });
  await owner.call('signKeyText', { params: { id }, body: { text, signature } });
  return new SigningRobot(id, kidOf(text), signer);
}

async function send(client, { apiKey }, path, body) {
  const answer = await client.request(post(path, apiKey, JSON.stringify(body)));
  const text = await answer.body.text();
  if (answer.statusCode >= 300)
    throw new Error(`${path} was answered ${answer.statusCode}: ${text}`);
}

/** Claims and completes one task after the other until `isOver`. Answers how many receipts came. */
async function work(url, robot, signer, isOver) {
  const client = new Client(url, { headersTimeout: 0 });
  let receipts = 0;
  while (!isOver()) {
    const task = { id: randomUUID(), title: 'carry a parcel' };
    const claim = signer && { statement: signer.claim(task) };
    await send(client, robot, '/api/v1/tasks', { ...task, ...claim });
    const result = signer && { statement: signer.result(task, proof), outcome: 'succeeded' };
    await send(client, robot, `/api/v1/tasks/${task.id}/complete`, { proof, ...result });
    receipts += 1;
  }
  await client.close();
  return receipts;
}

const site = await openSite({ blockTime: 1, robots: 2 * count, environment: {}, monitored: true });
try {
  const signers = [];
  for (const robot of site.robots.slice(0, count)) signers.push(await signing(site.url, robot));
  const gas = { signed: 0, unsigned: 0 };
  /** Processor time of the server per task, in ms. */
  const turn = async (kind) => {
    const before = await readAnchors(site.rpcUrl);
    await site.measure();
    const end = performance.now() + seconds * 1000;
    const isSigned = kind === 'signed';
    const robots = isSigned ? site.robots.slice(0, count) : site.robots.slice(count);
    const working = robots.map((robot, i) =>
      work(site.url, robot, isSigned ? signers[i] : null, () => performance.now() > end),
    );
    const receipts = (await Promise.all(working)).reduce((sum, one) => sum + one, 0);
    const { cpuMs } = await site.measured();
    const after = await readAnchors(site.rpcUrl);
    gas[kind] = (after.gas - before.gas) / receipts;
    return cpuMs / receipts;
  };
  const ms = await byTurns({ measured: () => turn('signed'), raw: () => turn('unsigned') });
  report([
    ['processor per signed task (ms)', ms.measured],
    ['per unsigned task (ms)', ms.raw],
    ['difference (ms)', ms.measured - ms.raw, '<=', GOAL_MS],
    ['gas per paying proof, signed', gas.signed],
    ['unsigned', gas.unsigned],
    ['ratio', gas.signed / gas.unsigned, '<=', 1.05],
  ]);
} finally {
  await site.close();
}

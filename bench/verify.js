/**
 * Public verifications over HTTP, each of which reads the chain anew: of proofs with a transaction each, by turns, and of
 * one proof again and again, which share a read that began after they came; against the chain's node asked the same by itself. Prints
 * a table.
 *
 *   --seconds N    of each measurement (default 20)
 *   --proofs N     (default 500)
 */
import { parseArgs } from 'node:util';
import { Client } from 'undici';
import { claimTasks } from './anchor/load.js';
import { report } from './report.js';
import { callsPerSecond, inTurn, post } from './service/calls.js';
import { openSite } from './site.js';

const CONNECTIONS = 64;
const ROBOTS = 100;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '20' },
    proofs: { type: 'string', default: '500' },
  },
});
const seconds = Number(values.seconds);

/** Claims, hands in and anchors proofs, a different one for each task; answers their verifications. */
async function anchorProofs(site, count) {
  const robots = await claimTasks(site, Math.ceil(count / ROBOTS));
  const tasks = robots.flatMap(({ apiKey, tasks: ids }) => ids.map((id) => ({ apiKey, id })));
  const anchored = [];
  const work = async () => {
    const client = new Client(site.url, { headersTimeout: 0 });
    for (let task = tasks.pop(); task !== undefined; task = tasks.pop()) {
      const body = JSON.stringify({ proof: { task: task.id, parcels: 12 } });
      const path = `/api/v1/tasks/${task.id}/complete`;
      const answer = await client.request(post(path, task.apiKey, body));
      const { verification } = await answer.body.json();
      anchored.push(verification);
    }
    await client.close();
  };
  await Promise.all(Array.from({ length: 500 }, work));
  return anchored;
}

function verifyInTurn(site, anchored) {
  const one = inTurn(anchored);
  const next = () => ({ method: 'GET', path: `/api/v1/verify/${one().proof_hash}` });
  return callsPerSecond({
    url: site.url,
    connections: CONNECTIONS,
    seconds,
    expected: 200,
    next,
  });
}

/** Reads of the chain that the server made so far, by its own count. */
async function readsOf(site) {
  const text = await (await fetch(`${site.url}/metrics`)).text();
  const counts = text.matchAll(/^svc_rpc_call_seconds_count\{.*\} (\d+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** The same reads asked of the node itself: what a verification costs at least. */
async function rawPerSecond(site, anchored) {
  const one = inTurn(anchored);
  const blockAt = (tag) => ({ method: 'eth_getBlockByNumber', params: [tag, false] });
  const batch = (calls) => ({
    method: 'POST',
    path: '/',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call }))),
  });
  let turn = 0;
  let block;
  const next = () => {
    turn += 1;
    if (turn % 2 === 0) return batch([blockAt(block)]);
    const { tx_hash: hash, block_number: number } = one();
    block = `0x${BigInt(number).toString(16)}`;
    return batch([
      { method: 'eth_chainId', params: [] },
      { method: 'eth_getTransactionByHash', params: [hash] },
      { method: 'eth_getTransactionReceipt', params: [hash] },
      { method: 'eth_blockNumber', params: [] },
      ...['safe', 'finalized'].map(blockAt),
    ]);
  };
  const { perSecond } = await callsPerSecond({
    url: site.rpcUrl,
    connections: CONNECTIONS,
    seconds,
    expected: 200,
    next,
  });
  return perSecond / 2;
}

// Proofs of one batch would share the reads of its transaction.
const environment = { SVC_ANCHOR_BATCH_MAX: '1', SVC_ANCHOR_MAX_IN_FLIGHT: '64' };
const site = await openSite({ blockTime: 1, robots: ROBOTS, environment });
try {
  const anchored = await anchorProofs(site, Number(values.proofs));
  const before = await readsOf(site);
  const cold = await verifyInTurn(site, anchored);
  const between = await readsOf(site);
  const repeated = await verifyInTurn(site, anchored.slice(0, 1));
  const after = await readsOf(site);
  const raw = await rawPerSecond(site, anchored);
  report([
    ['verifications per second, of many transactions', cold.perSecond],
    ['reads of the chain for each', (between - before) / cold.answered],
    ['verifications per second, of one proof', repeated.perSecond],
    ['reads of the chain for each', (after - between) / repeated.answered],
    ['the node by itself, the same reads per second', raw],
    ['ratio, of many transactions', cold.perSecond / raw],
    ['ratio, of one proof', repeated.perSecond / raw],
  ]);
} finally {
  await site.close();
}

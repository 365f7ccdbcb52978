/**
 * Public verifications over HTTP, each of which reads the chain for itself or shares a read that began after it came:
 * of final proofs with a transaction each, one after the other, and of one proof again and again. Two services are
 * measured interleaved: one that has stored the chain proof of each anchor, and one that builds none and so proves the
 * anchors of each block once. The chain's node is asked directly what a verification reads without any proof. Prints a
 * table.
 *
 *   --seconds N    of each measurement (default 20)
 *   --proofs N     (default 500)
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Client } from 'undici';
import { claimTasks } from './anchor/load.js';
import { byTurns } from './by-turns.js';
import { sized } from './quick.js';
import { report } from './report.js';
import { callsPerSecond, inTurn, post } from './service/calls.js';
import { openSite } from './site.js';

const CONNECTIONS = 64;
const ROBOTS = 100;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: sized('20', '1') },
    proofs: { type: 'string', default: sized('500', '100') },
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

async function metricsOf(site) {
  return (await fetch(`${site.url}/metrics`)).text();
}

/** Reads of the chain that the server made so far, by its own count. */
async function readsOf(site) {
  const counts = (await metricsOf(site)).matchAll(/^svc_rpc_call_seconds_count\{.*\} (\d+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Waits until every anchor is final, and until `missing` of them have no chain proof. */
async function settled(site, missing) {
  for (;;) {
    const lines = (await metricsOf(site)).split('\n');
    const isFinal = lines.includes('svc_anchor_transactions{state="included"} 0');
    if (isFinal && lines.includes(`svc_chain_proofs_missing ${missing}`)) return;
    await sleep(500);
  }
}

/** A service with anchored proofs that are final. */
async function openAnchored(chainProofs) {
  const site = await openSite({
    blockTime: 1,
    robots: ROBOTS,
    // Proofs of one batch would share the reads of its transaction.
    environment: {
      SVC_ANCHOR_BATCH_MAX: '1',
      SVC_ANCHOR_MAX_IN_FLIGHT: '64',
      SVC_CHAIN_PROOFS: String(chainProofs),
      // What is measured is the work, not the bound on it.
      SVC_VERIFY_RPC_PER_SECOND: '1000000',
    },
  });
  const anchored = await anchorProofs(site, Number(values.proofs));
  await settled(site, chainProofs ? 0 : anchored.length);
  return { site, anchored };
}

/** Verifications per second, and reads of the chain for each. */
async function measure({ site }, proofs) {
  const before = await readsOf(site);
  const { perSecond, answered } = await verifyInTurn(site, proofs);
  return { perSecond, reads: ((await readsOf(site)) - before) / answered };
}

/** The seven calls for a transaction asked of the node itself: what a verification costs at least without a proof. */
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

const proven = await openAnchored(true);
const unproven = await openAnchored(false);
try {
  const reads = { proven: 0, unproven: 0 };
  const many = await byTurns({
    async measured() {
      const found = await measure(proven, proven.anchored);
      reads.proven = found.reads;
      return found.perSecond;
    },
    async raw() {
      const found = await measure(unproven, unproven.anchored);
      reads.unproven = found.reads;
      return found.perSecond;
    },
  });
  const repeated = await measure(proven, proven.anchored.slice(0, 1));
  const raw = await rawPerSecond(unproven.site, unproven.anchored);
  report([
    ['verifications per second, of many transactions', many.measured],
    ['reads of the chain for each', reads.proven],
    ['without chain proofs, interleaved', many.raw],
    ['reads of the chain for each', reads.unproven],
    ['ratio of the two', many.ratio],
    ['verifications per second, of one proof', repeated.perSecond],
    ['reads of the chain for each', repeated.reads],
    ['the node by itself, transaction by transaction', raw],
    ['ratio, of many transactions without proofs', many.raw / raw],
  ]);
} finally {
  await Promise.all([proven.site.close(), unproven.site.close()]);
}

import { setTimeout as sleep } from 'node:timers/promises';
import { openSite } from '../site.js';
import { ask, readAnchors } from './anchors.js';
import { claimTasks, complete, connect } from './load.js';

const BATCH = 1024;
const ROBOTS = 256;
const REST_MS = 5_000;

/**
 * How long a full batch holds the server's event loop when nothing else is asked of it: from the proof that fills
 * the batch to the last receipt, through tree, signature, broadcast, inclusion and settlement.
 *
 * @returns {Promise<{ p99Ms: number, maxMs: number, cpuMs: number }>}
 */
export async function measureOneBatch() {
  // A transaction that no block takes lets the others gather.
  const environment = { SVC_ANCHOR_LINGER_MS: '60000', SVC_ANCHOR_BATCH_MAX: String(BATCH) };
  const site = await openSite({
    blockTime: 'manual',
    robots: ROBOTS,
    environment,
    monitored: true,
  });
  try {
    const robots = await claimTasks(site, BATCH / ROBOTS + 1);
    const clients = await connect(site.url, BATCH + 1);
    const handIn = (client, i) => {
      const { apiKey, tasks } = robots[i % ROBOTS];
      return complete(client, apiKey, tasks[Math.floor(i / ROBOTS)]);
    };
    const first = handIn(clients[0], 0);
    await broadcast(site.rpcUrl, 1);
    const batched = clients.slice(1, BATCH).map((client, i) => handIn(client, i + 1));
    await sleep(REST_MS);
    await site.measure();
    const last = handIn(clients[BATCH], BATCH);
    await broadcast(site.rpcUrl, 2);
    await ask(site.rpcUrl, 'evm_mine');
    await Promise.all([first, ...batched, last]);
    const measured = await site.measured();
    await Promise.all(clients.map((client) => client.destroy()));
    const { transactions, proofs } = await readAnchors(site.rpcUrl);
    if (transactions !== 2 || proofs !== BATCH + 1) {
      throw new Error(`${proofs} proofs in ${transactions} transactions, not one and ${BATCH}`);
    }
    return measured;
  } finally {
    await site.close();
  }
}

async function broadcast(rpcUrl, count) {
  for (;;) {
    const { pending } = await ask(rpcUrl, 'txpool_status');
    if (Number(pending) >= count) return;
    await sleep(20);
  }
}

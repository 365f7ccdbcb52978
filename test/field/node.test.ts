// How nodes and providers really answer. docs/testing.md says how to add a row.
import { describe, expect, it, onTestFinished } from 'vitest';
import { openChain } from '../../src/chain/chain.ts';
import { broadcastOutcome } from '../../src/chain/errors.ts';
import { startAnchoringRig } from '../support/anchoring-rig.ts';
import { startTestChain } from '../support/anvil.ts';
import { answers, changeResult, refuses, rewrite } from '../support/node-behavior.ts';
import { type RpcProxy, type RpcRequest, startRpcProxy } from '../support/rpc-proxy.ts';

interface Row {
  name: string;
  /** Where it was reported: repository and number. */
  report: string;
  /** What the proxy does to the answers of a real node. */
  behave(proxy: RpcProxy): void;
}

const TIP = 'eth_maxPriorityFeePerGas';

const anchors: Row[] = [
  {
    name: 'answers ids as text',
    report: 'dipdup 1179',
    behave: rewrite((entry) => ({ ...entry, id: String((entry as RpcRequest).id) })),
  },
  {
    name: 'answers null for the id 0',
    report: 'web3.py 2150',
    behave: rewrite((entry) => ({ ...entry, id: (entry as RpcRequest).id || null })),
  },
  {
    name: 'answers a batch in reverse order, with ids as text',
    report: 'of our own',
    behave: (proxy) =>
      proxy.handle(async ({ calls, forward, response }) => {
        const results = await forward(calls);
        const entries = calls.map(({ id }, i) => ({ jsonrpc: '2.0', id: `${id}`, ...results[i] }));
        response.end(JSON.stringify(entries.length === 1 ? entries[0] : entries.reverse()));
      }),
  },
  { name: 'suggests no tip', report: 'ethrex 2682', behave: answers(TIP, { result: null }) },
  {
    name: 'suggests an empty tip',
    report: 'hiero-json-rpc-relay 3487',
    behave: answers(TIP, { result: '0x' }),
  },
  {
    name: 'has no suggestion of a tip',
    report: 'sei-chain 1611',
    behave: answers(TIP, refuses('not supported')),
  },
  {
    name: 'does not implement the suggestion of a tip',
    report: 'ipc 220',
    behave: answers(TIP, refuses('not implemented', -32603)),
  },
  {
    name: 'does not offer the suggestion of a tip to this key',
    report: 'of our own',
    behave: answers(TIP, refuses('rpc method is not whitelisted')),
  },
];

describe('a node that', () => {
  it.each(anchors)('$name anchors ($report)', async ({ behave }) => {
    const rig = await startAnchoringRig();
    onTestFinished(() => rig.closeSound());
    behave(rig.proxy);
    rig.start();

    const ids = await rig.queue();
    await rig.pending(1);
    await rig.node.mine();

    expect(await rig.verified(ids)).toHaveLength(1);
  });
});

const implausible: (Row & { says: string })[] = [
  {
    name: 'has a chain id above 2^53',
    report: 'ethers.js 3234',
    behave: answers('eth_chainId', { result: '0x20000000000001' }),
    says: 'eth_chainId is 9007199254740993, above 2^53 - 1',
  },
  {
    name: 'has block times in milliseconds',
    report: 'polygon-edge 398, cita 230',
    behave: changeResult('eth_getBlockByNumber', (block) => ({
      ...block,
      timestamp: '0x19a9d9bd900',
    })),
    says: 'the timestamp of a block is 1763580827904 s, after the year 9999',
  },
];

describe('the error for a node that', () => {
  it.each(implausible)('$name names the value ($report)', async ({ behave, says }) => {
    const node = await startTestChain();
    const proxy = await startRpcProxy(node.url);
    const chain = openChain({ urls: [proxy.url] });
    onTestFinished(async () => {
      await chain.close();
      await proxy.close();
      await node.close();
    });
    behave(proxy);

    await expect(chain.anchoring.identity()).rejects.toMatchObject({ reason: says });
  });
});

/** What a node says to a signed transaction, and what follows. */
const refusals: { report: string; says: string; outcome: string; meaning?: string }[] = [
  {
    report: 'initia.js 60',
    says: 'insufficient fees; got: 62875uinit (sum 0), required: 25149660uinit: insufficient fee',
    outcome: 'refused',
    meaning: 'underpriced',
  },
  { report: 'ethermint 910', says: 'invalid base fee', outcome: 'refused', meaning: 'underpriced' },
  {
    report: 'ethermint 317',
    says: 'invalid nonce; got 9, expected 8: invalid sequence',
    outcome: 'refused',
    meaning: 'not_accepted',
  },
  {
    report: 'of our own',
    says: 'invalid nonce; got 8, expected 10: invalid sequence',
    outcome: 'nonce_used',
  },
  {
    report: 'of our own',
    says: 'invalid nonce; got 18446744073709551616, expected 9',
    outcome: 'refused',
    meaning: 'not_accepted',
  },
  {
    report: 'of our own',
    says: 'insufficient funds for gas * price + value',
    outcome: 'refused',
    meaning: 'underfunded',
  },
];

describe('a transaction', () => {
  it.each(refusals)('refused with "$says" is $outcome ($report)', ({ says, outcome, meaning }) => {
    expect(broadcastOutcome({ rpcCode: -32000, reason: says })).toMatchObject({
      outcome,
      ...(meaning && { meaning }),
    });
  });
});

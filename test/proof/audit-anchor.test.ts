import { describe, expect, it } from 'vitest';
import { auditAnchor, type ChainFacts, type StatedAnchor } from '../../src/proof/audit-anchor.ts';
import { type AuditCheckName, isProven } from '../../src/proof/audit-check.ts';
import type { Hex } from '../../src/proof/bytes.ts';
import { commitLeaves } from '../../src/proof/commit-leaves.ts';
import { leafHash } from '../../src/proof/leaf.ts';
import { encodePayload, type Payload } from '../../src/proof/payload.ts';
import { hex, sha256 } from './reference.ts';

const account: Hex = `0x${'a1'.repeat(20)}`;
const stranger: Hex = `0x${'b2'.repeat(20)}`;

function content(i: number) {
  return {
    proof_hash: hex(sha256(`proof ${i}`)),
    task_id: `0195a1e0-7c00-7000-8000-0000000000${10 + i}`,
    robot_id: `0195a1e0-7c00-7000-8000-0000000000${40 + i}`,
    claim_hash: hex(sha256(`claim ${i}`)),
  };
}

/** A statement and the facts that bear it out, for the proof at `index` of `count` anchored together. */
function anchored(count: number, index: number): { stated: StatedAnchor; facts: ChainFacts } {
  const contents = Array.from({ length: count }, (_, i) => content(i));
  const { payload, inclusions } = commitLeaves(
    contents.map((c) => ({ proof_hash: c.proof_hash, leaf: leafHash(c) })),
  );
  const tx_hash = hex(sha256('transaction'));
  const block_hash = hex(sha256('block'));
  const timestamp = '2026-03-01T08:15:30.000Z';
  return {
    stated: {
      ...content(index),
      chain_id: 31337,
      inclusion: inclusions[index] ?? null,
      tx_hash,
      block_number: '42',
      block_hash,
      tx_index: 3,
      anchored_at: timestamp,
      from: account,
    },
    facts: {
      chain_id: 31337,
      tx: { hash: tx_hash, from: account, to: account, value: '0', input: encodePayload(payload) },
      receipt: { status: 'success', block_number: '42', block_hash, tx_index: 3 },
      canonical_block: { hash: block_hash, number: '42', timestamp },
    },
  };
}

function failures(stated: StatedAnchor, facts: ChainFacts): AuditCheckName[] {
  const checks = auditAnchor(stated, facts);
  const failed = checks.filter(({ ok }) => !ok).map(({ name }) => name);
  expect(isProven(checks)).toBe(failed.length === 0);
  return failed;
}

const single = anchored(1, 0);
const batch = anchored(5, 3);

function withInclusion(change: object): StatedAnchor {
  const { inclusion } = batch.stated;
  if (inclusion === null) throw new Error('a batch has an inclusion');
  return { ...batch.stated, inclusion: { ...inclusion, ...change } };
}

describe('a malformed statement', () => {
  it.each<[string, object, AuditCheckName]>([
    ['a hash that is a number', { tx_hash: 7 }, 'transaction_found'],
    ['no hash', { tx_hash: undefined }, 'transaction_found'],
    ['a sender that is null', { from: null }, 'sender'],
    ['a proof hash that is an array', { proof_hash: [] }, 'inclusion_path'],
    ['no inclusion', { inclusion: undefined }, 'inclusion_path'],
    ['an inclusion that is text', { inclusion: 'yes' }, 'inclusion_path'],
    [
      'a path that is null',
      { inclusion: { ...batch.stated.inclusion, path: null } },
      'inclusion_path',
    ],
    ['a root that is a number', { inclusion: { ...batch.stated.inclusion, root: 1 } }, 'root'],
    [
      'a path of numbers',
      { inclusion: { ...batch.stated.inclusion, path: [1] } },
      'inclusion_path',
    ],
  ])('fails its check: %s', (_, change, name) => {
    const stated = { ...batch.stated, ...change } as StatedAnchor;

    expect(failures(stated, batch.facts)).toContain(name);
  });
});

function withTx(base: { facts: ChainFacts }, change: object): ChainFacts {
  const { tx } = base.facts;
  if (tx === null) throw new Error('the transaction is there');
  return { ...base.facts, tx: { ...tx, ...change } };
}

function withPayload(base: { facts: ChainFacts }, payload: Payload): ChainFacts {
  return withTx(base, { input: encodePayload(payload) });
}

describe('an honest anchor', () => {
  it('of one proof passes every check, in this order', () => {
    const checks = auditAnchor(single.stated, single.facts);

    expect(isProven(checks)).toBe(true);
    expect(checks.map(({ name }) => name)).toEqual([
      'chain',
      'transaction_found',
      'status',
      'canonical_block',
      'self_transfer',
      'sender',
      'payload',
      'proof_hash',
      'leaf',
      'block_number',
      'block_hash',
      'tx_index',
      'anchored_at',
    ]);
  });

  it('of a batch passes every check, for each of its proofs', () => {
    for (let index = 0; index < 5; index++) {
      const { stated, facts } = anchored(5, index);

      expect(failures(stated, facts)).toEqual([]);
    }
    expect(auditAnchor(batch.stated, batch.facts).map(({ name }) => name)).toEqual([
      'chain',
      'transaction_found',
      'status',
      'canonical_block',
      'self_transfer',
      'sender',
      'payload',
      'leaf_count',
      'root',
      'inclusion_path',
      'block_number',
      'block_hash',
      'tx_index',
      'anchored_at',
    ]);
  });

  it('needs no stated block, time or sender', () => {
    const { block_number, block_hash, tx_index, anchored_at, from, ...stated } = batch.stated;

    const names = auditAnchor(stated, batch.facts).map(({ name }) => name);

    expect(failures(stated, batch.facts)).toEqual([]);
    for (const name of ['sender', 'block_number', 'block_hash', 'tx_index', 'anchored_at']) {
      expect(names).not.toContain(name);
    }
  });

  it('is recognized in any case of its hex digits', () => {
    const upper = (text: string) => `0x${text.slice(2).toUpperCase()}`;
    const { proof_hash, claim_hash, tx_hash } = single.stated;
    const stated = {
      ...single.stated,
      proof_hash: upper(proof_hash),
      claim_hash: upper(claim_hash),
      tx_hash: upper(tx_hash),
      from: upper(account),
    };

    expect(failures(stated, single.facts)).toEqual([]);
  });
});

describe('a forged statement fails in its own check', () => {
  const other = content(7);

  it.each<[string, object, AuditCheckName[]]>([
    ['other evidence', { proof_hash: other.proof_hash }, ['proof_hash', 'leaf']],
    ['another task', { task_id: other.task_id }, ['leaf']],
    ['another robot', { robot_id: other.robot_id }, ['leaf']],
    ['another claim', { claim_hash: other.claim_hash }, ['leaf']],
    ['a malformed task id', { task_id: 'task' }, ['leaf']],
    ['a malformed proof hash', { proof_hash: 'proof' }, ['proof_hash', 'leaf']],
    ['another chain', { chain_id: 1 }, ['chain']],
    ['another transaction', { tx_hash: other.proof_hash }, ['transaction_found']],
    ['another sender', { from: stranger }, ['sender']],
    ['another block', { block_number: '43' }, ['block_number']],
    ['another block hash', { block_hash: other.proof_hash }, ['block_hash']],
    ['another place in the block', { tx_index: 4 }, ['tx_index']],
    ['another time', { anchored_at: '2026-03-01T08:15:29.000Z' }, ['anchored_at']],
  ])('of one proof with %s', (_, change, failed) => {
    expect(failures({ ...single.stated, ...change }, single.facts)).toEqual(failed);
  });

  it.each<[string, object, AuditCheckName[]]>([
    ['other evidence', { proof_hash: other.proof_hash }, ['inclusion_path']],
    ['another task', { task_id: other.task_id }, ['inclusion_path']],
    ['another robot', { robot_id: other.robot_id }, ['inclusion_path']],
    ['another claim', { claim_hash: other.claim_hash }, ['inclusion_path']],
    [
      'the place of another leaf',
      { inclusion: anchored(5, 2).stated.inclusion },
      ['inclusion_path'],
    ],
    [
      'the inclusion of another batch',
      { inclusion: anchored(6, 3).stated.inclusion },
      ['leaf_count', 'root', 'inclusion_path'],
    ],
    ['no inclusion', { inclusion: null }, ['payload', 'proof_hash', 'leaf']],
  ])('in a batch with %s', (_, change, failed) => {
    expect(failures({ ...batch.stated, ...change }, batch.facts)).toEqual(failed);
  });

  it('in a batch with a truncated, extended or swapped path', () => {
    const path = batch.stated.inclusion?.path ?? [];

    for (const forged of [
      path.slice(1),
      path.slice(0, -1),
      [...path, other.proof_hash],
      path.toReversed(),
    ]) {
      expect(failures(withInclusion({ path: forged }), batch.facts)).toEqual(['inclusion_path']);
    }
  });

  it('in a batch with another leaf index', () => {
    expect(failures(withInclusion({ leaf_index: 2 }), batch.facts)).toEqual(['inclusion_path']);
  });

  it('in a batch with another leaf count, even of a tree that fits the path', () => {
    expect(failures(withInclusion({ leaf_count: 6 }), batch.facts)).toEqual(['leaf_count']);
    expect(failures(withInclusion({ leaf_count: 4 }), batch.facts)).toContain('leaf_count');
  });

  it('in a batch with another root', () => {
    expect(failures(withInclusion({ root: other.proof_hash }), batch.facts)).toEqual(['root']);
  });

  it('that presents a single as a batch of one', () => {
    const inclusion = { root: leafHash(single.stated), leaf_index: 0, leaf_count: 1, path: [] };

    expect(failures({ ...single.stated, inclusion }, single.facts)).toEqual([
      'payload',
      'leaf_count',
      'root',
      'inclusion_path',
    ]);
  });
});

describe('a contradicting chain fails in its own check', () => {
  const { facts, stated } = single;

  it('on another chain', () => {
    expect(failures(stated, { ...facts, chain_id: 1 })).toEqual(['chain']);
  });

  it('with a reverted transaction', () => {
    const receipt = facts.receipt && { ...facts.receipt, status: 'reverted' as const };

    expect(failures(stated, { ...facts, receipt })).toEqual(['status']);
  });

  it('with a block that was removed by a reorganization', () => {
    const block = facts.canonical_block && { ...facts.canonical_block, hash: hex(sha256('fork')) };

    expect(failures(stated, { ...facts, canonical_block: block })).toEqual(['canonical_block']);
  });

  it('with a transaction that is in no block', () => {
    expect(failures(stated, { ...facts, receipt: null })).toEqual([
      'status',
      'canonical_block',
      'block_number',
      'block_hash',
      'tx_index',
    ]);
  });

  it('without a block at the number of the transaction', () => {
    expect(failures(stated, { ...facts, canonical_block: null })).toEqual([
      'canonical_block',
      'anchored_at',
    ]);
  });

  it('with a block of another number', () => {
    const block = facts.canonical_block && { ...facts.canonical_block, number: '41' };

    expect(failures(stated, { ...facts, canonical_block: block })).toEqual(['canonical_block']);
  });

  it('with a block of another time', () => {
    const block = facts.canonical_block && {
      ...facts.canonical_block,
      timestamp: '2026-03-01T09:15:30.000Z',
    };

    expect(failures(stated, { ...facts, canonical_block: block })).toEqual(['anchored_at']);
  });

  it.each([
    ['to another account', { to: stranger }],
    ['that creates a contract', { to: null }],
    ['that carries money', { value: '1' }],
  ])('with a transaction %s', (_, change) => {
    expect(failures(stated, withTx(single, change))).toEqual(['self_transfer']);
  });

  it('with a transaction that a stranger sent to itself', () => {
    expect(failures(stated, withTx(single, { from: stranger, to: stranger }))).toEqual(['sender']);
  });

  it('with longer calldata around the payload', () => {
    const longer = (base: typeof single) => withTx(base, { input: `${base.facts.tx?.input}00` });

    expect(failures(stated, longer(single))).toEqual(['payload', 'proof_hash', 'leaf']);
    expect(failures(batch.stated, longer(batch))).toEqual([
      'payload',
      'leaf_count',
      'root',
      'inclusion_path',
    ]);
  });

  it('with the leaf of another task under the same proof hash', () => {
    const forged = leafHash({ ...stated, task_id: content(7).task_id });
    const payload: Payload = { kind: 'single', proof_hash: content(0).proof_hash, leaf: forged };

    expect(failures(stated, withPayload(single, payload))).toEqual(['leaf']);
  });

  it('with a batch of another root', () => {
    const payload: Payload = { kind: 'batch', root: hex(sha256('root')), leaf_count: 5 };

    expect(failures(batch.stated, withPayload(batch, payload))).toEqual(['root', 'inclusion_path']);
  });

  it('with a batch of another count', () => {
    const root = batch.stated.inclusion?.root as Hex;
    const payload: Payload = { kind: 'batch', root, leaf_count: 6 };

    expect(failures(batch.stated, withPayload(batch, payload))).toEqual(['leaf_count']);
  });

  it('without any data', () => {
    const nothing = { chain_id: 31337, tx: null, receipt: null, canonical_block: null };

    expect(failures(stated, nothing)).toEqual(
      auditAnchor(stated, facts)
        .map(({ name }) => name)
        .filter((name) => name !== 'chain'),
    );
  });

  it('whose transaction is unknown, without a statement about its content', () => {
    const nothing = { chain_id: 31337, tx: null, receipt: null, canonical_block: null };

    const details = auditAnchor(stated, nothing).map(({ detail }) => detail);

    expect([...new Set(details)]).toEqual([
      'The node is on the stated chain',
      'The node does not know the stated transaction',
      'Cannot be checked without the transaction',
    ]);
  });
});

/** The sentence of each check. */
function said(stated: StatedAnchor, facts: ChainFacts): Partial<Record<AuditCheckName, string>> {
  return Object.fromEntries(auditAnchor(stated, facts).map(({ name, detail }) => [name, detail]));
}

describe('the sentences of the checks', () => {
  const other = hex(sha256('other'));

  it('describe passed checks', () => {
    expect(said(single.stated, single.facts)).toEqual({
      chain: 'The node is on the stated chain',
      transaction_found: 'The node knows the stated transaction',
      status: 'The transaction succeeded',
      canonical_block: 'The block is part of the chain',
      self_transfer: 'Sender and recipient are one account, and the value is 0',
      sender: 'The stated account sent the transaction',
      payload: 'The calldata is the anchor of one proof and nothing else',
      proof_hash: 'The calldata holds the proof hash',
      leaf: 'The leaf in the calldata matches proof, task, robot and claim',
      block_number: 'The transaction is in the stated block',
      block_hash: 'Its block has the stated hash',
      tx_index: 'The transaction has the stated index in the block',
      anchored_at: 'The block has the stated time',
    });
    expect(said(batch.stated, batch.facts)).toMatchObject({
      payload: 'The calldata is exactly one batch of proofs',
      leaf_count: 'The calldata holds the stated leaf count',
      root: 'The calldata holds the stated root',
      inclusion_path:
        'Proof, task, robot and claim make a leaf whose path leads to the root in the calldata',
    });
  });

  it('describe failed checks', () => {
    const { receipt, canonical_block: block } = single.facts;
    const stated = {
      ...{ ...single.stated, chain_id: 1, tx_hash: other, from: stranger, block_number: '43' },
      ...{ block_hash: other, tx_index: 4, anchored_at: '2026-03-01T08:15:29.000Z' },
    };
    const facts: ChainFacts = {
      ...withTx(single, { to: stranger, input: batch.facts.tx?.input }),
      receipt: receipt && { ...receipt, status: 'reverted' },
      canonical_block: block && { ...block, hash: other },
    };

    expect(said(stated, facts)).toEqual({
      chain: 'The node is on chain 31337, stated is 1',
      transaction_found: 'The node does not know the stated transaction',
      status: 'The transaction was reverted',
      canonical_block: 'The block of the transaction is not part of the chain',
      self_transfer: 'The transaction is not an empty transfer from an account to itself',
      sender: 'The stated account did not send the transaction',
      payload: 'The calldata is not the anchor of one proof',
      proof_hash: 'The calldata holds another proof hash',
      leaf: 'Proof, task, robot and claim do not make the leaf in the calldata',
      block_number: 'The transaction is not in the stated block',
      block_hash: 'Its block has another hash than stated',
      tx_index: 'The transaction has another index in the block than stated',
      anchored_at:
        'The block has the time 2026-03-01T08:15:30.000Z, stated is 2026-03-01T08:15:29.000Z',
    });
    expect(said(batch.stated, single.facts)).toMatchObject({
      payload: 'The calldata is not exactly one batch of proofs',
      leaf_count: 'The calldata holds another leaf count',
      root: 'The calldata holds another root',
      inclusion_path: 'No path leads from proof, task, robot and claim to the root in the calldata',
    });
  });

  it('distinguish a pending transaction from a reverted one', () => {
    expect(said(single.stated, { ...single.facts, receipt: null })).toMatchObject({
      status: 'The transaction is in no block',
    });
  });

  it('include results that do not need the transaction', () => {
    const facts = { ...single.facts, chain_id: 1, tx: null };

    expect(said(single.stated, facts)).toMatchObject({
      chain: 'The node is on chain 1, stated is 31337',
      status: 'The transaction succeeded',
      sender: 'Cannot be checked without the transaction',
    });
  });
});

describe('isProven', () => {
  it('is false without any check', () => {
    expect(isProven([])).toBe(false);
  });
});

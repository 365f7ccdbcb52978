import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { verifyAnchor } from '../../src/chain/verify-anchor.ts';
import { isProven } from '../../src/proof/audit-check.ts';
import { readBundle } from '../../src/proof/bundle.ts';
import { auditChainProof } from '../../src/proof/chain-proof.ts';
import { hashProof } from '../../src/proof/hash.ts';
import { startRpcProxy } from '../support/rpc-proxy.ts';
import {
  newEvidence,
  type Owner,
  startServiceWithRobot,
  startTestService,
  type TestRobot,
  type TestService,
} from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

describe('the evidence of a task', () => {
  let service: TestService;
  let owner: Owner;
  let stranger: Owner;
  let robot: TestRobot;
  let sibling: TestRobot;
  beforeAll(async () => {
    ({ service, owner, robot } = await startServiceWithRobot({ chain: 'mining' }));
    stranger = await service.signIn();
    sibling = await service.makeRobot(owner, 'arm-2');
  });
  afterAll(() => service.close());

  const claim = {
    title: 'Sort the parcels',
    description: 'belt 3',
    expected_result: { parcels: 12, 'bei Größe': 0.1 },
    occurred_at: '2026-03-01T08:00:00.000Z',
  };

  async function verified(proof: object = newEvidence()): Promise<string> {
    const id = await service.claim(robot, claim);
    expect((await service.complete(robot, id, proof)).status).toBe(200);
    return id;
  }
  const get = (
    id: string,
    what: 'proof' | 'bundle',
    as: { apiKey: string } | { session: string },
  ) =>
    service.call('GET', `/api/v1/tasks/${id}/${what}`, {
      ...('apiKey' in as ? { apiKey: as.apiKey } : { session: as.session }),
    });
  const erase = (id: string, { session } = owner) =>
    service.call('DELETE', `/api/v1/tasks/${id}/proof`, { session });

  it('is returned as it was submitted', async () => {
    const proof = { run: randomUUID(), z: [1e21, -0.5, null], ü: '\u2028', constructor: {} };
    const id = await verified(proof);

    const reply = await get(id, 'proof', robot);

    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({ proof, proof_hash: hashProof(proof) });
  });

  describe.each(['proof', 'bundle'] as const)('GET …/%s', (what) => {
    it('is visible to its robot and its account only', async () => {
      const id = await verified();

      expect((await get(id, what, robot)).status).toBe(200);
      expect((await get(id, what, owner)).status).toBe(200);
      expect((await get(id, what, sibling)).body.error).toBe('not_found');
      expect((await get(id, what, stranger)).body.error).toBe('not_found');
      expect((await get(randomUUID(), what, owner)).body.error).toBe('not_found');
      const open = await service.call('GET', `/api/v1/tasks/${id}/${what}`);
      expect(open.body.error).toBe('missing_api_key');
    });

    it('is reported as missing before a completion', async () => {
      const id = await service.claim(robot);

      const reply = await get(id, what, owner);

      expect(reply.status).toBe(404);
      expect(reply.body.message).toBe('No evidence was submitted for this task yet.');
    });
  });

  describe('erased', () => {
    it('is reported as erased, with hash and receipt kept', async () => {
      const id = await verified();
      const before = await service.call('GET', `/api/v1/tasks/${id}`, owner);

      const reply = await erase(id);

      expect([reply.status, reply.body]).toEqual([200, { deleted: true }]);
      const gone = await get(id, 'proof', robot);
      expect(gone.status).toBe(404);
      expect(gone.body).toEqual({
        error: 'not_found',
        message: 'The evidence of this task was erased. Its hash and receipt remain.',
        proof_hash: before.body.verification.proof_hash,
      });
      const after = await service.call('GET', `/api/v1/tasks/${id}`, owner);
      expect(after.body).toEqual(before.body);
    });

    it('may be erased again', async () => {
      const id = await verified();
      await erase(id);

      expect((await erase(id)).status).toBe(200);
    });

    it('can be erased only by its own account, with a session', async () => {
      const id = await verified();

      const foreign = await erase(id, stranger);
      const byKey = await service.call('DELETE', `/api/v1/tasks/${id}/proof`, {
        apiKey: robot.apiKey,
      });
      const empty = await erase(await service.claim(robot));

      expect(foreign.body.error).toBe('not_found');
      expect(byKey.body.error).toBe('missing_session');
      expect(empty.body.error).toBe('not_found');
      expect((await get(id, 'proof', robot)).status).toBe(200);
    });

    it('is missing from the bundle, which proves the rest', async () => {
      const id = await verified();
      await erase(id);

      const { body } = await get(id, 'bundle', owner);

      expect(body).not.toHaveProperty('proof');
      const { checks } = await verifyAnchor(readBundle(body), { rpcUrls: [service.rpcUrl] });
      expect(isProven(checks)).toBe(true);
    });
  });

  describe('in a bundle', () => {
    it('matches the format exactly', async () => {
      const proof = newEvidence();
      const id = await verified(proof);
      const { task, verification } = (await service.call('GET', `/api/v1/tasks/${id}`, owner)).body;
      const tx = (await service.rpc('eth_getTransactionByHash', [verification.tx_hash])) as {
        from: string;
        blockHash: string;
        transactionIndex: string;
      };

      const { body } = await get(id, 'bundle', robot);

      expect(body).toEqual({
        format: 'svc-bundle/1',
        chain_id: 31337,
        task: { id, robot_id: robot.id, robot_name: 'arm-1' },
        claim: { ...claim, created_at: task.created_at },
        proof,
        proof_hash: verification.proof_hash,
        inclusion: null,
        anchor: {
          tx_hash: verification.tx_hash,
          block_number: verification.block_number,
          block_hash: tx.blockHash,
          tx_index: Number(tx.transactionIndex),
          from: tx.from,
          anchored_at: verification.anchored_at,
          raw_tx: expect.stringMatching(/^0x02[0-9a-f]+$/),
        },
      });
    });

    it('of a batch and of a single is verified with a node only', async () => {
      const ids = await Promise.all(Array.from({ length: 6 }, () => verified()));

      const bundles = await Promise.all(ids.map((id) => get(id, 'bundle', owner)));

      const audits = bundles.map(({ body }) =>
        verifyAnchor(readBundle(body), { rpcUrls: [service.rpcUrl] }),
      );
      for (const { checks } of await Promise.all(audits)) {
        expect(checks.filter(({ ok }) => !ok)).toEqual([]);
      }
      expect(bundles.some(({ body }) => body.inclusion !== null)).toBe(true);
    });

    it('with another title is not verified', async () => {
      const { body } = await get(await verified(), 'bundle', owner);
      const forged = readBundle({ ...body, claim: { ...body.claim, title: 'Sort nothing' } });

      const { checks } = await verifyAnchor(forged, { rpcUrls: [service.rpcUrl] });

      expect(checks.filter(({ ok }) => !ok).map(({ name }) => name)).toEqual(['leaf']);
    });

    it('is found by block and place if a node has dropped the hash', async () => {
      const { body } = await get(await verified(), 'bundle', owner);
      const proxy = await startRpcProxy(service.rpcUrl);
      proxy.intercept(({ method }) =>
        /^eth_getTransaction(ByHash|Receipt)$/.test(method) ? { result: null } : null,
      );

      const found = await verifyAnchor(readBundle(body), { rpcUrls: [proxy.url] });
      const elsewhere = { ...body, anchor: { ...body.anchor, tx_index: 7 } };
      const astray = verifyAnchor(readBundle(elsewhere), { rpcUrls: [proxy.url] });

      await expect(astray).rejects.toMatchObject({
        reason: expect.stringContaining('this node no longer keeps the transaction'),
      });
      await proxy.close();
      expect(isProven(found.checks)).toBe(true);
      expect(found.finality).not.toBeNull();
    });
  });
});

describe('a bundle of a final anchor', () => {
  let service: TestService;
  let robot: TestRobot;
  beforeAll(async () => {
    ({ service, robot } = await startServiceWithRobot({ chain: 'mining', chainProofs: true }));
  });
  afterAll(() => service.close());

  const bundle = (id: string, query = '') =>
    service.call('GET', `/api/v1/tasks/${id}/bundle${query}`, { apiKey: robot.apiKey });
  async function provenBundle() {
    const id = await service.claim(robot);
    const evidence = newEvidence();
    const { body } = await service.complete(robot, id, evidence);
    const before = await bundle(id);
    await service.rpc('anvil_mine', ['0x2']);
    const after = await waitFor('the chain proof', async () => {
      const reply = await bundle(id);
      return reply.body.format === 'svc-bundle/2' && reply;
    });
    return { id, evidence, receipt: body.verification, before: before.body, after: after.body };
  }

  it('is a bundle of format 1 plus the chain proof, as soon as that is stored', async () => {
    const { before, after } = await provenBundle();

    const { format, ...members } = before;
    expect(format).toBe('svc-bundle/1');
    expect(after).toEqual({
      ...members,
      format: 'svc-bundle/2',
      chain_proof: {
        header: expect.stringMatching(/^0xf9([0-9a-f]{2})+$/),
        nodes: expect.arrayContaining([expect.stringMatching(/^0x([0-9a-f]{2})+$/)]),
      },
    });
  });

  it('is verified by the hash of its block only', async () => {
    const { after, receipt } = await provenBundle();
    const block = (await service.rpc('eth_getBlockByNumber', [
      `0x${BigInt(receipt.block_number).toString(16)}`,
      false,
    ])) as { hash: string };

    const checks = auditChainProof(readBundle(after), block.hash);

    expect(checks.filter(({ ok }) => !ok)).toEqual([]);
  });

  it('is returned in format 1 on request', async () => {
    const { id, before } = await provenBundle();

    expect((await bundle(id, '?format=1')).body).toEqual(before);
    for (const other of ['2', 'svc-bundle/1', '']) {
      const { status, body } = await bundle(id, `?format=${other}`);
      expect([status, body.error]).toEqual([400, 'invalid_request']);
    }
  });

  it('is publicly verified by its block, without reading the transaction', async () => {
    const { receipt } = await provenBundle();
    const readAnchor = vi.spyOn(service.chain, 'readAnchor');

    const { body } = await service.call('GET', `/api/v1/verify/${receipt.proof_hash}`);

    expect(body).toMatchObject({
      verified: true,
      anchor: {
        tx_hash: receipt.tx_hash,
        block_number: receipt.block_number,
        anchored_at: receipt.anchored_at,
        on_chain_payload_found: true,
        confirmations: expect.stringMatching(/^[1-9]\d*$/),
        finality: 'finalized',
      },
    });
    expect(readAnchor).not.toHaveBeenCalled();
    readAnchor.mockRestore();
  });

  it('is not verified when the chain no longer holds its block', async () => {
    const { receipt } = await provenBundle();
    const head = BigInt((await service.rpc('eth_blockNumber')) as string);
    const depth = Number(head - BigInt(receipt.block_number)) + 1;
    await service.rpc('anvil_rollback', [depth]);

    const { body } = await service.call('GET', `/api/v1/verify/${receipt.proof_hash}`);

    expect(body).toMatchObject({ verified: false, anchor: { confirmations: null } });
  });
});

describe('a bundle of a task whose anchor is pending', () => {
  it('is refused with the transaction hash, and available once it is mined', async () => {
    const service = await startTestService({
      chain: 'manual',
      settings: { anchorTimeoutMs: 300 },
    });
    try {
      const owner = await service.signIn();
      const robot = await service.makeRobot(owner);
      const proof = newEvidence();
      const id = await service.claim(robot);
      expect((await service.complete(robot, id, proof)).status).toBe(202);
      const bundle = () =>
        service.call('GET', `/api/v1/tasks/${id}/bundle`, { apiKey: robot.apiKey });

      const early = await bundle();
      await service.rpc('evm_mine');
      const mined = await waitFor('the bundle', async () => {
        const reply = await bundle();
        return reply.status === 200 && reply;
      });

      expect(early.status).toBe(409);
      expect(early.body.error).toBe('completion_in_progress');
      expect(early.body.proof_hash).toBe(hashProof(proof));
      expect(mined.body.proof).toEqual(proof);
    } finally {
      await service.close();
    }
  });
});

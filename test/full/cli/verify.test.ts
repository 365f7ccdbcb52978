import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashProof } from '../../../src/proof/hash.ts';
import type { Verification } from '../../../src/protocol/resources.ts';
import type { Answer } from '../../../src/protocol/routes.ts';
import { newEvidence, startTestService, type TestService } from '../../support/service.ts';
import { createSvcUser, registerRobot, type SvcUser } from '../../support/svc.ts';
import { waitFor } from '../../support/wait-for.ts';

let service: TestService;
let user: SvcUser;
let robot: Awaited<ReturnType<typeof registerRobot>>['robot'];
let receipt: Verification;
let bundle: Answer<'getBundle'>['body'];

beforeAll(async () => {
  service = await startTestService({ chain: 'manual' });
  user = await createSvcUser(service.url);
  await user.signIn();
  ({ robot } = await registerRobot(service.url, user, 'arm\u202e7'));
  const params = { id: await anchor(newEvidence()) };
  const { body } = await robot.call('getTask', { params });
  receipt = body.verification as Verification;
  bundle = (await robot.call('getBundle', { params })).body;
  await writeFile(user.file('receipt.json'), JSON.stringify({ verification: receipt }));
  await writeFile(user.file('bundle.json'), JSON.stringify(bundle));
});

afterAll(async () => {
  await user?.remove();
  await service?.close();
});

/** A task whose evidence is on its way to the chain. */
async function handIn(proof: object) {
  const { body } = await robot.call('createTask', { body: { title: 'Pick parcels' } });
  const { id } = body.task;
  const done = robot.call('completeTask', { params: { id }, body: { proof: proof as never } });
  const sent = async () => {
    const { body } = await robot.call('getTask', { params: { id } });
    return body.anchor?.state === 'submitted';
  };
  return { id, done, sent };
}

/** Hands in and mines the one block that the receipt waits for: included, not more. */
async function anchor(proof: object): Promise<string> {
  const { id, done, sent } = await handIn(proof);
  await waitFor('the transaction', sent);
  await service.rpc('evm_mine');
  await done;
  return id;
}

const verify = (...args: string[]) => user.svc(['verify', ...args]);
const onChain = () => ['--rpc-url', service.rpcUrl];

describe('svc verify --watch', () => {
  it('waits from pending to final, and shows its progress on stderr', async () => {
    const proof = newEvidence();
    const { done, sent } = await handIn(proof);
    await waitFor('the transaction', sent);
    const looks = () => service.logLines.filter((line) => line.includes('/verify/:proofHash'));
    const before = looks().length;
    const watching = verify(hashProof(proof), '--watch', ...onChain());
    let ended = false;
    void watching.finally(() => {
      ended = true;
    });
    await waitFor('the first look', () => looks().length > before);

    await service.rpc('evm_mine');
    await done;
    await waitFor(
      'the end',
      async () => {
        await service.rpc('evm_mine');
        return ended;
      },
      60_000,
    );

    const { exitCode, stdout, stderr } = await watching;
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/\nVerified: \d+ confirmations?, finalized\.\n/);
    expect(stderr).toMatch(/^not in the chain yet, 0x/);
  });
});

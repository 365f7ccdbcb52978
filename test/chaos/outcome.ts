import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../../src/client/client.ts';
import type { Verification } from '../../src/protocol/resources.ts';
import { callRpc } from '../support/anvil.ts';
import {
  isAnchor,
  leavesIn,
  type MinedTransaction,
  provenBy,
  scanTransactions,
} from '../support/chain-scan.ts';
import type { Errand } from './robots.ts';

export interface Outcome {
  readonly rpcUrl: string;
  /** The accounts that anchor. They were unused before. */
  readonly senders: readonly string[];
  readonly owner: Client;
  /** Anchors granted at sign-up. */
  readonly granted: number;
  readonly errands: readonly Errand[];
  /** Whether blocks were replaced, so that a receipt may have moved since it was given. */
  readonly isMoved: boolean;
}

/** Holds what the robots did against the chain and the account: one text for each violation. */
export async function violationsOf(outcome: Outcome): Promise<string[]> {
  const { rpcUrl, senders, errands } = outcome;
  const byTask = await finalReceipts(outcome.owner, errands);
  const receipts = errands.map(({ taskId }) => byTask.get(taskId) ?? null);
  const mined = await scanTransactions(rpcUrl);
  const nonces = senders.map((sender) =>
    nonceViolations(
      rpcUrl,
      sender,
      mined.filter(({ from }) => from === sender.toLowerCase()),
    ),
  );
  return [
    ...proofViolations(outcome, receipts, mined.filter(isAnchor)),
    ...(await Promise.all(nonces)).flat(),
    ...(await accountViolations(outcome)),
  ];
}

/** More connections than a proxy has would tell nothing. */
const ASKED_AT_ONCE = 100;
/** Without a receipt that becomes final for so long, no more will. */
const STALLED_MS = 60_000;

/** The receipts of all tasks, once they are final; those that do not come to it as they are. */
async function finalReceipts(
  owner: Client,
  errands: readonly Errand[],
): Promise<ReadonlyMap<string, Verification | null>> {
  const receipts = new Map<string, Verification | null>();
  let open = errands;
  let progressAt = performance.now();
  while (open.length > 0 && performance.now() - progressAt < STALLED_MS) {
    const before = open.length;
    for (let i = 0; i < open.length; i += ASKED_AT_ONCE) {
      await Promise.all(
        open
          .slice(i, i + ASKED_AT_ONCE)
          .map(async (one) => receipts.set(one.taskId, await readReceipt(owner, one))),
      );
    }
    open = open.filter(({ taskId }) => receipts.get(taskId)?.finality !== 'finalized');
    if (open.length < before) progressAt = performance.now();
    await sleep(200);
  }
  return receipts;
}

async function readReceipt(owner: Client, { taskId }: Errand): Promise<Verification | null> {
  const { body } = await owner.call('getTask', { params: { id: taskId } });
  return body.task.status === 'verified' ? body.verification : null;
}

/**
 * Each receipt proves a place in a mined payload, no two the same, and there are no more places than
 * receipts: then each proof is in exactly one transaction.
 */
function proofViolations(
  { errands, isMoved }: Outcome,
  receipts: readonly (Verification | null)[],
  anchors: readonly MinedTransaction[],
): string[] {
  const violations = errands.flatMap((errand, i) => {
    const receipt = receipts[i] ?? null;
    if (receipt === null) return [`task ${errand.taskId} is not verified`];
    if (!provenBy(anchors, receipt, statedBy(errand))) {
      return [`the chain does not prove the receipt of task ${errand.taskId}`];
    }
    if (receipt.finality !== 'finalized') {
      return [`the receipt of task ${errand.taskId} stays ${receipt.finality}`];
    }
    const isAsTold = placeOf(receipt) === placeOf(errand.receipt);
    return isAsTold || isMoved ? [] : [`the receipt of task ${errand.taskId} has changed`];
  });
  const places = new Set(receipts.map(placeOf));
  if (places.size !== errands.length) violations.push('two receipts name the same place');
  const leaves = leavesIn(anchors);
  if (leaves !== errands.length) {
    violations.push(`${errands.length} proofs have ${leaves} places in mined transactions`);
  }
  return violations;
}

function placeOf(receipt: Verification | null): string {
  return `${receipt?.block_number}/${receipt?.tx_hash}/${receipt?.inclusion?.leaf_index ?? 0}`;
}

function statedBy({ proof, title, createdAt }: Errand) {
  const claim = { title, created_at: createdAt };
  return {
    proof,
    claim: { ...claim, description: null, expected_result: null, occurred_at: null },
  };
}

async function nonceViolations(
  rpcUrl: string,
  sender: string,
  mined: readonly MinedTransaction[],
): Promise<string[]> {
  const count = (block: string) =>
    callRpc<string>(rpcUrl, 'eth_getTransactionCount', [sender, block]).then(Number);
  const [latest, pending, receipts] = await Promise.all([
    count('latest'),
    count('pending'),
    Promise.all(
      mined.map(({ txHash }) =>
        callRpc<{ status: string } | null>(rpcUrl, 'eth_getTransactionReceipt', [txHash]),
      ),
    ),
  ]);
  const nonces = mined.map(({ nonce }) => nonce).sort((a, b) => a - b);
  return [
    ...(nonces.every((nonce, i) => nonce === i) ? [] : [`mined nonces are ${nonces.join()}`]),
    ...(latest === nonces.length ? [] : [`the chain counts ${latest} transactions`]),
    ...(pending === latest ? [] : [`${pending - latest} transactions wait in the pool`]),
    ...receipts.flatMap((receipt, i) =>
      receipt?.status === '0x1' ? [] : [`transaction ${mined[i]?.txHash} failed`],
    ),
  ];
}

async function accountViolations({ owner, granted, errands }: Outcome): Promise<string[]> {
  const { body } = await owner.call('getAccount');
  const quota = body.credits.anchor_quota;
  const left = granted - errands.length;
  return quota === left ? [] : [`the account has ${quota} anchors left, not ${left}`];
}

// Makes bundles of signed work, and changes them.
import { type Hex, keccak256 } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { commitLeaves } from '../../src/proof/commit-leaves.ts';
import { hashClaim, hashProof } from '../../src/proof/hash.ts';
import { type FreeLeafKind, freeLeafHash, leafHash } from '../../src/proof/leaf.ts';
import { encodePayload } from '../../src/proof/payload.ts';
import { hashText, joinSignature } from '../../src/proof/statements/jws.ts';
import {
  grantText,
  type KeyGrant,
  type KeyRevocation,
  kidOf,
  revocationText,
} from '../../src/proof/statements/key-text.ts';
import { contentHash, readStatement, statementText } from '../../src/proof/statements/statement.ts';
import { anvilAccounts } from './anvil.ts';
import { sign } from './proven-bundle.ts';
import { edwards, nist, type Signer } from './statement-vectors.ts';
import { blockWith } from './synthetic-block.ts';

export type Members = Record<string, unknown>;
export type Change = (members: Members) => Members;

const [account] = anvilAccounts;
export const [, ownerAccount, strangerAccount] = anvilAccounts;
const chainId = 31337;
const task = { id: '01900000-0000-7000-8000-000000000001', robot_name: 'arm-1' };
const ROBOT = '01900000-0000-7000-8000-00000000000a';
export const OTHER = '01900000-0000-7000-8000-0000000000ff';
const claimOfTask = {
  created_at: '2026-01-01T00:00:00.120Z',
  description: null,
  expected_result: { parcels: 12 },
  occurred_at: null,
  title: 'Sort parcels',
};
export const evidence = { parcels: 12 };
export const hashOf = (text: string) => hashText(text);
export const [robotKey, otherKey, boardKey] = [edwards(1), edwards(2), nist(3)];
export const owner = ownerAccount.address.toLowerCase() as Hex;

/** The anchor of a leaf in a block, with another leaf in the same transaction unless it is alone. */
function anchorOf(
  leaf: Hex,
  at: { block: bigint; alone?: boolean; chain?: number; proof_hash?: Hex },
) {
  const { block, alone = false, chain = chainId, proof_hash = hashOf('proof') } = at;
  const others = alone ? [] : [{ proof_hash, leaf: hashOf(`leaf ${block}`) }];
  const { payload, inclusions } = commitLeaves([{ proof_hash, leaf }, ...others]);
  const from = account.address.toLowerCase() as Hex;
  const raw_tx = sign(
    {
      type: 'eip1559',
      chainId: chain,
      nonce: Number(block),
      to: from,
      value: 0n,
      data: encodePayload(payload),
      gas: 60_000n,
      maxFeePerGas: 2_000_000_000n,
      maxPriorityFeePerGas: 1_000_000n,
    },
    account.privateKey,
  );
  const { blockHash, txIndex, proof } = blockWith(raw_tx, block);
  const anchor = {
    tx_hash: keccak256(raw_tx),
    block_number: String(block),
    block_hash: blockHash,
    tx_index: txIndex,
    from,
    anchored_at: '2026-01-01T00:00:00.000Z',
    raw_tx,
  };
  return { inclusion: inclusions[0] ?? null, anchor, chain_proof: proof };
}

export const freeAnchor = (kind: FreeLeafKind, text: string, block: bigint, chain?: number) =>
  anchorOf(freeLeafHash(kind, hashText(text)), { block, ...(chain && { chain }) });

export interface Options {
  signer?: Signer;
  claimSigner?: Signer;
  resultSigner?: Signer;
  wallet?: { address: string; privateKey: Hex };
  grant?: Partial<KeyGrant>;
  claim?: Members;
  result?: Members;
  /** Changes the header of one statement. */
  claimHeader?: Members;
  resultHeader?: Members;
  /** Changes the JWS of the result before it is anchored. */
  resultText?: (text: string) => string;
  revocation?: (kid: string, resultHash: Hex) => Partial<KeyRevocation>;
  /** The block of the revocation; 0n: not anchored. */
  revokedAt?: bigint;
  alone?: boolean;
  /** Whether the leaf omits the statement, as for unsigned work. */
  unsignedLeaf?: boolean;
  changes?: Change;
  pins?: { owner?: string; robot_key?: string };
}

/** A bundle that holds, but for what the options forge: keys, hashes, blocks and signatures are consistent. */
export async function signedBundle(options: Options) {
  const { signer = robotKey, wallet = ownerAccount, alone = false } = options;
  const proof_hash = hashProof(evidence);
  const grant: KeyGrant = {
    origin: 'https://svc.example.org',
    wallet: owner,
    robot_id: ROBOT,
    algorithm: signer.alg as KeyGrant['algorithm'],
    thumbprint: signer.thumbprint,
    first_number: 1,
    predecessor: null,
    ...options.grant,
  };
  const text = grantText(grant);
  const kid = kidOf(text);
  const walletAccount = privateKeyToAccount(wallet.privateKey);
  const statement = (by: Signer, header: Members | undefined, payload: Members) => {
    const members = JSON.parse(JSON.stringify(payload)); // Without those that are undefined.
    const signed = statementText({ alg: signer.alg, kid, ...header } as never, members);
    return joinSignature(signed, by.sign(signed));
  };
  const common = {
    robot_id: ROBOT,
    task_id: task.id,
    epoch: '01900000-0000-7000-8000-0000000000e1',
    content_hash: contentHash(claimOfTask),
    clock_synchronized: true,
  };
  const claim = statement(options.claimSigner ?? signer, options.claimHeader, {
    ...common,
    type: 'claim',
    number: 1,
    prev: null,
    time: '2026-01-01T00:00:00.000Z',
    ...options.claim,
  });
  const made = statement(options.resultSigner ?? signer, options.resultHeader, {
    ...common,
    type: 'result',
    number: 2,
    prev: readStatement(claim).signedHash,
    time: '2026-01-01T00:05:00.000Z',
    proof_hash,
    outcome: 'succeeded',
    ...options.result,
  });
  const result = options.resultText?.(made) ?? made;
  const leaf = leafHash({
    proof_hash,
    task_id: task.id,
    robot_id: ROBOT,
    claim_hash: hashClaim(claimOfTask),
    statement_hash: options.unsignedLeaf ? null : hashText(result),
  });
  const revoked =
    options.revocation &&
    revocationText({
      origin: grant.origin,
      wallet: grant.wallet,
      robot_id: ROBOT,
      kid,
      last: null,
      ...options.revocation(kid, readStatement(result).signedHash),
    });
  const { revokedAt = 9n } = options;
  const bundle: Members = {
    format: 'svc-bundle/3',
    chain_id: chainId,
    task: { ...task, robot_id: ROBOT },
    claim: claimOfTask,
    proof: evidence,
    proof_hash,
    ...anchorOf(leaf, { block: 5n, alone, proof_hash }),
    signing: {
      key: {
        public_key: signer.jwk,
        text,
        signature: await walletAccount.signMessage({ message: text }),
        anchor: freeAnchor('key_text', text, 3n),
      },
      revocation:
        revoked === undefined
          ? null
          : {
              text: revoked,
              signature: await walletAccount.signMessage({ message: revoked }),
              anchor: revokedAt === 0n ? null : freeAnchor('key_text', revoked, revokedAt),
            },
      claim: { statement: claim, anchor: freeAnchor('claim', claim, 4n) },
      result: { statement: result },
    },
  };
  return options.changes?.(JSON.parse(JSON.stringify(bundle))) ?? bundle;
}

/** The document with the member at a dotted path replaced; undefined removes it. */
export const set =
  (path: string, value: unknown): Change =>
  (document) => {
    const names = path.split('.');
    const last = names.pop() ?? '';
    let object = document;
    for (const name of names) object = object[name] as Members;
    if (value === undefined) delete object[last];
    else object[last] = value;
    return document;
  };
export const all =
  (...changes: Change[]): Change =>
  (document) =>
    changes.reduce((changed, change) => change(changed), document);
export const part = (path: string, change: (text: string) => string): Change => {
  return (document) => {
    const found = path.split('.').reduce((object, name) => object[name] as Members, document);
    return set(path, change(String(found)))(document);
  };
};

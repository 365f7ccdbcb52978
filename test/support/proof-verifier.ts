import { type Abi, createPublicClient, type Hex, http } from 'viem';
import type { Inclusion } from '../../src/proof/tree.ts';
import { anvilAccounts, type TestChain } from './anvil.ts';
import { deploy } from './contract-wallet.ts';
import { compileSolidity } from './solidity.ts';

/** What a leaf binds, in the names of a receipt. */
export interface Stated {
  proof_hash: string;
  task_id: string;
  robot_id: string;
  claim_hash: string;
}

type Place = Pick<Inclusion, 'leaf_index' | 'path'>;
type Tree = Pick<Inclusion, 'root' | 'leaf_count'>;

export type ProofVerifier = Awaited<ReturnType<typeof deployProofVerifier>>;

/** `contracts/ProofVerifier.sol` as compiled now, on the chain, and a contract that measures it. */
export async function deployProofVerifier(node: TestChain) {
  const { ProofVerifier } = compileSolidity('contracts/ProofVerifier.sol');
  const { GasMeter } = compileSolidity('test/full/solidity/GasMeter.sol');
  if (ProofVerifier === undefined || GasMeter === undefined) throw new Error('A contract is gone');
  const from = anvilAccounts[2].address;
  const verifier = await deploy(node, from, ProofVerifier.bytecode);
  const meter = await deploy(node, from, GasMeter.bytecode);
  const client = createPublicClient({ transport: http(node.url, { batch: true }) });
  const read = <T>(address: Hex, abi: Abi, functionName: string, args: unknown[]) =>
    client.readContract({ address, abi, functionName, args }) as Promise<T>;
  return {
    leafHash: (stated: Stated) =>
      read<Hex>(verifier, ProofVerifier.abi, 'leafHash', [statementOf(stated)]),
    verifyInclusion: (tree: Tree, stated: Stated, place: Place) =>
      read<boolean>(verifier, ProofVerifier.abi, 'verifyInclusion', [
        ...inclusionArguments(tree, stated, place),
      ]),
    verifyPayload: (payload: string, stated: Stated, place: Place | null) =>
      read<boolean>(verifier, ProofVerifier.abi, 'verifyPayload', [
        ...payloadArguments(payload, stated, place),
      ]),
    verifyLeaf: ({ root, leaf_count }: Tree, leaf: string, { leaf_index, path }: Place) =>
      read<boolean>(verifier, ProofVerifier.abi, 'verifyLeaf', [
        ...[root, leaf_count, leaf, leaf_index, path],
      ]),
    verifyPayloadLeaf: (payload: string, leaf: string, place: Place | null) =>
      read<boolean>(verifier, ProofVerifier.abi, 'verifyPayloadLeaf', [
        ...[payload, leaf, place?.leaf_index ?? 0, place?.path ?? []],
      ]),
    /** What another contract pays for the check. */
    inclusionGas: (tree: Tree, stated: Stated, place: Place) =>
      read<bigint>(meter, GasMeter.abi, 'inclusionGas', [
        verifier,
        ...inclusionArguments(tree, stated, place),
      ]),
    payloadGas: (payload: string, stated: Stated, place: Place | null) =>
      read<bigint>(meter, GasMeter.abi, 'payloadGas', [
        verifier,
        ...payloadArguments(payload, stated, place),
      ]),
  };
}

function inclusionArguments({ root, leaf_count }: Tree, stated: Stated, place: Place): unknown[] {
  return [root, leaf_count, statementOf(stated), place.leaf_index, place.path];
}

/** Null is the place of a proof that was anchored alone. */
function payloadArguments(payload: string, stated: Stated, place: Place | null): unknown[] {
  return [payload, statementOf(stated), place?.leaf_index ?? 0, place?.path ?? []];
}

function statementOf({ proof_hash, task_id, robot_id, claim_hash }: Stated) {
  return {
    proofHash: proof_hash,
    taskId: `0x${task_id.replaceAll('-', '')}`,
    robotId: `0x${robot_id.replaceAll('-', '')}`,
    claimHash: claim_hash,
  };
}

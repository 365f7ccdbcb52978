// Schema of a bundle.
import { Type } from 'typebox';
import { Closed, Decimal, Hash, JsonObject, Nullable, Timestamp, Uuid } from './fields.ts';
import { KeyText, PublicKey, SignedDocument } from './identity.ts';
import { Inclusion, Proof } from './resources.ts';

const Bytes = (description: string) => Type.String({ pattern: '^0x([0-9a-f]{2})+$', description });

const anchor = Closed({
  tx_hash: Hash,
  block_number: Decimal,
  block_hash: Hash,
  tx_index: Type.Integer({ minimum: 0 }),
  from: Type.String({ pattern: '^0x[0-9a-f]{40}$' }),
  anchored_at: Timestamp,
  raw_tx: Bytes('the signed transaction'),
});

const chain_proof = Closed({
  header: Bytes('the block header in RLP'),
  nodes: Type.Array(
    Bytes('the trie nodes in RLP, from the transactions root down to the transaction'),
  ),
});

const members = {
  chain_id: Type.Integer({ minimum: 1 }),
  task: Closed({ id: Uuid, robot_id: Uuid, robot_name: Type.String() }),
  claim: Closed({
    created_at: Timestamp,
    description: Nullable(Type.String()),
    expected_result: Nullable(JsonObject),
    occurred_at: Nullable(Type.String()),
    title: Type.String(),
  }),
  proof: Type.Optional(Proof),
  proof_hash: Hash,
  inclusion: Nullable(Inclusion),
  anchor,
};

const place = { anchor, chain_proof: Type.Optional(chain_proof) };

/** The anchor of a free leaf (docs/statements.md); null if the leaf is in no block. */
const FreeAnchor = Nullable(Closed({ inclusion: Inclusion, ...place }));

/** The anchor of a leaf of which only the hash is known. `readAnchoredLeaf` of src/proof reads it. */
export const LeafAnchor = Closed({
  chain_id: Type.Integer({ minimum: 1 }),
  leaf: Hash,
  inclusion: Nullable(Inclusion),
  ...place,
});

const AnchoredText = { ...KeyText.properties, anchor: FreeAnchor };

const signing = Closed({
  key: Closed({ public_key: PublicKey, ...AnchoredText }),
  revocation: Nullable(Closed(AnchoredText)),
  claim: Nullable(Closed({ statement: SignedDocument, anchor: FreeAnchor })),
  result: Closed({ statement: SignedDocument }),
});

/**
 * Everything needed to check an anchor: besides a node of the chain for format 1, besides the hash of the block for
 * format 2 and for format 3 with a chain proof. Format 3 is of work that the robot signed. `readBundle` of src/proof reads
 * all of them.
 */
export const Bundle = Type.Union([
  Closed({ format: Type.Literal('svc-bundle/1'), ...members }),
  Closed({ format: Type.Literal('svc-bundle/2'), ...members, chain_proof }),
  Closed({
    format: Type.Literal('svc-bundle/3'),
    ...members,
    chain_proof: Type.Optional(chain_proof),
    signing,
  }),
]);

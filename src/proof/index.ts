// Entry point of the package `robot-svc/proof`.
// biome-ignore-all lint/performance/noBarrelFile: package entry point
export {
  auditAnchor,
  type ChainFacts,
  type StatedAnchor,
  type StatedLeaf,
  type StatedPlace,
} from './audit-anchor.ts';
export { auditBundle, auditBundleAlone } from './audit-bundle.ts';
export {
  type AuditCheck,
  type AuditCheckName,
  isProven,
  type SigningCheckName,
} from './audit-check.ts';
export { type BlockHeader, readBlockHeader } from './block-header.ts';
export {
  BUNDLE_FORMAT,
  type Bundle,
  MAX_BUNDLE_DEPTH,
  PROVEN_BUNDLE_FORMAT,
  readBundle,
  SIGNED_BUNDLE_FORMAT,
  saysItIsBundle,
} from './bundle.ts';
export { type Anchored, statedAnchorOf } from './bundle-checks.ts';
export type { Hex } from './bytes.ts';
export { canonicalJson } from './canonical-json.ts';
export { auditChainProof } from './chain-proof.ts';
export { type Commitment, commitLeaves, type WaitingLeaf } from './commit-leaves.ts';
export { DocumentError } from './document-error.ts';
export type { FileDigest } from './files/digest.ts';
export { type ComparedFile, compareFiles, type FileEntry, listedFiles } from './files/manifest.ts';
export { type FilePart, fileOfPart, readPart } from './files/part.ts';
export { type ClaimContent, hashClaim, hashProof } from './hash.ts';
export { isProof, type JsonObject, type JsonValue, type Proof } from './json-value.ts';
export { type FreeLeafKind, freeLeafHash, type LeafContent, leafHash } from './leaf.ts';
export {
  type BatchPayload,
  decodePayload,
  encodePayload,
  type Payload,
  type SinglePayload,
} from './payload.ts';
export { readSignedTransaction, type SignedTransaction } from './signed-transaction.ts';
export {
  ARCHIVE_FORMAT,
  ArchiveAudit,
  type ArchiveReport,
  type KeyReport,
} from './statements/archive.ts';
export {
  auditSigning,
  expectSigned,
  type SigningOptions,
  type SigningPins,
  type SigningReport,
} from './statements/audit-signing.ts';
export { hashText, type Jws, type JwsHeader, joinSignature } from './statements/jws.ts';
export {
  grantText,
  type KeyGrant,
  type KeyRevocation,
  kidOf,
  readGrantText,
  readRevocationText,
  revocationText,
} from './statements/key-text.ts';
export {
  type AnchorPromise,
  type PromisedLeaf,
  promiseText,
  type ReadPromise,
  readPromise,
} from './statements/promise.ts';
export {
  type Algorithm,
  algorithmOf,
  type CheckSignature,
  openKey,
  type PublicKey,
  readPublicKey,
  thumbprintOf,
} from './statements/public-key.ts';
export { Sequence, type SequenceItem, type SequenceReport } from './statements/sequence.ts';
export type { SignedKeyText, Signing } from './statements/signing.ts';
export {
  contentHash,
  OUTCOMES,
  type Outcome,
  type ReadStatement,
  readStatement,
  type Statement,
  statementText,
} from './statements/statement.ts';
export { recoverWallet } from './statements/wallet-signature.ts';
export { MAX_PROOF_DEPTH, parseStrictJson, type StrictJsonOptions } from './strict-json.ts';
export { StrictJsonError } from './strict-json-error.ts';
export type {
  AnchoredLeaf,
  AnchorMembers,
  ChainProof,
  FreeAnchor,
} from './subject/anchor-members.ts';
export { SIGNED_RECEIPT_FORMAT } from './subject/receipt.ts';
export {
  type Inclusion,
  type InclusionPath,
  type MerkleTree,
  merkleTree,
  rootFromPath,
} from './tree.ts';
export { decodeUtf8 } from './utf8.ts';

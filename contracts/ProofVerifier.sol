// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// @title Checks that a robot's proof is part of an anchored payload
/// @notice Stateless: deploy it once and call it, or inherit from it. The format is docs/anchoring.md, the
/// tree and its inclusion path are RFC 9162, section 2.1.
/// @dev A contract cannot see the calldata of somebody's transaction. `root` with `leafCount`, or `payload`,
/// must therefore come from where the caller trusts it: stored by an account that is believed, or taken out of
/// a block by a proof of its transaction trie. Everything else may come from anyone. A `true` says that
/// whoever made the payload committed to this statement, and nothing of who that was.
contract ProofVerifier {
    /// @notice What one leaf binds together, as in a receipt.
    /// @param proofHash SHA-256 of the evidence in canonical form (RFC 8785)
    /// @param taskId the 16 bytes of the task's UUID
    /// @param robotId the 16 bytes of the robot's UUID
    /// @param claimHash SHA-256 of the claim in canonical form
    struct Statement {
        bytes32 proofHash;
        bytes16 taskId;
        bytes16 robotId;
        bytes32 claimHash;
    }

    /// @dev "RTPA", version 1, and the kind of the payload.
    bytes6 private constant SINGLE = 0x525450410100;
    bytes6 private constant BATCH = 0x525450410101;

    /// @notice Whether the tree of `leafCount` leaves under `root` holds `statement` at `leafIndex`.
    /// @param root root of the batch, trusted
    /// @param leafCount number of its leaves, as trusted as the root: some paths hold under another count too
    /// @param leafIndex place of the leaf, from 0; `inclusion.leaf_index` of a receipt
    /// @param path hashes from the leaf's sibling up; `inclusion.path` of a receipt
    /// @return false too for an index that is not below the count, and for a path that is not exactly as
    /// long as the shape of the tree demands
    function verifyInclusion(
        bytes32 root,
        uint32 leafCount,
        Statement calldata statement,
        uint32 leafIndex,
        bytes32[] calldata path
    ) public pure returns (bool) {
        return verifyLeaf(root, leafCount, leafHash(statement), leafIndex, path);
    }

    /// @notice Whether the calldata of an anchoring transaction commits to `statement`.
    /// @param payload the whole calldata, trusted: of a proof anchored alone (70 bytes) or a batch (42 bytes)
    /// @param leafIndex place of the leaf in the batch; 0 for a proof anchored alone
    /// @param path hashes from the leaf's sibling up; empty for a proof anchored alone
    /// @return false too for calldata that is not exactly a payload
    function verifyPayload(
        bytes calldata payload,
        Statement calldata statement,
        uint32 leafIndex,
        bytes32[] calldata path
    ) external pure returns (bool) {
        return verifyPayloadLeaf(payload, leafHash(statement), leafIndex, path)
            && (payload.length == 42 || bytes32(payload[6:38]) == statement.proofHash);
    }

    /// @notice As `verifyPayload`, by the leaf: of signed work, of a claim or of a key text (docs/statements.md).
    /// @param leaf computed by the caller: a leaf of which the content is not known proves nothing
    function verifyPayloadLeaf(bytes calldata payload, bytes32 leaf, uint32 leafIndex, bytes32[] calldata path)
        public
        pure
        returns (bool)
    {
        if (payload.length == 70 && bytes6(payload[:6]) == SINGLE) {
            return leafIndex == 0 && path.length == 0 && bytes32(payload[38:70]) == leaf;
        }
        if (payload.length == 42 && bytes6(payload[:6]) == BATCH) {
            uint32 leafCount = uint32(bytes4(payload[38:42]));
            return leafCount >= 2 && verifyLeaf(bytes32(payload[6:38]), leafCount, leaf, leafIndex, path);
        }
        return false;
    }

    /// @notice `SHA-256(0x00 ‖ proofHash ‖ taskId ‖ robotId ‖ claimHash)`
    function leafHash(Statement calldata statement) public pure returns (bytes32) {
        return sha256(
            bytes.concat(
                hex"00", statement.proofHash, statement.taskId, statement.robotId, statement.claimHash
            )
        );
    }

    /// @notice As `verifyInclusion`, by the leaf, as in `verifyPayloadLeaf`.
    /// @dev RFC 9162, section 2.1.3.2, with its names: `fn` is the index of the node on its level, `sn` of the
    /// last one there.
    function verifyLeaf(bytes32 root, uint32 leafCount, bytes32 leaf, uint32 leafIndex, bytes32[] calldata path)
        public
        pure
        returns (bool)
    {
        if (leafIndex >= leafCount) return false;
        uint256 fn = leafIndex;
        uint256 sn = leafCount - 1;
        bytes32 node = leaf;
        for (uint256 i = 0; i < path.length; ++i) {
            if (sn == 0) return false;
            if (fn & 1 == 1 || fn == sn) {
                node = _nodeHash(path[i], node);
                while (fn & 1 == 0 && fn != 0) {
                    fn >>= 1;
                    sn >>= 1;
                }
            } else {
                node = _nodeHash(node, path[i]);
            }
            fn >>= 1;
            sn >>= 1;
        }
        return sn == 0 && node == root;
    }

    function _nodeHash(bytes32 left, bytes32 right) private pure returns (bytes32) {
        return sha256(bytes.concat(hex"01", left, right));
    }
}

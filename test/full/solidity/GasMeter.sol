// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {ProofVerifier} from "contracts/ProofVerifier.sol";

/// @dev What another contract pays for a check: the call to a cold address, its arguments and its work.
contract GasMeter {
    function inclusionGas(
        ProofVerifier verifier,
        bytes32 root,
        uint32 leafCount,
        ProofVerifier.Statement calldata statement,
        uint32 leafIndex,
        bytes32[] calldata path
    ) external view returns (uint256) {
        uint256 before = gasleft();
        bool holds = verifier.verifyInclusion(root, leafCount, statement, leafIndex, path);
        uint256 spent = before - gasleft();
        require(holds, "measured a check that fails");
        return spent;
    }

    function payloadGas(
        ProofVerifier verifier,
        bytes calldata payload,
        ProofVerifier.Statement calldata statement,
        uint32 leafIndex,
        bytes32[] calldata path
    ) external view returns (uint256) {
        uint256 before = gasleft();
        bool holds = verifier.verifyPayload(payload, statement, leafIndex, path);
        uint256 spent = before - gasleft();
        require(holds, "measured a check that fails");
        return spent;
    }
}

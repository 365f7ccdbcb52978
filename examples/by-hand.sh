#!/bin/bash
# Checks a receipt with sha256sum and curl alone: computes the calldata of its anchor from evidence and claim, as
# docs/anchoring.md describes it, and compares it with the transaction TX at the node RPC_URL. The values are those of the
# worked example there, which is on no chain: replace them by those of your receipt. On macOS, use `shasum -a 256`.
# Prints a line for each of the five checks that passes, and the sender.
#
#   TX=0x… RPC_URL=https://rpc.example.org ./by-hand.sh
set -eu -o pipefail

sha256() { sha256sum | cut -c 1-64; }
bytes() { printf '%b' "$(printf '%s' "$@" | tr -d - | sed 's/../\\x&/g')"; }

proof_hash=$(printf '%s' '{"distance_m":3.269,"nonce":"6c1f84f0e7a5d3b2","picked":12}' | sha256)
claim_hash=$(printf '%s' '{"created_at":"2026-11-20T08:30:00.000Z","description":null,"expected_result":{"picked":12},"occurred_at":null,"title":"Pick parcels"}' | sha256)
task_id=01a1fa88-6262-702f-af77-0aaec0d1b17b
robot_id=01a1fa88-625b-75cb-b0f4-68b936962d71
leaf=$(bytes 00 "$proof_hash" "$task_id" "$robot_id" "$claim_hash" | sha256)

# The path has leaf 0 on the left, then leaf 2 on the right.
node=$(bytes 01 20e325f06280f9d0d193fed01a0eda5bef79063f2e602d93e3605cbe825d96ad "$leaf" | sha256)
root=$(bytes 01 "$node" bac57df66fe6368188d1d4521bcffaecee76a03a50ff297a13439f7164de0a5f | sha256)
# Of a proof that was anchored alone: payload=0x525450410100$proof_hash$leaf
payload=0x525450410101$root$(printf '%08x' 3)

ask() {
  curl -sS "$RPC_URL" -H 'Content-Type: application/json' \
    -d '{"jsonrpc":"2.0","id":1,"method":"'"$1"'","params":['"$2"']}'
}
member() { sed -n 's/.*"'"$1"'": *"\([^"]*\)".*/\1/p'; }

mined=$(ask eth_getTransactionReceipt "\"$TX\"")
sent=$(ask eth_getTransactionByHash "\"$TX\"")
block=$(ask eth_getBlockByNumber "\"$(member blockNumber <<< "$mined")\", false")

[ "$(member input <<< "$sent")" = "$payload" ] && echo 'the calldata is the payload'
[ "$(member value <<< "$sent")" = 0x0 ] && echo 'nothing was sent'
[ "$(member from <<< "$sent")" = "$(member to <<< "$sent")" ] && echo 'an account to itself'
[ "$(member status <<< "$mined")" = 0x1 ] && echo 'the transaction succeeded'
[ "$(member blockHash <<< "$mined")" = "$(member hash <<< "$block")" ] && echo 'in a block of the chain'
# Compare the address with one that you trust.
echo "sent by $(member from <<< "$sent") at $(printf '%d' "$(member timestamp <<< "$block")")"

#!/bin/sh
# A robot's program in a shell, with curl alone: claim, telemetry, complete. It calls svc-agent on its unix socket
# (SVC_AGENT_SOCKET, /run/svc-agent/agent.sock), and works with and without a network. What it reports are
# positions of the recorded run in examples/indoor-robot.
#
#   examples/robot.sh
set -eu

socket=${SVC_AGENT_SOCKET:-/run/svc-agent/agent.sock}
run=$(dirname "$0")/indoor-robot/run.datalog

# post PATH [HEADER]: sends standard input; the agent may be starting, which is waited for.
post() {
  curl --silent --show-error --fail-with-body --unix-socket "$socket" \
    --retry 30 --retry-delay 1 --retry-connrefused --max-time 90 \
    --header 'content-type: application/json' --header "${2:-accept: application/json}" \
    --data-binary @- "http://localhost/api/v1/$1"
}

# The id is made here, so that a repeated claim is harmless.
task=$(cat /proc/sys/kernel/random/uuid)
printf '{"id":"%s","title":"Survey the office hall"}' "$task" | post tasks >/dev/null

# At most 50 samples a call; without recorded_at their time is now.
tail -n +2 "$run" | head -n 50 | awk '
  BEGIN { printf "{\"samples\":[" }
  { printf "%s{\"state\":\"busy\",\"metrics\":{\"x_m\":%s,\"y_m\":%s}}", (NR > 1 ? "," : ""), $4 + 0, $5 + 0 }
  END { printf "]}" }' | post telemetry >/dev/null

# 200 with the receipt, or 202: the agent keeps the proof until it is anchored.
tail -n +2 "$run" | awk -v nonce="$(cat /proc/sys/kernel/random/uuid)" '
  BEGIN { printf "{\"proof\":{\"nonce\":\"%s\",\"path_m\":[", nonce }
  { printf "%s[%s,%s]", (NR > 1 ? "," : ""), $4 + 0, $5 + 0 }
  END { printf "]}}" }' | post "tasks/$task/complete" 'prefer: wait=60'
echo

#!/usr/bin/env python3
"""A robot's program with the client robot_svc: claim, telemetry, complete.

It calls svc-agent on its unix socket (SVC_AGENT_SOCKET, /run/svc-agent/agent.sock), and works with and without a
network. You can run it again with the same TASK_ID: a task is claimed and completed once. It reports the recorded run
in examples/indoor-robot as if the run had ended now. Files, such as a recording or a photo, stay where they are: the
evidence lists them with their hashes.

    python3 examples/robot.py [TASK_ID [FILE...]]
"""

import json
import secrets
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

# If the client is not installed, this program uses the one next to the examples.
sys.path.append(str(Path(__file__).resolve().parent.parent / "clients/python/src"))

from robot_svc import Agent, OtherEvidence

RUN = Path(__file__).parent / "indoor-robot" / "run.datalog"


def read_run():
    """Seconds since the start, position in meters, and the signal strength of five beacons in dBm."""
    rows = [line.split() for line in RUN.read_text().splitlines()[1:]]
    nanoseconds = [int(row[1]) * 1_000_000_000 + int(row[2]) for row in rows]
    return [
        {
            "seconds": round((at - nanoseconds[0]) / 1e9, 3),
            "x_m": float(row[3]),
            "y_m": float(row[4]),
            "rssi_dbm": [int(value) for value in row[15:20]],
        }
        for at, row in zip(nanoseconds, rows)
    ]


def main():
    run = read_run()
    task_id = sys.argv[1] if len(sys.argv) > 1 else None
    started_at = datetime.now(timezone.utc) - timedelta(seconds=run[-1]["seconds"])
    with Agent() as agent:
        expected = {"samples": len(run)}
        task = agent.claim("Survey the office hall", id=task_id, expected_result=expected)
        for step in run:
            metrics = {name: value for name, value in step.items() if name != "seconds"}
            recorded_at = started_at + timedelta(seconds=step["seconds"])
            agent.telemetry(state="busy", metrics=metrics, recorded_at=recorded_at)
        # The nonce prevents that others guess the evidence and compare the guess with its public hash.
        evidence = {"nonce": secrets.token_hex(16), "samples": len(run), "path": run}
        try:
            receipt = task.complete(evidence, attach=sys.argv[2:], wait=60)
        except OtherEvidence as error:
            # An earlier run of this program has completed the task.
            receipt = error.receipt or task.receipt(wait=60)
    # Without a receipt, the agent keeps the evidence until it is anchored.
    print(json.dumps(receipt))


if __name__ == "__main__":
    main()

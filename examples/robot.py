#!/usr/bin/env python3
"""A robot's program with nothing but Python's standard library: claim, telemetry, complete.

It calls svc-agent on its unix socket (SVC_AGENT_SOCKET, /run/svc-agent/agent.sock), works with and without a
network, and may be run again with the same TASK_ID: a task is claimed and completed once. What it reports is the
recorded run in examples/indoor-robot, as if it had ended now. Files, such as a recording or a photo, stay where they
are: the evidence lists them with their hashes.

    python3 examples/robot.py [TASK_ID [FILE...]]
"""

import hashlib
import http.client
import json
import mimetypes
import os
import socket
import stat
import sys
import time
import uuid
from datetime import datetime, timedelta, timezone
from pathlib import Path

SOCKET = os.environ.get("SVC_AGENT_SOCKET", "/run/svc-agent/agent.sock")
RUN = Path(__file__).parent / "indoor-robot" / "run.datalog"
BATCH = 50
CHUNK_BYTES = 2**20
UNCHANGED = ("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")
WAIT_S = 60


class AgentConnection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(SOCKET)


def call(method, path, body, headers=None):
    """Status and JSON body. The agent may be starting: it is tried again for a minute."""
    give_up = time.monotonic() + 60
    while True:
        connection = AgentConnection("localhost", timeout=WAIT_S + 10)
        try:
            text = json.dumps(body)
            given = {"content-type": "application/json", **(headers or {})}
            connection.request(method, path, text, given)
            response = connection.getresponse()
            return response.status, json.load(response)
        except (OSError, http.client.HTTPException) as error:
            if time.monotonic() > give_up:
                sys.exit(f"svc-agent cannot be reached on {SOCKET}: {error}")
            time.sleep(1)
        finally:
            connection.close()


def expect(answer, *statuses):
    status, body = answer
    if status not in statuses:
        sys.exit(f"svc-agent refused it: {status} {body.get('error')}: {body.get('message')}")
    return body


def read_run():
    """Seconds since the start, position in metres, and how strong five beacons were, in dBm."""
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


def sample(step, started_at):
    recorded_at = started_at + timedelta(seconds=step["seconds"])
    return {
        # Made here, so that a call that is repeated stores nothing twice.
        "id": str(uuid.uuid4()),
        "state": "busy",
        "recorded_at": recorded_at.isoformat(timespec="milliseconds"),
        "metrics": {"x_m": step["x_m"], "y_m": step["y_m"], "rssi_dbm": step["rssi_dbm"]},
    }


def digest(path):
    """Size and hashes of a file: SHA-256 of the whole, and the root of the tree over its chunks of 1 MiB (RFC 9162)."""
    whole, nodes, count = hashlib.sha256(), [], 0
    with open(path, "rb") as file:
        before = os.fstat(file.fileno())
        if not stat.S_ISREG(before.st_mode):
            sys.exit(f"{path} is not a regular file")
        for chunk in iter(lambda: file.read(CHUNK_BYTES), b""):
            whole.update(chunk)
            node, index, count = hashlib.sha256(b"\0" + chunk).digest(), count, count + 1
            while index % 2 == 1:
                node, index = hashlib.sha256(b"\1" + nodes.pop() + node).digest(), index // 2
            nodes.append(node)
    if [getattr(before, name) for name in UNCHANGED] != [
        getattr(os.stat(path), name) for name in UNCHANGED
    ]:
        sys.exit(f"{path} changed while it was read")
    root = nodes.pop() if nodes else hashlib.sha256().digest()
    while nodes:
        root = hashlib.sha256(b"\1" + nodes.pop() + root).digest()
    return {
        "bytes": before.st_size,
        "sha256": "0x" + whole.hexdigest(),
        "root": "0x" + root.hex(),
    }


def manifest(paths):
    """The member `files` of the evidence, as docs/anchoring.md specifies it."""
    entries = [
        {
            "name": path.name,
            "media_type": mimetypes.guess_type(path.name)[0] or "application/octet-stream",
            **digest(path),
        }
        for path in paths
    ]
    return {"format": "svc-files/1", "chunk_bytes": CHUNK_BYTES, "entries": entries}


def main():
    run = read_run()
    task_id = sys.argv[1] if len(sys.argv) > 1 else str(uuid.uuid4())
    started_at = datetime.now(timezone.utc) - timedelta(seconds=run[-1]["seconds"])

    claim = {"id": task_id, "title": "Survey the office hall", "expected_result": {"samples": 150}}
    expect(call("POST", "/api/v1/tasks", claim), 201)

    for first in range(0, len(run), BATCH):
        samples = [sample(step, started_at) for step in run[first : first + BATCH]]
        expect(call("POST", "/api/v1/telemetry", {"samples": samples}), 201)

    # The nonce keeps others from guessing the evidence from its hash, which is public.
    proof = {"nonce": uuid.uuid4().hex, "samples": len(run), "path": run}
    if len(sys.argv) > 2:
        proof["files"] = manifest([Path(name) for name in sys.argv[2:]])
    path = f"/api/v1/tasks/{task_id}/complete"
    prefer = {"prefer": f"wait={WAIT_S}"}
    answer = expect(call("POST", path, {"proof": proof}, prefer), 200, 202, 409)
    # 200 and a repeated run have the receipt; 202 means that the agent keeps the proof until it is anchored.
    print(json.dumps(answer.get("verification", answer)))


if __name__ == "__main__":
    main()

"""The client of svc-agent, which runs on the robot and needs no network to answer."""

import math
import os
import time
from typing import Any, Dict, Iterator, Mapping, Optional

from .client import POLL_S, Client
from .errors import Conflict, OtherEvidence, SvcError
from .http import Server, log
from .task import Receipt, Task

SOCKET = "/run/svc-agent/agent.sock"
#: The longest time that the agent waits in one call, in seconds.
LONGEST_WAIT_S = 600


class Agent(Client):
    """svc-agent on this machine.

    ``socket`` is the path of its socket (default: ``SVC_AGENT_SOCKET`` or /run/svc-agent/agent.sock), or the address of
    its TCP port, such as http://127.0.0.1:3800, with the ``token`` of that port. The agent stores claims and evidence on
    disk before it answers, delivers them when there is a network, and signs them if the robot has a signing key.

    Errors that can end are repeated for ``retry_s`` seconds, for example while the agent restarts. ``queue`` is the
    number of samples that wait at most.
    """

    def __init__(
        self,
        socket: Optional[str] = None,
        *,
        token: Optional[str] = None,
        retry_s: float = 60.0,
        queue: int = 1000,
    ) -> None:
        address = socket or os.environ.get("SVC_AGENT_SOCKET") or SOCKET
        super().__init__(Server(address, token, retry_s=retry_s), queue=queue)

    def receipts(self) -> Iterator[Receipt]:
        """The receipts that the agent keeps, newest first: those of the newest 1000 tasks."""
        _, answer = self._server.call("GET", "/api/v1/receipts", answers={200: "items"})
        yield from answer["items"]

    def status(self) -> Dict[str, Any]:
        """What ``svc-agent status --json`` prints: the connection, and what waits."""
        return self._server.call("GET", "/api/v1/status", answers={200: "connected"})[1]

    def _complete(self, task: Task, body: Mapping[str, Any], wait: float) -> Optional[Receipt]:
        give_up = time.monotonic() + wait
        path = f"/api/v1/tasks/{task.id}/complete"
        while True:
            seconds = min(max(0, math.ceil(give_up - time.monotonic())), LONGEST_WAIT_S)
            try:
                _, answer = self._server.call(
                    "POST",
                    path,
                    body,
                    answers={200: "verification", 202: "proof_hash"},
                    prefer=f"wait={seconds}",
                    wait=seconds,
                )
            except Conflict as error:
                # An earlier call arrived, and its answer was lost.
                if error.details.get("same_evidence") is not True:
                    raise
                answer = error.details
            if "warning" in answer:
                log.warning("Task %s: %s", task.id, answer["warning"])
            receipt = self._receipt_in(task, answer)
            if receipt is not None or give_up - time.monotonic() < POLL_S:
                return receipt
            time.sleep(POLL_S)

    def _find_receipt(self, task: Task) -> Optional[Receipt]:
        receipt = super()._find_receipt(task)
        if receipt is not None:
            return receipt
        for aside in self.status().get("set_aside", ()):
            if aside.get("task_id") == task.id:
                raise set_aside(aside)
        return None


def set_aside(aside: Mapping[str, Any]) -> SvcError:
    """The error for evidence that the agent accepted and the service refused later. The agent keeps it."""
    kind = OtherEvidence if aside["code"] == "already_completed" else SvcError
    message = f"The service refused the evidence, which svc-agent keeps: {aside['message']}"
    return kind(aside["code"], message, details=aside)

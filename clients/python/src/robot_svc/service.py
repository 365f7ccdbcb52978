"""The client of the service, for robots that are always connected or have no agent."""

import ssl
import time
from typing import Any, Iterator, Mapping, Optional
from urllib.parse import urlencode

from .client import Client
from .errors import Conflict, SvcError
from .http import Server, check_url
from .task import Receipt, Task


class Service(Client):
    """The service itself.

    ``url`` is its origin, such as https://svc.example.com, and ``key`` the robot's API key. ``tls`` is for a private
    certificate authority. Errors that can end are repeated for ``retry_s`` seconds. ``queue`` is the number of samples
    that wait at most. Nothing is stored on disk, and nothing is signed: Agent does both.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        retry_s: float = 60.0,
        queue: int = 1000,
        tls: Optional[ssl.SSLContext] = None,
    ) -> None:
        check_url(url, key)
        super().__init__(Server(url, key, retry_s=retry_s, tls=tls), queue=queue)

    def receipts(self) -> Iterator[Receipt]:
        """The receipts of this robot, newest first. Reads a task for each."""
        query = {"status": "verified"}
        while True:
            path = f"/api/v1/tasks?{urlencode(query)}"
            _, page = self._server.call("GET", path, answers={200: "items"})
            for item in page["items"]:
                receipt = self._receipt(self.task(item["id"]), 0)
                if receipt is not None:
                    yield receipt
            if page.get("next_cursor") is None:
                return
            query["cursor"] = page["next_cursor"]

    def _complete(self, task: Task, body: Mapping[str, Any], wait: float) -> Optional[Receipt]:
        """Also without ``wait``, the service waits for the anchor: by default up to 30 s."""
        give_up = time.monotonic() + wait
        path = f"/api/v1/tasks/{task.id}/complete"
        answers = {200: "verification", 202: "proof_hash"}
        try:
            _, answer = self._server.call("POST", path, body, answers=answers)
        except Conflict as error:
            # An earlier call arrived, and its answer was lost.
            if error.details.get("same_evidence") is not True:
                raise
            answer = error.details
        receipt = self._receipt_in(task, answer)
        left = give_up - time.monotonic()
        return self._receipt(task, left) if receipt is None and left > 0 else receipt

    def _receipt_in(self, task: Task, answer: Mapping[str, Any]) -> Optional[Receipt]:
        if (answer.get("anchor") or {}).get("state") == "failed":
            message = "The anchor of this task failed. Complete the task again with the same evidence."
            raise SvcError("anchoring_failed", message, retryable=True)
        return super()._receipt_in(task, answer)

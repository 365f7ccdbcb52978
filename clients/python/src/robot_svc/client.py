"""What the clients of svc-agent and of the service have in common."""

import atexit
import time
import uuid
from datetime import datetime, timezone
from types import TracebackType
from typing import Any, Dict, Iterator, List, Mapping, Optional, Type, TypeVar, Union

from .errors import UnexpectedAnswer
from .evidence import Time, exact, utc
from .http import Server, log
from .task import Receipt, Task
from .telemetry import Sample, Telemetry

Id = Union[str, uuid.UUID]
Self = TypeVar("Self", bound="Client")

#: Seconds between two looks for a receipt.
POLL_S = 1.0
#: Seconds in which ``close`` sends the remaining samples.
CLOSE_S = 5.0


class Client:
    """Claims tasks and records telemetry. Threads can share a client. Use Agent or Service."""

    def __init__(self, server: Server, *, queue: int) -> None:
        self._server = server
        #: The queue of samples, with the counts ``dropped`` and ``refused``.
        self.samples = Telemetry(self._send_samples, queue)
        atexit.register(self.close)

    def claim(
        self,
        title: str,
        *,
        id: Optional[Id] = None,
        description: Optional[str] = None,
        expected_result: Optional[Mapping[str, Any]] = None,
        occurred_at: Optional[Time] = None,
        fail_on_exception: bool = False,
    ) -> Task:
        """Claims a task, before the work starts.

        If you keep the ``id``, a UUID, you can repeat the call after a crash: the same id and content claim one task.
        With ``fail_on_exception``, an exception in the ``with`` block completes the task as ``failed``. The last line
        of the traceback is its evidence.
        """
        task_id = str(id or uuid.uuid4()).lower()
        body = {
            "id": task_id,
            "title": title,
            "description": description,
            "expected_result": None if expected_result is None else exact(expected_result),
            "occurred_at": utc(occurred_at),
        }
        _, answer = self._server.call("POST", "/api/v1/tasks", body, answers={201: "task"})
        self._require_task(answer["task"], "id", task_id)
        return Task(self, task_id, fail_on_exception=fail_on_exception)

    def task(self, id: Id) -> Task:
        """A task that was claimed before. Calls nothing."""
        return Task(self, str(id).lower())

    def telemetry(
        self,
        *,
        battery_pct: Optional[float] = None,
        state: Optional[str] = None,
        metrics: Optional[Mapping[str, Any]] = None,
        recorded_at: Optional[Time] = None,
    ) -> None:
        """Records a sample. Returns at once: a thread sends samples in batches of 50, or after a second.

        ``state`` is ``idle``, ``busy``, ``error``, ``charging``, ``offline`` or any other text. Metrics that are NaN or
        infinite are left out. If the queue is full, the oldest sample is dropped and counted in ``samples.dropped``.
        """
        sample = {
            "battery_pct": battery_pct,
            "state": state,
            "metrics": dict(metrics or {}),
            "recorded_at": utc(recorded_at or datetime.now(timezone.utc)),
        }
        self.samples.add(sample)

    def event(
        self,
        event_type: str,
        message: Optional[str] = None,
        *,
        severity: str = "info",
        payload: Optional[Mapping[str, Any]] = None,
        occurred_at: Optional[Time] = None,
    ) -> Dict[str, Any]:
        """Records an event, and returns it. ``severity`` is ``info``, ``warn`` or ``error``."""
        body = {
            "id": str(uuid.uuid4()),
            "event_type": event_type,
            "message": message,
            "severity": severity,
            "payload": None if payload is None else exact(payload),
            "occurred_at": utc(occurred_at),
        }
        _, answer = self._server.call("POST", "/api/v1/events", body, answers={201: "event"})
        event: Dict[str, Any] = answer["event"]
        return event

    def receipts(self) -> Iterator[Receipt]:
        """The receipts of this robot, newest first."""
        raise NotImplementedError

    def flush(self, timeout: Optional[float] = None) -> bool:
        """Waits until all samples are sent. False if that takes more than ``timeout`` seconds."""
        return self.samples.flush(timeout)

    def close(self) -> None:
        """Sends the remaining samples for at most 5 s. The end of the program does this, too."""
        atexit.unregister(self.close)
        self.samples.close(CLOSE_S)

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def _complete(self, task: Task, body: Mapping[str, Any], wait: float) -> Optional[Receipt]:
        raise NotImplementedError

    def _receipt(self, task: Task, wait: float) -> Optional[Receipt]:
        give_up = time.monotonic() + wait
        while True:
            receipt = self._find_receipt(task)
            left = give_up - time.monotonic()
            if receipt is not None or left <= 0:
                return receipt
            time.sleep(min(POLL_S, left))

    def _find_receipt(self, task: Task) -> Optional[Receipt]:
        return self._receipt_in(task, self._read_task(task.id))

    def _receipt_in(self, task: Task, answer: Mapping[str, Any]) -> Optional[Receipt]:
        """The member ``verification`` of an answer about this task, for the hash that this or an earlier answer names."""
        task._proof_hash = answer.get("proof_hash", task._proof_hash)
        receipt: Optional[Receipt] = answer.get("verification")
        if receipt is not None:
            self._require_task(receipt, "task_id", task.id)
            if task._proof_hash is not None and receipt.get("proof_hash") != task._proof_hash:
                message = f"The receipt from {self._server.address} is for other evidence."
                raise UnexpectedAnswer("unexpected_answer", message)
        return receipt

    def _read_task(self, task_id: str) -> Dict[str, Any]:
        answers = {200: "task"}
        return self._server.call("GET", f"/api/v1/tasks/{task_id}", answers=answers)[1]

    def _send_samples(self, samples: List[Sample]) -> int:
        """Sends them once. Returns how many of them svc-agent has set aside because they are malformed."""
        body, answers = {"samples": samples}, {201: "accepted"}
        _, answer = self._server.call("POST", "/api/v1/telemetry", body, answers=answers, retry_s=0)
        aside = answer.get("set_aside", [])
        if not isinstance(aside, list) or not all(isinstance(each, dict) for each in aside):
            message = f"The answer of {self._server.address} has no list of what was set aside."
            raise UnexpectedAnswer("unexpected_answer", message, retryable=True)
        for sample in aside:
            log.warning("A sample was refused: %s", sample.get("message"))
        return len(aside)

    def _require_task(self, answer: Any, member: str, task_id: str) -> None:
        if not isinstance(answer, Mapping) or answer.get(member) != task_id:
            message = f"The answer of {self._server.address} is about another task."
            raise UnexpectedAnswer("unexpected_answer", message)

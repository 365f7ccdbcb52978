"""Telemetry in the background: the caller only appends to a queue, and a thread sends batches."""

import os
import threading
import uuid
import weakref
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Optional

from .errors import SvcError
from .evidence import exact, finite
from .http import log

#: Samples in one call, at most.
BATCH = 50
#: Seconds for which samples wait for others of their batch.
GATHER_S = 1.0
#: Seconds in which a call may end when the client is closed.
LAST_CALL_S = 1.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
#: Statuses of a batch with a sample that is refused for its content. Any other refusal can end, so the batch waits.
CONTENT_STATUSES = (400, 409, 413)

Sample = Dict[str, Any]


class Telemetry:
    """A bounded queue of samples, and the thread that sends them. The thread starts with the first sample."""

    def __init__(self, send: Callable[[List[Sample]], int], limit: int) -> None:
        self._send = send
        self._limit = limit
        self._is_closed = False
        self._start_empty()
        _queues.add(self)
        #: Samples that were lost because the queue was full, or not sent when the client was closed.
        self.dropped = 0
        #: Samples that were refused for their content.
        self.refused = 0
        #: Why samples wait or were refused; None after a batch that was accepted.
        self.last_error: Optional[Exception] = None

    def _start_empty(self) -> None:
        self._waiting: Deque[Sample] = deque()
        self._changed = threading.Condition()
        self._thread: Optional[threading.Thread] = None
        #: Samples that the thread has taken, and that are neither sent nor refused.
        self._in_flight = 0
        self._is_urgent = False

    def add(self, sample: Sample) -> None:
        """Appends a sample. If the queue is full, drops the oldest sample."""
        with self._changed:
            if self._is_closed:
                raise ValueError("The client is closed.")
            if len(self._waiting) == self._limit:
                self._waiting.popleft()
                self.dropped += 1
            self._waiting.append(sample)
            if len(self._waiting) in (1, BATCH):
                self._changed.notify_all()
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="robot_svc", daemon=True)
                self._thread.start()

    def flush(self, timeout: Optional[float] = None) -> bool:
        """Waits until every sample is sent. False if the time is over before."""
        with self._changed:
            self._is_urgent = True
            self._changed.notify_all()
            try:
                return self._changed.wait_for(
                    lambda: not self._waiting and not self._in_flight, timeout
                )
            finally:
                self._is_urgent = False

    def close(self, timeout: float) -> None:
        """Sends what waits for at most ``timeout`` seconds, and drops the rest."""
        self.flush(timeout)
        with self._changed:
            if self._is_closed:
                return
            self._is_closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(LAST_CALL_S)
        with self._changed:
            lost = len(self._waiting) + self._in_flight
            self.dropped += lost
            self._waiting.clear()
        if lost:
            log.warning("%d samples were not sent before the client was closed.", lost)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._is_closed)
                self._changed.wait_for(self._is_due, GATHER_S)
                if self._is_closed:
                    return
                batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
                self._in_flight = len(batch)
            self._deliver(self._checked(batch))
            with self._changed:
                self._changed.notify_all()

    def _is_due(self) -> bool:
        return len(self._waiting) >= BATCH or self._is_urgent or self._is_closed

    def _checked(self, batch: List[Sample]) -> List[Sample]:
        """The samples as JSON, each with an id: a batch that is sent again stores nothing twice."""
        checked: List[Sample] = []
        for sample in batch:
            try:
                values = {**sample, "id": str(uuid.uuid4()), "metrics": finite(sample["metrics"])}
                # The service rounds large integers in samples. As texts, they would not be in its charts.
                checked.append(exact(finite(values), big=int))
            except Exception as error:
                self._refuse(error)
        return checked

    def _deliver(self, batch: List[Sample]) -> None:
        pause = FIRST_PAUSE_S
        while batch:
            try:
                self.refused += self._send(batch)
                self._in_flight -= len(batch)
                self.last_error = None
                return
            except Exception as error:
                # Without a SvcError, nothing was sent: json.dumps rejects integers of 5000 digits.
                if not isinstance(error, SvcError) or (
                    error.status in CONTENT_STATUSES and not error.retryable
                ):
                    if len(batch) == 1:
                        self._refuse(error)
                        return
                    half = len(batch) // 2
                    self._deliver(batch[:half])
                    batch = batch[half:]
                    continue
                if self.last_error is None:
                    log.warning("Telemetry waits: %s", error)
                self.last_error = error
                delay = max(error.retry_after or 0.0, pause)
            with self._changed:
                if self._changed.wait_for(lambda: self._is_closed, delay):
                    return
            pause = min(2 * pause, LONGEST_PAUSE_S)

    def _refuse(self, error: Exception) -> None:
        self.refused += 1
        self._in_flight -= 1
        self.last_error = error
        log.warning("A sample was refused: %s", error)


_queues: "weakref.WeakSet[Telemetry]" = weakref.WeakSet()


def _after_fork() -> None:
    """In the child: the parent sends what waits, and a copied lock may be held by a thread that was not copied."""
    for queue in list(_queues):
        queue._start_empty()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

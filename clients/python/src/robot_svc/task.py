"""A task: claimed before the work, and completed with its evidence."""

import logging
import traceback
from types import TracebackType
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Type, TypedDict, Union

from .errors import InvalidRequest, SvcError
from .evidence import Path, exact, with_files

if TYPE_CHECKING:
    from .client import Client

log = logging.getLogger("robot_svc")

#: A JSON object or array of at most 256 KiB.
Evidence = Union[Mapping[str, Any], List[Any]]


class Inclusion(TypedDict):
    """The place of the evidence in the tree of its anchor."""

    root: str
    leaf_index: int
    leaf_count: int
    path: List[str]


class _Receipt(TypedDict):

    format: str
    task_id: str
    robot_id: str
    status: str
    proof_hash: str
    tx_hash: str
    block_number: str
    anchored_at: str
    explorer_url: str
    chain_id: int
    claim_hash: str
    inclusion: Optional[Inclusion]
    finality: str


class Receipt(_Receipt, total=False):
    """The receipt of a task. ``json.dump`` writes a file that ``svc verify`` reads."""

    #: If the robot signed the result.
    statement_hash: str


class Task:
    """A claimed task. As a context manager, it notices an exception in the work."""

    def __init__(self, client: "Client", id: str, *, fail_on_exception: bool = False) -> None:
        #: The id of the task, a UUID.
        self.id = id
        self._client = client
        self._fail_on_exception = fail_on_exception
        self._is_submitted = False
        #: The hash of the evidence, if an answer has named it.
        self._proof_hash: Optional[str] = None

    def complete(
        self,
        evidence: Evidence,
        *,
        attach: Iterable[Path] = (),
        outcome: Optional[str] = None,
        wait: float = 0.0,
    ) -> Optional[Receipt]:
        """Submits the evidence, and waits up to ``wait`` seconds for the receipt.

        Returns the receipt, or None if the evidence is stored and not anchored yet. The same call can be repeated: a
        task is completed once. ``attach`` names files that the evidence lists with their hashes. ``outcome`` is
        ``succeeded``, ``failed`` or ``aborted``. Integers beyond 2^53 become texts.

        Raises OtherEvidence if the task already has other evidence.
        """
        proof = exact(with_files(evidence, attach))
        # From here on, the evidence may have arrived.
        before, self._is_submitted = self._is_submitted, True
        try:
            return self._client._complete(self, {"proof": proof, "outcome": outcome}, wait)
        except (InvalidRequest, ValueError):
            # This evidence was not stored.
            self._is_submitted = before
            raise

    def receipt(self, *, wait: float = 0.0) -> Optional[Receipt]:
        """The receipt; None if there is none after ``wait`` seconds."""
        return self._client._receipt(self, wait)

    def read(self) -> Dict[str, Any]:
        """The task, the state of its anchor, and its receipt, as ``GET /api/v1/tasks/ID`` answers."""
        return self._client._read_task(self.id)

    def __enter__(self) -> "Task":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if not isinstance(error, Exception) or self._is_submitted or not self._fail_on_exception:
            return
        last_line = traceback.format_exception_only(type(error), error)[-1].strip()
        try:
            self.complete({"error": last_line}, outcome="failed")
        except SvcError as failure:
            # The exception of the work goes on.
            log.error("Task %s could not be completed as failed: %s", self.id, failure)

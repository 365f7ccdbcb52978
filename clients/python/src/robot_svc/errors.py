"""The errors of the client: one class for each kind of answer that a program may handle."""

from typing import Any, Dict, Mapping, Optional

#: Error codes after which the same call can succeed later: those of the service and of svc-agent.
RETRYABLE = frozenset(
    {
        "account_suspended",
        "anchoring_failed",
        "authorization_pending",
        "chain_unavailable",
        "internal_error",
        "no_anchor_quota",
        "no_gas_credit",
        "overloaded",
        "rate_limited",
        "request_timeout",
        "service_unreachable",
        "spool_full",
        "storage_quota",
        "storage_unavailable",
    }
)


#: The longest ``retry_after``, in seconds.
LONGEST_RETRY_AFTER_S = 3600.0


class SvcError(Exception):
    """An error of the service, of svc-agent, or of the connection to them."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: Optional[int] = None,
        retryable: bool = False,
        details: Optional[Mapping[str, Any]] = None,
    ) -> None:
        super().__init__(f"{message} ({code})")
        #: A stable identifier, such as ``not_found``.
        self.code = code
        #: A sentence for people.
        self.message = message
        #: The HTTP status; None without an answer.
        self.status = status
        #: Whether the same call can succeed later.
        self.retryable = retryable
        #: The other members of the answer.
        self.details: Dict[str, Any] = dict(details or {})

    @property
    def retry_after(self) -> Optional[float]:
        """Seconds after which to call again, if the answer names them: at most an hour."""
        seconds = self.details.get("retry_after")
        if not isinstance(seconds, (int, float)) or not seconds >= 0:
            return None
        return float(min(seconds, LONGEST_RETRY_AFTER_S))


class Unreachable(SvcError):
    """No answer came. A write may have arrived: repeat it with the same id."""


class UnexpectedAnswer(SvcError):
    """The answer is not documented: a proxy or a sign-in page may have answered instead."""


class InvalidRequest(SvcError):
    """The call is malformed or too large (400, 413 and others). Nothing was stored."""


class Refused(SvcError):
    """The key is wrong, or the robot may not do this (401, 403)."""


class OutOfCredits(SvcError):
    """The account has no credits left (402). The task stays claimed."""


class NotFound(SvcError):
    """There is no such task of this robot (404)."""


class Conflict(SvcError):
    """The id is in use with other content, or a limit of the account is reached (409)."""


class OtherEvidence(Conflict):
    """The task has other evidence. What you sent was not stored: claim a new task for it."""

    @property
    def receipt(self) -> Any:
        """The receipt of the other evidence; None if it is not anchored yet."""
        return self.details.get("verification")


class RateLimited(SvcError):
    """The robot made too many calls in this minute (429)."""


class Unavailable(SvcError):
    """The service or svc-agent cannot do this now (5xx)."""


_BY_STATUS = {
    401: Refused,
    402: OutOfCredits,
    403: Refused,
    404: NotFound,
    409: Conflict,
    429: RateLimited,
}


def error_of(status: int, body: Mapping[str, Any]) -> SvcError:
    """The error of an answer whose body has ``error`` and ``message``."""
    details = {name: value for name, value in body.items() if name not in ("error", "message")}
    code = str(body["error"])
    kind = _BY_STATUS.get(status, Unavailable if status >= 500 else InvalidRequest)
    if status == 409 and details.get("same_evidence") is False:
        kind = OtherEvidence
    retryable = code in RETRYABLE
    return kind(code, str(body["message"]), status=status, retryable=retryable, details=details)

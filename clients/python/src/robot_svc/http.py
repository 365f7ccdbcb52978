"""Calls over HTTP, on a unix socket or at a URL, with retries by the error table."""

import http.client
import json
import logging
import random
import socket
import ssl
import time
from typing import Any, Dict, Mapping, Optional, Tuple
from urllib.parse import urlsplit

from .errors import SvcError, UnexpectedAnswer, Unreachable, error_of

log = logging.getLogger("robot_svc")

#: Seconds for one step of the connection, without the time that the server is asked to wait.
TIMEOUT_S = 35.0
#: Seconds between two tries, at most. The first pause is 0.2 s, and each further one is twice as long.
LONGEST_PAUSE_S = 10.0
MAX_ANSWER_BYTES = 64 * 1024 * 1024

Answer = Tuple[int, Dict[str, Any]]


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Server:
    """The service or svc-agent. Each call has a connection of its own, so threads can share the object."""

    def __init__(
        self,
        address: str,
        key: Optional[str] = None,
        *,
        retry_s: float,
        tls: Optional[ssl.SSLContext] = None,
    ) -> None:
        self.address = address
        self.retry_s = retry_s
        self._headers = {} if key is None else {"authorization": f"Bearer {checked_key(key)}"}
        self._tls = tls
        self._is_socket = "://" not in address
        if not self._is_socket:
            check_url(address, key)

    def call(
        self,
        method: str,
        path: str,
        body: Optional[Mapping[str, Any]] = None,
        *,
        answers: Mapping[int, str],
        prefer: Optional[str] = None,
        wait: float = 0.0,
        retry_s: Optional[float] = None,
    ) -> Answer:
        """Status and body of the answer.

        ``answers`` has each documented status with a member of its body. ``wait``: seconds that the server may take in
        addition. Retryable errors are repeated until ``retry_s`` seconds after the first.
        """
        text = None if body is None else to_json(body)
        limit = self.retry_s if retry_s is None else retry_s
        give_up: Optional[float] = None
        pause = 0.2
        while True:
            try:
                return self._call_once(method, path, text, answers, prefer, wait)
            except SvcError as error:
                delay = max(error.retry_after or 0.0, pause * random.uniform(0.5, 1.0))
                give_up = give_up or time.monotonic() + limit
                if not error.retryable or time.monotonic() + delay > give_up:
                    raise
                log.warning("Repeating %s %s in %.1f s: %s", method, path, delay, error)
            time.sleep(delay)
            pause = min(2 * pause, LONGEST_PAUSE_S)

    def _call_once(
        self,
        method: str,
        path: str,
        text: Optional[bytes],
        answers: Mapping[int, str],
        prefer: Optional[str],
        wait: float,
    ) -> Answer:
        headers = dict(self._headers)
        if text is not None:
            headers["content-type"] = "application/json"
        if prefer is not None:
            headers["prefer"] = prefer
        connection = self._connect(TIMEOUT_S + wait)
        try:
            connection.request(method, path, text, headers)
            response = connection.getresponse()
            content = response.read(MAX_ANSWER_BYTES + 1)
        except (OSError, http.client.HTTPException) as cause:
            raise self._unreachable(cause) from cause
        finally:
            connection.close()
        answer = _json_object(content)
        expected = answers.get(response.status)
        if expected is not None and answer is not None and expected in answer:
            return response.status, answer
        if answer is None or response.status < 400 or not _is_error(answer):
            raise self._unexpected(response.status, response.getheader("content-type", ""))
        after = response.getheader("retry-after", "")
        given = {"retry_after": float(after)} if after.isascii() and after.isdigit() else {}
        raise error_of(response.status, {**given, **answer})

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        if self._is_socket:
            return _UnixConnection(self.address, timeout)
        host = urlsplit(self.address).netloc
        if self.address.startswith("https:"):
            return http.client.HTTPSConnection(host, timeout=timeout, context=self._tls)
        return http.client.HTTPConnection(host, timeout=timeout)

    def _unreachable(self, cause: Exception) -> Unreachable:
        if isinstance(cause, PermissionError):
            message = f"This user may not use {self.address}. Add the user to the group of the socket."
            return Unreachable("service_unreachable", message)
        name = "svc-agent" if self._is_socket else "service"
        message = f"No {name} answers at {self.address}: {cause or type(cause).__name__}."
        return Unreachable("service_unreachable", message, retryable=True)

    def _unexpected(self, status: int, media_type: str) -> UnexpectedAnswer:
        message = (
            f"Unexpected answer ({status} {media_type}) from {self.address}: "
            "is there a proxy or a sign-in page?"
        )
        return UnexpectedAnswer("unexpected_answer", message, status=status, retryable=True)


def to_json(body: Mapping[str, Any]) -> bytes:
    """The body without absent members. Raises ValueError for NaN and infinity, and TypeError for what is not JSON."""
    present = {name: value for name, value in body.items() if value is not None}
    return json.dumps(present, allow_nan=False).encode()


def checked_key(key: str) -> str:
    """The key without the end of its line. Raises ValueError, without the key, if it cannot be part of a header."""
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        raise ValueError("The key or token must be printable ASCII.")
    return key


def check_url(url: str, key: Optional[str]) -> None:
    """Raises ValueError if the URL is not an origin, or would send the key as plaintext."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
        raise ValueError(f"{url} is not an origin such as https://svc.example.com.")
    is_local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if parts.scheme == "http" and key is not None and not is_local:
        raise ValueError(f"{url} would send the key as plaintext. Use https.")


def _json_object(content: bytes) -> Optional[Dict[str, Any]]:
    try:
        value = json.loads(content) if len(content) <= MAX_ANSWER_BYTES else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _is_error(answer: Mapping[str, Any]) -> bool:
    return isinstance(answer.get("error"), str) and isinstance(answer.get("message"), str)

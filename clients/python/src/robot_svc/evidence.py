"""Evidence: values that every JSON parser reads alike, times in UTC, and lists of files with their hashes."""

import hashlib
import math
import os
import stat
from datetime import datetime, timezone
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Union

from .errors import InvalidRequest

Path = Union[str, "os.PathLike[str]"]
#: A datetime with a time zone, or its ISO 8601 text.
Time = Union[datetime, str]

CHUNK_BYTES = 2**20
MAX_SAFE_INTEGER = 2**53 - 1
#: The largest file without a size, such as those of /proc.
MAX_UNSTATED_BYTES = 64 * 2**20

_MEDIA_TYPES = {
    ".csv": "text/csv",
    ".db3": "application/vnd.sqlite3",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".log": "text/plain",
    ".mcap": "application/vnd.mcap",
    ".mp4": "video/mp4",
    ".png": "image/png",
    ".txt": "text/plain",
}
_UNCHANGED = ("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")


def exact(value: Any, big: Callable[[int], Any] = str) -> Any:
    """The value as JSON that no parser changes: ``big`` converts integers beyond 2^53, by default to texts.

    Arrays and scalars of numpy become lists and numbers. Raises InvalidRequest for NaN, infinity and anything else
    that JSON does not have.
    """
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        return int(value) if abs(value) <= MAX_SAFE_INTEGER else big(int(value))
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidRequest("invalid_proof", f"JSON has no {value}. Nothing was sent.")
        return float(value)
    if isinstance(value, Mapping):
        return {_name(name): exact(member, big) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [exact(item, big) for item in value]
    if hasattr(value, "tolist"):
        return exact(value.tolist(), big)
    kind = type(value).__name__
    raise InvalidRequest("invalid_proof", f"A value of type {kind} is not JSON. Nothing was sent.")


def _name(name: Any) -> str:
    if isinstance(name, str):
        return name
    raise InvalidRequest("invalid_proof", f"The member name {name!r} is not a text. Nothing was sent.")


def finite(values: Mapping[str, Any]) -> Dict[str, Any]:
    """The members without None, and without NaN and infinity, which drivers send without a measurement."""
    # A float32 of numpy is no float.
    plain = {name: each.tolist() if hasattr(each, "tolist") else each for name, each in values.items()}
    return {
        name: value
        for name, value in plain.items()
        if value is not None and (not isinstance(value, float) or math.isfinite(value))
    }


def utc(time: Optional[Time]) -> Optional[str]:
    """The time as ISO 8601 in UTC with milliseconds. Raises ValueError for a datetime without a time zone."""
    if not isinstance(time, datetime):
        return time
    if time.utcoffset() is None:
        raise ValueError(f"{time} has no time zone. Use datetime.now(timezone.utc).")
    text = time.astimezone(timezone.utc).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def with_files(evidence: Any, files: Iterable[Path]) -> Any:
    """The evidence with a member ``files``, which lists the files with their hashes. The files stay where they are."""
    entries = [_entry(path) for path in files]
    if not entries:
        return evidence
    if not isinstance(evidence, Mapping) or "files" in evidence:
        raise InvalidRequest("invalid_proof", "Evidence with files must be a dict without 'files'.")
    listed = {"format": "svc-files/1", "chunk_bytes": CHUNK_BYTES, "entries": entries}
    return {**evidence, "files": listed}


def _entry(path: Path) -> Dict[str, Any]:
    name = os.path.basename(os.fspath(path))
    extension = os.path.splitext(name)[1].lower()
    media_type = _MEDIA_TYPES.get(extension, "application/octet-stream")
    return {"name": name, "media_type": media_type, **digest(path)}


def digest(path: Path) -> Dict[str, Any]:
    """Size and hashes of a file: SHA-256, and the root of the tree over chunks of 1 MiB (RFC 9162).

    Raises ValueError if the file is not regular or changes while it is read.
    """
    whole, size, count = hashlib.sha256(), 0, 0
    nodes: List[bytes] = []
    # A pipe without a writer would block otherwise.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags), "rb") as file:
        before = os.fstat(file.fileno())
        if not stat.S_ISREG(before.st_mode):
            raise ValueError(f"{path} is not a regular file.")
        for chunk in iter(lambda: file.read(CHUNK_BYTES), b""):
            size += len(chunk)
            if before.st_size == 0 and size > MAX_UNSTATED_BYTES:
                raise ValueError(f"{path} states no size, and has more than 64 MiB.")
            whole.update(chunk)
            node, index, count = _hash(b"\0" + chunk), count, count + 1
            while index % 2 == 1:
                node, index = _hash(b"\1" + nodes.pop() + node), index // 2
            nodes.append(node)
    after = os.stat(path)
    if any(getattr(before, name) != getattr(after, name) for name in _UNCHANGED):
        raise ValueError(f"{path} changed while it was read. Attach it after its recording has ended.")
    root = nodes.pop() if nodes else _hash(b"")
    while nodes:
        root = _hash(b"\1" + nodes.pop() + root)
    return {"bytes": size, "sha256": "0x" + whole.hexdigest(), "root": "0x" + root.hex()}


def _hash(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()

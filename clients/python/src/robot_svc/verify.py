#!/usr/bin/env python3
# mypy: ignore-errors
"""Verifies a bundle of format svc-bundle/2 or svc-bundle/3 from the hash of its block alone, without a network.

usage: verify.py BUNDLE.json 0xBLOCKHASH [--anchor-address 0xADDRESS]...
    [--owner 0xADDRESS] [--robot-key THUMBPRINT]
    [--file FILE]... [--require-files] [--part PART.json]...
  or: verify.py ARCHIVE.jsonl [--owner 0xADDRESS] [--robot-key THUMBPRINT]
  or: verify.py PROMISE.json LIST.json [BUNDLE.json 0xBLOCKHASH]... [--anchor-address 0xADDRESS]...

The second form verifies all statements of a robot, as `svc robots export` wrote them. The third form verifies a promise
of a service: LIST.json is the service's list of accounts, of /.well-known/svc-anchors.json, one of which you name with
--anchor-address. The bundles may show that the promise was kept.

--anchor-address names the account that you expect; with several, one of them must have sent the anchor. --file compares
a file with those that the evidence lists, --part does so for a part of a file, and --require-files
fails if a listed file is not given. --owner names the wallet that must have put the robot's key into use, and
--robot-key the thumbprint of the key that must have signed: with one of them, work without a signature fails.

Exit code 0: every check passed. 3: a check failed, or the bundle has a member that no check covers. 2: wrong usage, an
unreadable file, or a file that is not a bundle with a chain proof. 9: every check passed, but you named no account, and
anyone can write an anchor. `svc verify --block-hash` has the same codes. Of an archive: 11 if a statement is missing or
withheld, 12 for a fork, 13 for a branch. Of a promise: 14 if it was kept late, 8 if no bundle shows an anchor.

This program implements docs/anchoring.md, and reads the formats of docs/statements.md. It shares no code with svc. It
needs Python 3.8 or later and nothing else.
Take the block hash and the address of the account from sources that you trust, never from the sender of the bundle.
"""

import base64
import hashlib
import json
import os
import re
import sys
from datetime import datetime, timedelta

MAX_FILE_BYTES = 16 * 1024 * 1024
MAX_ARCHIVE_BYTES = 2**30
MAX_DEPTH = 130
MAX_HEADER_BYTES = 65_536
MAX_NODES = 16
MAX_NODE_BYTES = 131_584
MAX_TRANSACTION_BYTES = 131_072
MAX_SAFE_INTEGER = 2**53 - 1


class Refused(Exception):
    """The document is not a bundle with a chain proof, or some bytes are not what they must be."""


class UnknownMember(Refused):
    """The bundle has a member that the format does not have: no check would cover it."""


# Keccak-256 (FIPS 202 with the padding 0x01 that Ethereum uses).

LANES = 2**64 - 1


def rotated(lane, by):
    return ((lane << by) | (lane >> (64 - by))) & LANES


def round_constants():
    constants, register = [], 1
    for _ in range(24):
        constant = 0
        for j in range(7):
            if register & 1:
                constant |= 1 << (2**j - 1)
            register = (register << 1) ^ (0x171 if register & 0x80 else 0)
        constants.append(constant)
    return constants


ROUNDS = round_constants()


def keccak_f(a):
    for constant in ROUNDS:
        c = [a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20] for x in range(5)]
        d = [c[(x + 4) % 5] ^ rotated(c[(x + 1) % 5], 1) for x in range(5)]
        a = [lane ^ d[i % 5] for i, lane in enumerate(a)]
        x, y, lane = 1, 0, a[1]
        for t in range(24):
            x, y = y, (2 * x + 3 * y) % 5
            at = x + 5 * y
            lane, a[at] = a[at], rotated(lane, (t + 1) * (t + 2) // 2 % 64)
        for y in range(0, 25, 5):
            row = a[y : y + 5]
            for x in range(5):
                a[y + x] = row[x] ^ (~row[(x + 1) % 5] & row[(x + 2) % 5] & LANES)
        a[0] ^= constant
    return a


def keccak(data):
    rate = 136
    padded = bytearray(data) + bytearray(rate - len(data) % rate)
    padded[len(data)] ^= 0x01
    padded[-1] ^= 0x80
    state = [0] * 25
    for start in range(0, len(padded), rate):
        for i in range(rate // 8):
            at = start + 8 * i
            state[i] ^= int.from_bytes(padded[at : at + 8], "little")
        state = keccak_f(state)
    return b"".join(lane.to_bytes(8, "little") for lane in state[:4])


# The sender of a signature on secp256k1 (SEC 1, section 4.1.6).

P = 2**256 - 2**32 - 977
N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
G = (
    0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
    0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8,
)


def doubled(point):
    """Points are (X, Y, Z) with x = X / Z² and y = Y / Z³; the point at infinity has Z = 0."""
    x, y, z = point
    s, m = 4 * x * y * y % P, 3 * x * x % P
    nx = (m * m - 2 * s) % P
    return nx, (m * (s - nx) - 8 * y**4) % P, 2 * y * z % P


def added(one, other):
    if one[2] == 0:
        return other
    if other[2] == 0:
        return one
    z1, z2 = one[2] ** 2 % P, other[2] ** 2 % P
    u1, u2 = one[0] * z2 % P, other[0] * z1 % P
    s1, s2 = one[1] * z2 * other[2] % P, other[1] * z1 * one[2] % P
    if u1 == u2:
        return doubled(one) if s1 == s2 else (1, 1, 0)
    h, r = u2 - u1, s2 - s1
    h2 = h * h % P
    h3, v = h2 * h % P, u1 * h2 % P
    x = (r * r - h3 - 2 * v) % P
    return x, (r * (v - x) - s1 * h3) % P, h * one[2] * other[2] % P


def multiple(scalar, point, add, zero):
    result = zero
    while scalar:
        if scalar & 1:
            result = add(result, point)
        point = add(point, point)
        scalar >>= 1
    return result


def times(scalar, point):
    return multiple(scalar, (point[0], point[1], 1), added, (1, 1, 0))


def recovered_address(digest, parity, r, s):
    if parity > 1 or not 0 < r < N or not 0 < s < N:
        raise Refused("the signature is not valid")
    if s > N // 2:
        raise Refused("the signature has a high s")
    square = (r**3 + 7) % P
    y = pow(square, (P + 1) // 4, P)
    if y * y % P != square:
        raise Refused("the signature is not valid")
    if y % 2 != parity:
        y = P - y
    inverse, z = pow(r, -1, N), int.from_bytes(digest, "big")
    x, y, z = added(times(-z * inverse % N, G), times(s * inverse % N, (r, y)))
    if z == 0:
        raise Refused("the signature is not valid")
    inverse = pow(z, -1, P)
    key = [x * inverse**2 % P, y * inverse**3 % P]
    return keccak(b"".join(part.to_bytes(32, "big") for part in key))[12:]


# RLP: bytes, or lists of items. Every item has one encoding only.


def encode_rlp(item):
    if isinstance(item, bytes):
        if len(item) == 1 and item[0] < 0x80:
            return item
        base, content = 0x80, item
    else:
        base, content = 0xC0, b"".join(encode_rlp(each) for each in item)
    if len(content) <= 55:
        return bytes([base + len(content)]) + content
    size = quantity_bytes(len(content))
    return bytes([base + 55 + len(size)]) + size + content


def decode_rlp(data):
    item, end = item_at(data, 0, 0)
    if end != len(data):
        raise Refused("bytes follow the RLP item")
    return item


def item_at(data, at, depth):
    if at >= len(data):
        raise Refused("the RLP ends early")
    first = data[at]
    if first < 0x80:
        return data[at : at + 1], at + 1
    base = 0x80 if first < 0xC0 else 0xC0
    length, start = first - base, at + 1
    if length > 55:
        start += length - 55
        if start > len(data):
            raise Refused("the RLP ends early")
        length = quantity(data[at + 1 : start], 4)
        if length <= 55:
            raise Refused("an RLP length is too long")
    end = start + length
    if end > len(data):
        raise Refused("the RLP ends early")
    content = data[start:end]
    if base == 0x80:
        if length == 1 and content[0] < 0x80:
            raise Refused("an RLP byte has a prefix")
        return content, end
    if depth == 8:
        raise Refused("the RLP is nested too deep")
    items, at = [], 0
    while at < len(content):
        item, at = item_at(content, at, depth + 1)
        items.append(item)
    return items, end


def quantity_bytes(number):
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def quantity(item, most=32):
    if not isinstance(item, bytes) or len(item) > most or item[:1] == b"\0":
        raise Refused("not a number in RLP")
    return int.from_bytes(item, "big")


def fixed(item, length):
    if not isinstance(item, bytes) or len(item) != length:
        raise Refused(f"not {length} bytes in RLP")
    return item


def list_in(item):
    if not isinstance(item, list):
        raise Refused("not a list in RLP")
    return item


# The block header.


def read_header(data):
    members = list_in(decode_rlp(data))
    if not 15 <= len(members) <= 64 or not all(isinstance(each, bytes) for each in members):
        raise Refused("not a block header")
    lengths = {0: 32, 1: 32, 2: 20, 3: 32, 4: 32, 5: 32, 6: 256, 13: 32, 14: 8}
    for at, length in lengths.items():
        fixed(members[at], length)
    for at in (7, 8, 9, 10, 11):
        quantity(members[at])
    seconds = quantity(members[11])
    if seconds > 253_402_300_799:
        raise Refused("the time of the block is too late")
    time = datetime(1970, 1, 1) + timedelta(seconds=seconds)
    return {
        "hash": keccak(data),
        "transactions_root": members[4],
        "number": str(quantity(members[8])),
        "time": time.isoformat() + ".000Z",
    }


# The transactions trie: the value under the key RLP(index).


def halves(data):
    return [half for byte in data for half in (byte >> 4, byte & 15)]


def value_in_trie(root, index, nodes):
    key, at, used = halves(encode_rlp(quantity_bytes(index))), 0, 0
    link = root
    while True:
        node = link
        if isinstance(link, bytes):
            if used == len(nodes) or keccak(nodes[used]) != fixed(link, 32):
                raise Refused("a trie node does not have the hash that its parent states")
            if used > 0 and len(nodes[used]) < 32:
                raise Refused("a trie node is too short for a hash")
            node = decode_rlp(nodes[used])
            used += 1
        elif len(encode_rlp(link)) >= 32:
            raise Refused("a trie node is too long to be part of its parent")
        if len(list_in(node)) == 17:
            if at == len(key):
                raise Refused("the key ends at a branch")
            link, at = node[key[at]], at + 1
            continue
        if len(node) != 2 or not isinstance(node[0], bytes):
            raise Refused("not a trie node")
        path = halves(node[0])
        if not path or path[0] > 3 or (path[0] % 2 == 0 and path[1] != 0):
            raise Refused("a trie node has a malformed path")
        is_leaf, path = path[0] >= 2, path[2 - path[0] % 2 :]
        if key[at : at + len(path)] != path:
            raise Refused("a trie node has the path of another key")
        at += len(path)
        if not is_leaf:
            if not path:
                raise Refused("a trie node has an empty path")
            link = node[1]
            continue
        value = node[1]
        if at != len(key) or not isinstance(value, bytes) or not value:
            raise Refused("the leaf is not that of the key")
        if used != len(nodes):
            raise Refused("a trie node is not used")
        return value


# The signed transaction: types 0 (EIP-155), 1 (EIP-2930) and 2 (EIP-1559).


def read_transaction(raw):
    if not raw or len(raw) > MAX_TRANSACTION_BYTES:
        raise Refused("the transaction is empty or too long")
    kind = 0 if raw[0] >= 0xC0 else raw[0]
    if raw[0] == 0 or kind > 2:
        raise Refused("the transaction is not of type 0, 1 or 2")
    envelope = raw[:1] if kind else b""
    items = list_in(decode_rlp(raw[len(envelope) :]))
    if len(items) != (9, 11, 12)[kind]:
        raise Refused("the transaction has another number of members than its type")
    to_at = (3, 4, 5)[kind]
    to, value, data = items[to_at : to_at + 3]
    for item in items[:to_at]:
        quantity(item)
    if not isinstance(to, bytes) or not isinstance(data, bytes):
        raise Refused("the recipient or the input is a list")
    signed, parity = items[:-3], quantity(items[-3])
    if kind:
        chain_id = quantity(items[0])
        for entry in list_in(items[to_at + 3]):
            if len(list_in(entry)) != 2:
                raise Refused("an entry of the access list has other members")
            fixed(entry[0], 20)
            for slot in list_in(entry[1]):
                fixed(slot, 32)
    else:
        if parity < 37:
            raise Refused("the transaction is signed for no chain")
        chain_id, parity = divmod(parity - 35, 2)
        signed = signed + [quantity_bytes(chain_id), b"", b""]
    digest = keccak(envelope + encode_rlp(signed))
    r, s = quantity(items[-2]), quantity(items[-1])
    return {
        "chain_id": chain_id,
        "from": recovered_address(digest, parity, r, s),
        "to": fixed(to, 20) if to else None,
        "value": quantity(value),
        "input": data,
    }


# Strict JSON and its canonical form (RFC 8785).


def parse_strict(text, rounded=None):
    """Refuses numbers that become 0, such as 1e-400, unless there is a list `rounded` to add them to."""

    def number(literal):
        value = number_of(literal)
        if value == 0 and decimal_of(literal)[0]:
            if rounded is None:
                raise Refused("a number would become 0 as a double")
            rounded.append(literal)
        return value

    try:
        value = json.loads(
            text,
            object_pairs_hook=object_of,
            parse_int=number,
            parse_float=number,
            parse_constant=refuse_constant,
        )
    except (ValueError, RecursionError) as error:
        raise Refused(f"not JSON: {error}") from None
    require_strict(value)
    return value


def refuse_constant(name):
    raise Refused(f"{name} is not JSON")


def object_of(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise Refused("a member name is used twice")
    if "__proto__" in members:
        raise Refused("a member must not be named __proto__")
    return members


def number_of(literal):
    number = float(literal)
    if number in (float("inf"), float("-inf")):
        raise Refused("a number is beyond the range of a double")
    digits, exponent = decimal_of(literal)
    if exponent >= 0 and (digits, exponent) != decimal_of(repr(number)):
        raise Refused("an integer would change as a double")
    return number


def decimal_of(literal):
    """Significant digits without zeros at either end, and the power of ten that they are multiplied with."""
    mantissa, _, power = literal.lower().partition("e")
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    significant = digits.rstrip("0")
    if not significant:
        return "", 0
    return significant, float(power or 0) - len(fraction) + len(digits) - len(significant)


def require_strict(value):
    level, depth = [value], 0
    while level:
        if any(isinstance(each, (dict, list)) for each in level):
            depth += 1
        if depth > MAX_DEPTH:
            raise Refused(f"nesting goes deeper than {MAX_DEPTH} levels")
        for each in level:
            for name in [each] if isinstance(each, str) else each if isinstance(each, dict) else []:
                require_unicode(name)
        level = [inner for each in level for inner in values_in(each)]


def require_unicode(text):
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused("a string contains a lone surrogate") from None


def values_in(value):
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else []


def canonical(value):
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float):
        return canonical_number(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    names = sorted(value, key=lambda name: name.encode("utf-16-be"))
    return "{" + ",".join(f"{canonical(name)}:{canonical(value[name])}" for name in names) + "}"


def canonical_number(number):
    """As ECMAScript writes it. Python's repr has the same digits."""
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    digits, exponent = decimal_of(repr(abs(number)))
    exponent = int(exponent)
    point = len(digits) + exponent
    if 0 <= exponent and point <= 21:
        return sign + digits + "0" * exponent
    if 0 < point <= 21:
        return sign + digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    fraction = "." + digits[1:] if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{point - 1:+d}"


def hash_json(value):
    return sha256(canonical(value).encode("utf-8"))


def sha256(data):
    return hashlib.sha256(data).digest()


# The members of a bundle. Anything that is not listed here is refused.

HASH = r"0x[0-9a-f]{64}"
ADDRESS = r"0x[0-9a-f]{40}"
BYTES = r"0x(?:[0-9a-f]{2})+"
UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z"
DECIMAL = r"0|[1-9][0-9]{0,77}"


def text(pattern=None):
    return lambda value: isinstance(value, str) and (pattern is None or re.fullmatch(pattern, value))


def instant(value):
    if not text(TIME)(value):
        return False
    try:
        # Python has no year 0; it is a leap year, as 4 is.
        datetime.fromisoformat(re.sub("^0000", "0004", value[:-1]))
    except ValueError:
        return False
    return True


def integer(least):
    return lambda value: (
        isinstance(value, float) and value.is_integer() and least <= value <= MAX_SAFE_INTEGER
    )


def data(most):
    return lambda value: (
        isinstance(value, str) and len(value) <= 2 + 2 * most and re.fullmatch(BYTES, value)
    )


def array(item, least=0, most=None):
    return lambda value: (
        isinstance(value, list)
        and len(value) >= least
        and (most is None or len(value) <= most)
        and all(item(each) for each in value)
    )


def nullable(form):
    return lambda value: value is None or form(value)


def bare(name):
    return name.rstrip("?*")


def is_form(form, value):
    """
    Whether the members that the form lists are there and have their forms. A name with `?` may be absent, and the value
    of a name with `*` may be null.
    """
    if not isinstance(form, dict):
        return bool(form(value))
    return isinstance(value, dict) and all(
        (name.endswith("*") and value[bare(name)] is None) or is_form(part, value[bare(name)])
        if bare(name) in value
        else name.endswith("?")
        for name, part in form.items()
    )


def refuse_others(form, value):
    """Refuses members that the form does not list."""
    names = {bare(name): part for name, part in form.items()}
    for name in value:
        if name not in names:
            raise UnknownMember(f"{name[:40]!r} is not a member of a bundle")
        if isinstance(names[name], dict) and value[name] is not None:
            refuse_others(names[name], value[name])


BUNDLE = {
    "format": text("svc-bundle/2"),
    "chain_id": integer(1),
    "task": {"id": text(UUID), "robot_id": text(UUID), "robot_name": text()},
    "claim": {
        "created_at": text(TIME),
        "description": nullable(text()),
        "expected_result": nullable(lambda value: isinstance(value, dict)),
        "occurred_at": nullable(text()),
        "title": text(),
    },
    "proof?": lambda value: isinstance(value, (dict, list)),
    "proof_hash": text(HASH),
    "inclusion*": {
        "root": text(HASH),
        "leaf_index": integer(0),
        "leaf_count": integer(2),
        "path": array(text(HASH)),
    },
    "anchor": {
        "tx_hash": text(HASH),
        "block_number": text(DECIMAL),
        "block_hash": text(HASH),
        "tx_index": integer(0),
        "from": text(ADDRESS),
        "anchored_at": text(TIME),
        "raw_tx": text(BYTES),
    },
    "chain_proof": {
        "header": data(MAX_HEADER_BYTES),
        "nodes": array(data(MAX_NODE_BYTES), 1, MAX_NODES),
    },
}


FREE_ANCHOR = {
    "inclusion": BUNDLE["inclusion*"],
    "anchor": BUNDLE["anchor"],
    "chain_proof?": BUNDLE["chain_proof"],
}
KEY_TEXT = {
    "text": text(),
    "signature": text(r"0x(?:[0-9a-f]{2}){0,8192}"),
    "anchor*": FREE_ANCHOR,
}
SIGNING = {
    "key": dict(KEY_TEXT, public_key=lambda value: isinstance(value, dict)),
    "revocation*": KEY_TEXT,
    "claim*": {"statement": text(), "anchor*": FREE_ANCHOR},
    "result": {"statement": text()},
}


def read_bundle(content, rounded):
    """The bundle in a file, with `rounded` as in `parse_strict`."""
    try:
        document = parse_strict(content.decode("utf-8"), rounded)
    except UnicodeDecodeError:
        raise Refused("the file is not UTF-8") from None
    if not isinstance(document, dict):
        raise Refused("the file is not a bundle")
    form = dict(BUNDLE)
    is_signed = document.get("format") == "svc-bundle/3"
    is_old = document.get("format") == "svc-bundle/1" or (is_signed and "chain_proof" not in document)
    if is_old:
        del form["chain_proof"]
    if is_old or is_signed:
        form["format"] = text()
    if is_signed:
        form["signing"] = SIGNING
    for name, part in form.items():
        if not is_form({name: part}, document):
            raise Refused(f"{bare(name)} is missing or malformed")
    refuse_others(form, document)
    if is_old:
        raise Refused("the bundle has no chain proof: verify it with a node, or upgrade it")
    if is_signed:
        read_signing(document)
    return document


# The anchor: leaf, tree and calldata.


def hex_bytes(hex_text):
    return bytes.fromhex(hex_text[2:])


def leaf_of(bundle):
    if "free_leaf" in bundle:
        return bundle["free_leaf"]
    task = bundle["task"]
    ids = [bytes.fromhex(task[name].replace("-", "")) for name in ("id", "robot_id")]
    proof_hash, claim_hash = hex_bytes(bundle["proof_hash"]), hash_json(bundle["claim"])
    statement = bundle["signing"]["result"]["statement"] if "signing" in bundle else None
    last = b"" if statement is None else sha256(statement.encode("utf-8"))
    return sha256(b"\0" + proof_hash + ids[0] + ids[1] + claim_hash + last)


def root_from_path(leaf, inclusion):
    """RFC 9162, section 2.1.3.2. None if the path does not have the shape of the tree."""
    index, last = int(inclusion["leaf_index"]), int(inclusion["leaf_count"]) - 1
    if index > last or last >= 2**32 - 1:
        return None
    node = leaf
    for step in map(hex_bytes, inclusion["path"]):
        if last == 0:
            return None
        if index % 2 == 1 or index == last:
            node = sha256(b"\1" + step + node)
            while index % 2 == 0 and index != 0:
                index, last = index >> 1, last >> 1
        else:
            node = sha256(b"\1" + node + step)
        index, last = index >> 1, last >> 1
    return node if last == 0 else None


def check_payload(bundle, payload):
    leaf, inclusion = leaf_of(bundle), bundle["inclusion"]
    if inclusion is None:
        is_single = len(payload) == 70 and payload[:6] == b"RTPA\1\0"
        yield "payload", is_single
        yield "proof_hash", is_single and payload[6:38] == hex_bytes(bundle["proof_hash"])
        yield "leaf", is_single and payload[38:] == leaf
        return
    count = int.from_bytes(payload[38:], "big")
    is_batch = len(payload) == 42 and payload[:6] == b"RTPA\1\1" and count >= 2
    root = payload[6:38]
    yield "payload", is_batch
    yield "leaf_count", is_batch and count == inclusion["leaf_count"]
    yield "root", is_batch and root == hex_bytes(inclusion["root"])
    yield "inclusion_path", is_batch and root == root_from_path(leaf, inclusion)


# Keys of robots and services: JSON Web Keys, and the signatures that they made.

P25519 = 2**255 - 19
D25519 = -121665 * pow(121666, -1, P25519) % P25519
N25519 = 2**252 + 27742317777372353535851937790883648493
P256 = 2**256 - 2**224 + 2**192 + 2**96 - 1
B256 = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
N256 = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
G256 = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
SMALL_ORDER_Y = (
    0,
    1,
    P25519 - 1,
    0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7,
    0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826,
)


def edwards_added(one, other):
    """Points are (X, Y, Z, T) with x = X / Z, y = Y / Z and T = X Y / Z (RFC 8032, section 5.1.4)."""
    a = (one[1] - one[0]) * (other[1] - other[0]) % P25519
    b = (one[1] + one[0]) * (other[1] + other[0]) % P25519
    c, d = 2 * one[3] * other[3] * D25519 % P25519, 2 * one[2] * other[2] % P25519
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P25519, g * h % P25519, f * g % P25519, e * h % P25519


def edwards_times(scalar, point):
    return multiple(scalar, point, edwards_added, (0, 1, 1, 0))


def edwards_point(data):
    """RFC 8032, section 5.1.3."""
    y = int.from_bytes(data, "little") & (2**255 - 1)
    square = (y * y - 1) * pow(D25519 * y * y + 1, -1, P25519) % P25519
    x = pow(square, (P25519 + 3) // 8, P25519)
    if (x * x - square) % P25519:
        x = x * pow(2, (P25519 - 1) // 4, P25519) % P25519
    if (x * x - square) % P25519 or (x == 0 and data[31] & 128):
        raise Refused("the key is not a point of Ed25519")
    if x % 2 != data[31] >> 7:
        x = P25519 - x
    return x, y, 1, x * y % P25519


def edwards_bytes(point):
    inverse = pow(point[2], -1, P25519)
    x, y = point[0] * inverse % P25519, point[1] * inverse % P25519
    return (y | (x & 1) << 255).to_bytes(32, "little")


G25519 = edwards_point((4 * pow(5, -1, P25519) % P25519).to_bytes(32, "little"))


def is_ed25519(key, message, signature):
    """Without the cofactor: the equation of RFC 8032, section 5.1.7, holds as it is."""
    r, s = signature[:32], int.from_bytes(signature[32:], "little")
    if s >= N25519:
        return False
    challenge = int.from_bytes(hashlib.sha512(r + key + message).digest(), "little") % N25519
    x, y, z, t = edwards_times(challenge, edwards_point(key))
    minus = (-x % P25519, y, z, -t % P25519)
    return edwards_bytes(edwards_added(edwards_times(s, G25519), minus)) == r


def nist_added(one, other):
    """Points are (x, y), None at infinity."""
    if one is None or other is None:
        return one or other
    if one[0] == other[0] and (one[1] + other[1]) % P256 == 0:
        return None
    if one == other:
        slope = (3 * one[0] * one[0] - 3) * pow(2 * one[1], -1, P256)
    else:
        slope = (other[1] - one[1]) * pow(other[0] - one[0], -1, P256)
    x = (slope * slope - one[0] - other[0]) % P256
    return x, (slope * (one[0] - x) - one[1]) % P256


def nist_times(scalar, point):
    return multiple(scalar, point, nist_added, None)


def is_es256(key, message, signature):
    """Refuses a high s: of the two signatures that would fit, one is valid."""
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    if not 0 < r < N256 or not 0 < s <= N256 // 2:
        return False
    point = int.from_bytes(key[:32], "big"), int.from_bytes(key[32:], "big")
    inverse = pow(s, -1, N256)
    z = int.from_bytes(sha256(message), "big")
    found = nist_added(nist_times(z * inverse % N256, G256), nist_times(r * inverse % N256, point))
    return found is not None and found[0] % N256 == r


B64_HASH = r"[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]"
EDWARDS_KEY = {"kty": text("OKP"), "crv": text("Ed25519"), "x": text(B64_HASH)}
NIST_KEY = {"kty": text("EC"), "crv": text("P-256"), "x": text(B64_HASH), "y": text(B64_HASH)}


def base64url(data):
    return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")


def base64url_bytes(coded):
    """None for a text that is not the only one for its bytes."""
    if not re.fullmatch(r"[A-Za-z0-9_-]*", coded) or len(coded) % 4 == 1:
        return None
    data = base64.urlsafe_b64decode(coded + "=" * (-len(coded) % 4))
    return data if base64url(data) == coded else None


def read_key(key):
    """The algorithm, and the bytes of the public key."""
    is_edwards = isinstance(key, dict) and key.get("kty") == "OKP"
    require_form(EDWARDS_KEY if is_edwards else NIST_KEY, key, "the key")
    x = base64url_bytes(key["x"])
    if is_edwards:
        y = int.from_bytes(x, "little") & (2**255 - 1)
        if y >= P25519 or y in SMALL_ORDER_Y:
            raise Refused("the key is not a safe point of Ed25519")
        return "Ed25519", x
    data = x + base64url_bytes(key["y"])
    px, py = int.from_bytes(x, "big"), int.from_bytes(data[32:], "big")
    if px >= P256 or py >= P256 or (py * py - px**3 + 3 * px - B256) % P256:
        raise Refused("the key is not a point of P-256")
    return "ES256", data


def thumbprint(key):
    """RFC 7638."""
    return base64url(hash_json(key))


def is_signed(key, jws):
    """Whether the key made the signature of a JWS from `read_jws`."""
    algorithm, data = read_key(key)
    check = {"Ed25519": is_ed25519, "ES256": is_es256}[algorithm]
    if jws["header"]["alg"] != algorithm:
        return False
    try:
        return check(data, jws["signed"].encode("ascii"), jws["signature"])
    except (Refused, ValueError):
        return False


# Statements of robots and promises of services (docs/statements.md).

MAX_JWS = 16384
ORIGIN = r"https?://[!-.0-~]+"
HEADER = {"alg": text("Ed25519|ES256"), "kid": text(B64_HASH), "typ": text()}
CLAIM = {
    "clock_synchronized": lambda value: isinstance(value, bool),
    "content_hash": text(HASH),
    "epoch": text(UUID),
    "number": integer(1),
    "prev": nullable(text(HASH)),
    "robot_id": text(UUID),
    "task_id": text(UUID),
    "time": text(TIME),
    "type": text("claim"),
}
RESULT = dict(
    CLAIM, type=text("result"), proof_hash=text(HASH), outcome=text("succeeded|failed|aborted")
)
PROMISE = {
    "accepted_at": instant,
    "anchored_by": instant,
    "chain_id": integer(1),
    "leaves": array(lambda value: isinstance(value, dict), 1),
    "origin": text(),
}
PROMISED_LEAF = {"created_at": instant, "leaf": text(HASH), "task_id": text(UUID)}
GRANT = r"""This key signs the work of a robot of the svc service at this origin\.
Origin: ({ORIGIN})
Wallet: ({ADDRESS})
Robot: ({UUID})
Key: (Ed25519|ES256) ({B64_HASH})
Previous key: (none|{B64_HASH})
First number: ([1-9][0-9]*)
From this number on, every task of this robot is signed\."""
REVOCATION = r"""This key no longer signs the work of a robot of the svc service at this origin\.
Origin: ({ORIGIN})
Wallet: ({ADDRESS})
Robot: ({UUID})
Key: ({B64_HASH})
Last number: (none|[1-9][0-9]* {HASH})"""


def canonical_part(coded):
    data = base64url_bytes(coded)
    try:
        value = None if data is None else parse_strict(data.decode("utf-8"))
    except UnicodeDecodeError:
        value = None
    if not isinstance(value, dict) or canonical(value).encode("utf-8") != data:
        raise Refused("header and payload must be objects of canonical JSON as base64url")
    return value


def read_jws(typ, jws):
    parts = jws.split(".") if len(jws) <= MAX_JWS else []
    signature = base64url_bytes(parts[2]) if len(parts) == 3 else None
    if signature is None or len(signature) != 64:
        raise Refused("not a JWS in compact form with a signature of 64 bytes")
    header = canonical_part(parts[0])
    require_form(HEADER, header, "the header")
    if header["typ"] != typ:
        raise Refused(f"typ must be {typ}")
    signed = parts[0] + "." + parts[1]
    payload = canonical_part(parts[1])
    return {"header": header, "payload": payload, "signed": signed, "signature": signature}


def read_statement(jws):
    read = read_jws("svc-statement/1", jws)
    form = RESULT if read["payload"].get("type") == "result" else CLAIM
    require_form(form, read["payload"], "the statement")
    return read


def read_promise(jws):
    read = read_jws("svc-promise/1", jws)
    require_form(PROMISE, read["payload"], "the promise")
    for leaf in read["payload"]["leaves"]:
        require_form(PROMISED_LEAF, leaf, "a promised leaf")
    return read


def read_key_text(pattern, lines):
    """The values in a text of the pattern GRANT or REVOCATION."""
    forms = {"ORIGIN": ORIGIN, "ADDRESS": ADDRESS, "UUID": UUID, "B64_HASH": B64_HASH, "HASH": HASH}
    for name, form in forms.items():
        pattern = pattern.replace("{" + name + "}", f"(?:{form})")
    found = re.fullmatch(pattern, lines)
    if found is None:
        raise Refused("the text is not one that puts a key into use or out of use")
    return found.groups()


def kid_of(grant):
    return base64url(sha256(grant.encode("utf-8")))


def faults_of_sequence(first, items):
    """What is wrong with the statements of a key, in the order of their numbers."""
    faults = {"missing": [], "forks": [], "branches": [], "broken": []}
    last, before, number = [], [], first - 1
    for item in items:
        if item["number"] < max(number, first):
            raise Refused("the statements are not in the order of their numbers")
        if item["number"] > number:
            if item["number"] > number + 1:
                faults["missing"].append({"first": number + 1, "last": item["number"] - 1})
            before = last if item["number"] == number + 1 else []
            last, number = [], item["number"]
        if item["signed_hash"] in [each["signed_hash"] for each in last]:
            continue
        if last and not all("epoch" in each for each in last + [item]):
            faults["branches"].append(number)  # One of them is withheld.
        if "epoch" in item:
            if item["epoch"] in [each.get("epoch") for each in last]:
                faults["forks"].append(number)
            elif item["prev"] in [each["prev"] for each in last if "epoch" in each]:
                faults["branches"].append(number)
            known = [each["signed_hash"] for each in before]
            goes_on = item["prev"] is None if number == first else not known or item["prev"] in known
            if not goes_on:
                faults["broken"].append(number)
        last.append(item)
    return faults


# The signatures in a bundle of work that the robot signed (docs/statements.md).


def read_signing(bundle):
    """Key, texts and statements of a signed bundle."""
    signing = bundle["signing"]
    key, revocation = signing["key"], signing["revocation"]
    try:
        origin, wallet, robot, algorithm, thumb, _, first = read_key_text(GRANT, key["text"])
        read = {
            "algorithm": read_key(key["public_key"])[0],
            "grant": {"origin": origin, "wallet": wallet, "robot": robot},
            "granted": (algorithm, thumb),
            "first": int(first),
            "revocation": revocation and read_key_text(REVOCATION, revocation["text"]),
            "claim": signing["claim"] and read_statement(signing["claim"]["statement"]),
            "result": read_statement(signing["result"]["statement"]),
        }
    except UnknownMember as error:
        raise Refused(str(error)) from None
    last = read["revocation"][4] if revocation else "none"
    if max(read["first"], 0 if last == "none" else int(last.split()[0])) > MAX_SAFE_INTEGER:
        raise Refused("a number in a key text is too large")
    return read


def recovered_wallet(lines, signature):
    """The wallet that signed a text with personal_sign (EIP-191); None if only a node can tell."""
    data, message = hex_bytes(signature), lines.encode("utf-8")
    if len(data) != 65 or data[64] not in (0, 1, 27, 28):
        return None
    digest = keccak(b"\x19Ethereum Signed Message:\n" + str(len(message)).encode() + message)
    r, s = int.from_bytes(data[:32], "big"), int.from_bytes(data[32:64], "big")
    address = attempt(recovered_address, digest, data[64] % 27, r, s)
    return address and "0x" + address.hex()


def is_wallet_checked(bundle):
    """Whether the wallet in the key text signed it, and the revocation. If not, a smart contract may have done so."""
    signing, wallet = bundle["signing"], read_signing(bundle)["grant"]["wallet"]
    texts = [each for each in (signing["key"], signing["revocation"]) if each]
    return all(recovered_wallet(each["text"], each["signature"]) == wallet for each in texts)


def signed_hash(statement):
    return "0x" + sha256(statement["signed"].encode("ascii")).hex()


def is_about(bundle, kind, payload):
    claim = {name: bundle["claim"][name] for name in bundle["claim"] if name != "created_at"}
    return (
        payload["type"] == kind
        and payload["robot_id"] == bundle["task"]["robot_id"]
        and payload["task_id"] == bundle["task"]["id"]
        and payload["content_hash"] == "0x" + hash_json(claim).hex()
        and payload.get("proof_hash", bundle["proof_hash"]) == bundle["proof_hash"]
    )


def are_numbered(first, claim, result):
    statements = [each for each in (claim, result) if each]
    numbers = [each["payload"]["number"] for each in statements]
    if not first <= numbers[0] or numbers != sorted(set(numbers)):
        return False
    items = [dict(each["payload"], signed_hash=signed_hash(each)) for each in statements]
    return not faults_of_sequence(first, items)["broken"]


def is_free_anchor(chain_id, kind, content, anchor):
    """Whether the free leaf of a claim (1) or a key text (2) is in the transaction, and this in its stated block."""
    free_leaf = sha256(bytes([0, kind]) + sha256(content.encode("utf-8")))
    leaf = dict(anchor, chain_id=chain_id, free_leaf=free_leaf)
    if "chain_proof" in anchor:
        return all(passed for _, passed in checks_of(leaf, hex_bytes(anchor["anchor"]["block_hash"])))
    inclusion, raw = anchor["inclusion"], hex_bytes(anchor["anchor"]["raw_tx"])
    root, count = hex_bytes(inclusion["root"]), int(inclusion["leaf_count"])
    return (
        keccak(raw) == hex_bytes(anchor["anchor"]["tx_hash"])
        and root_from_path(free_leaf, inclusion) == root
        and b"RTPA\1\1" + root + count.to_bytes(4, "big") in raw
    )


def free_anchors(signing):
    """Name, kind, content and anchor of each free leaf that is anchored."""
    key, claim, revocation = signing["key"], signing["claim"], signing["revocation"]
    every = [
        ("key_anchor", 2, key["text"], key["anchor"]),
    ]
    if claim:
        every.append(("claim_anchor", 1, claim["statement"], claim["anchor"]))
    if revocation:
        every.append(("revocation_anchor", 2, revocation["text"], revocation["anchor"]))
    return [each for each in every if each[3]]


def is_result_valid(bundle, kid):
    """Whether the revocation is that of this key, and the owner stands by the result or it was anchored earlier."""
    read, revocation = read_signing(bundle), bundle["signing"]["revocation"]
    *owner, revoked, last = read["revocation"]
    if owner != list(read["grant"].values()) or revoked != kid:
        return False
    number, _, last_hash = last.partition(" ")
    if number != "none":
        found = read["result"]["payload"]["number"]
        is_last = found == int(number) and signed_hash(read["result"]) == last_hash
        if found < int(number) or is_last:
            return True
    anchor = revocation["anchor"]
    block = int(bundle["anchor"]["block_number"])
    return anchor is not None and block < int(anchor["anchor"]["block_number"])


def signing_checks(bundle, owner=None, robot_key=None):
    """Every check of the signatures in order, as its name and whether it passed."""
    if "signing" not in bundle:
        if owner or robot_key:
            yield "stripped", False
        return
    signing, read = bundle["signing"], read_signing(bundle)
    key, grant = signing["key"]["public_key"], read["grant"]
    thumb, kid = thumbprint(key), kid_of(signing["key"]["text"])
    is_checked = is_wallet_checked(bundle)
    is_granted = read["granted"] == (read["algorithm"], thumb)
    yield "key", is_granted and grant["robot"] == bundle["task"]["robot_id"]
    if is_checked:
        yield "wallet_signature", True
    kinds = [kind for kind in ("claim", "result") if read[kind]]
    yield "kid", all(read[kind]["header"]["kid"] == kid for kind in kinds)
    for kind in kinds:
        yield f"{kind}_signature", is_signed(key, read[kind])
    for kind in kinds:
        yield f"{kind}_statement", is_about(bundle, kind, read[kind]["payload"])
    yield "numbers", are_numbered(read["first"], read["claim"], read["result"])
    for name, kind, content, anchor in free_anchors(signing):
        yield name, is_free_anchor(bundle["chain_id"], kind, content, anchor)
    if signing["revocation"]:
        yield "revocation", is_result_valid(bundle, kid)
    if owner:
        yield "owner", is_checked and grant["wallet"] == owner.lower()
    if robot_key:
        yield "robot_key", thumb == robot_key


# Archives: all statements of a robot (docs/statements.md).

ARCHIVE = {
    "format": text("svc-statements/1"),
    "origin": text(),
    "wallet": text(ADDRESS),
    "robot_id": text(UUID),
}
SIGNED_TEXT = {"text": text(), "signature": KEY_TEXT["signature"]}
ARCHIVE_KEY = dict(SIGNED_TEXT, **{"public_key": lambda value: isinstance(value, dict), "revocation*": SIGNED_TEXT})
ARCHIVE_LINE = {
    "number": integer(1),
    "signed_hash": text(HASH),
    "statement_hash": text(HASH),
    "statement": nullable(text()),
}


def read_archive(lines):
    """The first line, and each key with its lines."""
    require_form(ARCHIVE, lines[0] if lines else None, "the first line")
    keys = []
    for line in lines[1:]:
        is_key = isinstance(line, dict) and "public_key" in line
        require_form(ARCHIVE_KEY if is_key else ARCHIVE_LINE, line, "a line")
        if is_key:
            keys.append((line, []))
        elif keys:
            keys[-1][1].append(line)
        else:
            raise Refused("a statement stands before its key")
    if not keys:
        raise Refused("the archive has no key")
    return lines[0], keys


def read_archived_key(line):
    """The values in the texts of a key. `last`: number and hash of the last good statement; None without revocation."""
    *owner, algorithm, thumb, previous, first = read_key_text(GRANT, line["text"])
    key, kid, last = line["public_key"], kid_of(line["text"]), None
    if (read_key(key)[0], thumbprint(key)) != (algorithm, thumb):
        raise Refused("the key text names another key")
    if line["revocation"]:
        *revoked, last_good = read_key_text(REVOCATION, line["revocation"]["text"])
        if revoked != owner + [kid]:
            raise Refused("the revocation is of another key")
        number, _, last_hash = last_good.partition(" ")
        last = (0, None) if number == "none" else (int(number), last_hash)
    if max(int(first), last[0] if last else 0) > MAX_SAFE_INTEGER:
        raise Refused("a number in a key text is too large")
    texts = [each for each in (line, line["revocation"]) if each]
    is_wallet = all(recovered_wallet(each["text"], each["signature"]) == owner[1] for each in texts)
    return {
        "owner": owner,
        "kid": kid,
        "thumbprint": thumb,
        "previous": None if previous == "none" else previous,
        "first": int(first),
        "last": last,
        "wallet_check": "signed" if is_wallet else "not_checked",
    }


def key_report(key, line, lines, next_first):
    """What the statements of a key show. `next_first`: the first number of the key after it, None for the newest."""
    items, invalid, after, has_last, seen = [], [], 0, False, set()
    outcomes = {"succeeded": 0, "failed": 0, "aborted": 0}
    valid, withheld = 0, 0
    for each in lines:
        number, signed = int(each["number"]), each["signed_hash"]
        if key["last"]:
            has_last = has_last or (number, signed) == key["last"]
        item = {"number": number, "signed_hash": signed}
        read = None
        if each["statement"] is not None:
            read = read_statement(each["statement"])
            payload = read["payload"]
            is_valid = (
                payload["number"] == number
                and signed_hash(read) == signed
                and "0x" + sha256(each["statement"].encode("utf-8")).hex() == each["statement_hash"]
                and payload["robot_id"] == key["owner"][2]
                and read["header"]["kid"] == key["kid"]
                and is_signed(line["public_key"], read)
            )
            if not is_valid:
                invalid.append(number)
                continue
            item = dict(payload, **item)
        items.append(item)
        if (number, signed) in seen:
            continue
        seen.add((number, signed))
        after += bool(key["last"]) and number > key["last"][0]
        withheld += read is None
        valid += read is not None
        if read and read["payload"]["type"] == "result":
            outcomes[read["payload"]["outcome"]] += 1
    faults = faults_of_sequence(key["first"], items)
    last = items[-1]["number"] if items else key["first"] - 1
    expected = next_first - 1 if next_first else (key["last"] or (0, None))[0]
    if last < expected:
        faults["missing"].append({"first": last + 1, "last": expected})
    elif not next_first and key["last"] and key["last"][1] and not has_last:
        invalid.append(key["last"][0])
    return dict(
        faults,
        kid=key["kid"],
        thumbprint=key["thumbprint"],
        wallet_check=key["wallet_check"],
        range={"first": key["first"], "last": last} if items else None,
        withheld=withheld,
        valid=valid,
        outcomes=outcomes,
        invalid=invalid,
        after_revocation=after,
        last_good=key["last"] and key["last"][0],
    )


def archive_report(lines, owner=None, robot_key=None):
    """The report of each key, and why the archive as a whole is refused."""
    head, groups = read_archive(lines)
    keys = [read_archived_key(line) for line, _ in groups]
    following = [each["first"] for each in keys[1:]] + [None]
    reports = [key_report(key, *group, first) for key, group, first in zip(keys, groups, following)]
    faults = []
    if owner and owner.lower() != head["wallet"]:
        faults.append(f"The wallet is {head['wallet']}, expected: {owner}")
    before = None
    for key, report in zip(keys, reports):
        if key["owner"] != [head["origin"], head["wallet"], head["robot_id"]]:
            faults.append(f"The text of key {key['kid']} names another robot, owner or service")
        if key["previous"] != (before and before["kid"]) or (not before and key["first"] != 1):
            faults.append(f"Key {key['kid']} does not follow the key before it")
        if before and before["range"] and before["range"]["last"] >= key["first"]:
            faults.append(f"Key {before['kid']} signed a number of the key after it")
        before = report
    unknown = [each for each in reports if each["wallet_check"] != "signed"]
    if owner and unknown:
        faults.append("It is not shown that the expected wallet signed each key")
    if robot_key:
        if not any(each["thumbprint"] == robot_key and each["valid"] for each in reports):
            faults.append(f"No statement of the archive is by key {robot_key}")
        if any(each["thumbprint"] != robot_key for each in unknown):
            faults.append("It is not shown that the owner of this key signed the other keys")
    return {"keys": reports, "faults": faults}


def archive_code(report):
    """The exit code."""
    found = {name for key in report["keys"] for name, value in key.items() if value}
    codes = [("invalid", 3), ("forks", 12), ("branches", 13), ("missing", 11), ("withheld", 11), ("broken", 3)]
    return 3 if report["faults"] else next((code for name, code in codes if name in found), 0)


def verify_archive(content, owner, robot_key):
    report = archive_report([parse_strict(line) for line in content.splitlines()], owner, robot_key)
    for fault in report["faults"]:
        print(fault)
    for key in report["keys"]:
        if key["range"] is None:
            print(f"Key {key['thumbprint']}: no statement.")
            continue
        first, last = key["range"]["first"], key["range"]["last"]
        named = ("missing", "forks", "branches", "broken", "invalid", "withheld", "after_revocation")
        found = [f"{name}: {key[name]}" for name in named if key[name]] or ["none missing, none forked"]
        counts = ", ".join(f"{count} {outcome}" for outcome, count in key["outcomes"].items())
        print(f"{first} to {last} of key {key['thumbprint']}: {', '.join(found)}, {counts}; ", end="")
        print(f"what came after {last} cannot be shown yet.")
        if key["wallet_check"] != "signed":
            print("Wallet not checked: only a node can tell whether it signed the text of this key.")
    if not owner and not robot_key:
        print("Not pinned: only the archive names the owner. Use --owner or --robot-key.")
    return archive_code(report)


# Promises: the list of a service's accounts (docs/anchoring.md), and what the service signed.

LISTED_ACCOUNT = {
    "chain_id": integer(1),
    "address": text(r"0x[0-9a-fA-F]{40}"),
    "first_block": text(DECIMAL),
    "last_block": nullable(text(DECIMAL)),
    "signature": nullable(text(r"0x[0-9a-f]{130}")),
    "promise_key?": {"kid": text(B64_HASH), "public_key": lambda value: isinstance(value, dict)},
}
LIST_SIGNATURE = {"address": LISTED_ACCOUNT["address"], "signature": text(r"0x[0-9a-f]{130}")}
LIST = {
    "format": text("svc-anchors/1"),
    "origin": text(),
    "sequence": integer(0),
    "accounts": array(lambda value: is_form(LISTED_ACCOUNT, value)),
    "signatures": array(lambda value: is_form(LIST_SIGNATURE, value)),
}


def account_text(origin, account):
    return f"""This account anchors proofs for the svc service at this origin.
Origin: {origin}
Chain: {int(account["chain_id"])}
Account: {account["address"].lower()}
First block: {account["first_block"]}"""


def list_text(accounts):
    def line(each):
        blocks = f"blocks {each['first_block']} to {each['last_block'] or 'now'}"
        key = f", promises signed by {each['promise_key']['kid']}" if "promise_key" in each else ""
        return f"Chain {int(each['chain_id'])}, account {each['address'].lower()}, {blocks}{key}"

    head = f"""These accounts anchor proofs for the svc service at this origin.
Origin: {accounts["origin"]}
Sequence: {int(accounts["sequence"])}"""
    return "\n".join([head] + sorted(map(line, accounts["accounts"])))


def is_in_use(accounts, address):
    """A signature of a list names no chain, so an account that was retired on one chain signs nothing."""
    found = [each for each in accounts["accounts"] if each["address"].lower() == address.lower()]
    return bool(found) and all(each["last_block"] is None for each in found)


def is_list(accounts):
    """Whether every signature and every kid of the list holds, and an account in use has signed it."""
    if not is_form(LIST, accounts):
        return False
    places = {(each["chain_id"], each["address"].lower()) for each in accounts["accounts"]}
    if len(places) < len(accounts["accounts"]):
        return False
    for each in accounts["accounts"]:
        key, signature = each.get("promise_key"), each["signature"]
        if key and (attempt(read_key, key["public_key"]) is None or thumbprint(key["public_key"]) != key["kid"]):
            return False
        signed = account_text(accounts["origin"], each)
        if signature and recovered_wallet(signed, signature) != each["address"].lower():
            return False
    return bool(accounts["signatures"]) and all(
        is_in_use(accounts, each["address"])
        and recovered_wallet(list_text(accounts), each["signature"]) == each["address"].lower()
        for each in accounts["signatures"]
    )


def promise_in(content):
    """The JWS of a promise: as text, as JSON, or as a member of a response."""
    lines = content.decode("utf-8").strip()
    if lines[:1] in ('"', "{"):
        found = parse_strict(lines)
        lines = found if isinstance(found, str) else found.get("promise")
    if not isinstance(lines, str):
        raise Refused("the file is not a promise")
    return read_promise(lines)


def promise_checks(promise, accounts, expected=()):
    """Every check of the promise and the list, as its name and whether it passed."""
    payload, kid = promise["payload"], promise["header"]["kid"]
    yield "list", is_list(accounts)
    if not is_form(LIST, accounts):
        return
    signers = {each["address"].lower() for each in accounts["signatures"]}
    if expected:
        yield "list_signer", bool(signers & {each.lower() for each in expected})
    yield "origin", payload["origin"] == accounts["origin"]
    keys = [
        each["promise_key"]["public_key"]
        for each in accounts["accounts"]
        if each.get("promise_key", {}).get("kid") == kid and each["chain_id"] == payload["chain_id"]
    ]
    yield "promise_key", bool(keys)
    yield "promise_signature", bool(keys) and bool(attempt(is_signed, keys[0], promise))


def is_listed(accounts, bundle):
    """Whether the list has the sender for the block of the anchor."""
    chain, anchor = bundle["chain_id"], bundle["anchor"]
    return any(
        (each["chain_id"], each["address"].lower()) == (chain, anchor["from"])
        and (each["last_block"] is None or int(anchor["block_number"]) <= int(each["last_block"]))
        for each in accounts["accounts"]
    )


def kept_leaves(promise, accounts, anchored):
    """For each promised leaf: kept, kept_late, or not_shown by the bundles. `anchored`: bundles and their block hashes."""
    payload = promise["payload"]
    for promised in payload["leaves"]:
        times = [
            bundle["anchor"]["anchored_at"]
            for bundle, block_hash in anchored
            if leaf_of(bundle) == hex_bytes(promised["leaf"])
            and bundle["chain_id"] == payload["chain_id"]
            and all(passed for _, passed in checks_of(bundle, block_hash))
            and is_listed(accounts, bundle)
        ]
        in_time = [time for time in times if time <= payload["anchored_by"]]
        yield "kept" if in_time else "kept_late" if times else "not_shown"


def verify_promise(promise, accounts, anchored, expected):
    checks = list(promise_checks(promise, accounts, expected))
    for name, passed in checks:
        print(f"{'passed' if passed else 'FAILED'}  {name}")
    if not all(passed for _, passed in checks):
        print("Not verified")
        return 3
    payload = promise["payload"]
    verdicts = list(kept_leaves(promise, accounts, anchored))
    print(f"{payload['origin']} signed that it would anchor this by {payload['anchored_by']}:")
    for promised, verdict in zip(payload["leaves"], verdicts):
        print(f"{verdict.replace('_', ' ').ljust(9)}  task {promised['task_id']}")
    kid = promise["header"]["kid"]
    holders = [each for each in accounts["accounts"] if each.get("promise_key", {}).get("kid") == kid]
    if all(each["last_block"] for each in holders):
        print("The key of this promise is retired.")
    if "kept_late" in verdicts:
        return 14
    if "not_shown" in verdicts:
        print("Not shown: whether the promise is open or broken. Only a node can tell: use svc verify --rpc-url.")
        return 8
    if not expected:
        print("Name an account of the list that you trust with --anchor-address.")
        return 9
    return 0


def signing_sentences(bundle, is_pinned):
    """Who signed the work, and what the signatures do not prove."""
    if "signing" not in bundle:
        yield "Not proven: the identity of the robot (unsigned), the author of the evidence."
        return
    signing, read = bundle["signing"], read_signing(bundle)
    wallet, outcome = read["grant"]["wallet"], read["result"]["payload"]["outcome"]
    robot = bundle["task"]["robot_id"]
    yield f"Signed by key {thumbprint(signing['key']['public_key'])} of robot {robot}, outcome {outcome}."
    if not signing["claim"]:
        yield "The robot did not sign the claim."
    if is_wallet_checked(bundle):
        yield f"The wallet {wallet} put this key into use."
    else:
        yield f"Wallet not checked: only a node can tell whether {wallet} signed the text of this key."
    if not is_pinned:
        yield "Not pinned: only this file states whose key it is."
    blocks = ", ".join(each[3]["anchor"]["block_number"] for each in free_anchors(signing))
    if blocks:
        yield f"Not proven: that the chain has the anchors of key and claim, in block {blocks}."
    yield "Not proven: that the claim came before the work, that the key was not copied or revoked since."


# The files that evidence lists, and parts of them.

CHUNK_BYTES = 2**20
MAX_PART_CHUNKS = 128
MAX_PART_BYTES = (MAX_PART_CHUNKS + 1) * (2 * CHUNK_BYTES + 8)

MANIFEST = {
    "format": text("svc-files/1"),
    "chunk_bytes": lambda value: isinstance(value, float) and value == CHUNK_BYTES,
    "entries": array(lambda value: isinstance(value, dict), 1),
}
ENTRY = {
    "name": text(r"[^/\0]{1,255}"),
    "bytes": integer(0),
    "media_type": text(r"[A-Za-z0-9_!#$&^.+-]{1,127}/[A-Za-z0-9_!#$&^.+-]{1,127}"),
    "sha256": text(HASH),
    "root": text(HASH),
}
PART = {
    "format": text("svc-part/1"),
    "root": text(HASH),
    "first_byte": integer(0),
    "last_byte": integer(0),
    "path": array(text(HASH)),
    "chunks": array(data(CHUNK_BYTES), 1, MAX_PART_CHUNKS),
}


def require_form(form, value, noun):
    if not is_form(form, value):
        raise Refused(f"{noun} is malformed")
    refuse_others(form, value)


def listed_files(bundle):
    """The entries of the manifest in the evidence."""
    proof = bundle.get("proof")
    files = proof.get("files") if isinstance(proof, dict) else None
    version = files.get("format") if isinstance(files, dict) else None
    if not isinstance(version, str) or not version.startswith("svc-files/"):
        raise Refused("the bundle has no evidence that lists files")
    require_form(MANIFEST, files, "the list of files")
    for entry in files["entries"]:
        require_form(ENTRY, entry, "an entry of the list of files")
    return files["entries"]


class ChunkTree:
    """The tree of RFC 9162, section 2.1.1, over leaves that arrive one by one."""

    def __init__(self):
        self.nodes, self.count = [], 0

    def add(self, leaf):
        index, self.count = self.count, self.count + 1
        while index % 2 == 1:
            leaf, index = sha256(b"\1" + self.nodes.pop() + leaf), index // 2
        self.nodes.append(leaf)

    def root(self):
        nodes = list(self.nodes)
        if not nodes:
            return sha256(b"")
        root = nodes.pop()
        while nodes:
            root = sha256(b"\1" + nodes.pop() + root)
        return root


def digest_of(path):
    """What an entry states about the content of a file."""
    whole, tree, size = hashlib.sha256(), ChunkTree(), 0
    with open(path, "rb") as file:
        while True:
            chunk = file.read(CHUNK_BYTES)
            if not chunk:
                break
            whole.update(chunk)
            tree.add(sha256(b"\0" + chunk))
            size += len(chunk)
    return {"bytes": size, "sha256": "0x" + whole.hexdigest(), "root": "0x" + tree.root().hex()}


def compare_files(entries, given):
    """Names and statuses: of each entry, then of the files that are not listed."""
    contents = [{name: entry[name] for name in ("bytes", "sha256", "root")} for entry in entries]
    others = [name for name, digest in given if digest not in contents]
    for entry, content in zip(entries, contents):
        if content in [digest for _, digest in given]:
            yield entry["name"], "matches"
        else:
            yield entry["name"], "differs" if entry["name"] in others else "was not given"
    for name in others:
        if name not in [entry["name"] for entry in entries]:
            yield name, "is not a file that the evidence lists"


def read_part(content):
    try:
        part = parse_strict(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise Refused("the part is not UTF-8") from None
    require_form(PART, part, "the part")
    return part


def file_of_part(part, entries):
    """The entry of the file that has these bytes at this place; None if there is none."""
    chunks = [hex_bytes(chunk) for chunk in part["chunks"]]
    leaves = [sha256(b"\0" + chunk) for chunk in chunks]
    first_byte, last_byte = int(part["first_byte"]), int(part["last_byte"])
    first, last = first_byte // CHUNK_BYTES, last_byte // CHUNK_BYTES
    for entry in entries:
        size = int(entry["bytes"])
        if not first_byte <= last_byte < size or len(chunks) != last - first + 1:
            continue
        sizes = [min(CHUNK_BYTES, size - at * CHUNK_BYTES) for at in range(first, last + 1)]
        if part["root"] != entry["root"] or [len(chunk) for chunk in chunks] != sizes:
            continue
        path = [hex_bytes(each) for each in part["path"]]
        count = -(-size // CHUNK_BYTES)
        if root_of(0, count, first, leaves, path) == hex_bytes(entry["root"]) and not path:
            return entry
    return None


def root_of(start, size, first, leaves, path):
    """The root of `size` leaves at `start`. Takes the subtrees without a given leaf from `path`. None if one is missing."""
    if start + size <= first or start >= first + len(leaves):
        return path.pop(0) if path else None
    if size == 1:
        return leaves[start - first]
    half = 1
    while 2 * half < size:
        half *= 2
    left = root_of(start, half, first, leaves, path)
    right = root_of(start + half, size - half, first, leaves, path)
    return None if left is None or right is None else sha256(b"\1" + left + right)


def file_checks(bundle, files, parts, required):
    """Each check as a text and whether it passed; None if a file was not given and need not be."""
    try:
        entries = listed_files(bundle)
    except Refused as error:
        if files or parts or required:
            yield f"files: {error}", False
        return
    given = [(os.path.basename(path), digest_of(path)) for path in files]
    for name, status in compare_files(entries, given):
        skipped = status == "was not given" and not required
        yield f"file: {name!r} {status}", None if skipped else status == "matches"
    for part in parts:
        entry = file_of_part(part, entries)
        place = f"bytes {int(part['first_byte'])} to {int(part['last_byte'])}"
        yield f"part: {place} of {entry['name']!r}" if entry else f"part: {place}", entry is not None


# The verdict.


def attempt(function, *arguments):
    try:
        return function(*arguments)
    except Refused:
        return None


def checks_of(bundle, block_hash, expected=()):
    """Every check in order, as its name and whether it passed."""
    anchor, proof = bundle["anchor"], bundle["chain_proof"]
    header = attempt(read_header, hex_bytes(proof["header"]))
    yield "header", header is not None and header["hash"] == block_hash
    yield "block_hash", hex_bytes(anchor["block_hash"]) == block_hash
    yield "block_number", header is not None and header["number"] == anchor["block_number"]
    yield "anchored_at", header is not None and header["time"] == anchor["anchored_at"]
    value = header and attempt(
        value_in_trie,
        header["transactions_root"],
        int(anchor["tx_index"]),
        [hex_bytes(node) for node in proof["nodes"]],
    )
    raw = hex_bytes(anchor["raw_tx"])
    yield "transaction_path", value is not None
    yield "transaction_found", value == raw
    yield "raw_tx", keccak(raw) == hex_bytes(anchor["tx_hash"])
    tx = attempt(read_transaction, raw)
    yield "signature", tx is not None
    yield "chain", tx is not None and tx["chain_id"] == bundle["chain_id"]
    is_expected = tx is not None and (not expected or tx["from"] in expected)
    yield "sender", is_expected and tx["from"] == hex_bytes(anchor["from"])
    yield "self_transfer", tx is not None and tx["to"] == tx["from"] and tx["value"] == 0
    yield from check_payload(bundle, tx["input"] if tx else b"")
    if "proof" in bundle:
        yield "evidence", hash_json(bundle["proof"]) == hex_bytes(bundle["proof_hash"])


def read_arguments(arguments):
    """Bundle, block hash and options; None if they are wrong."""
    named, options = [], {"--anchor-address": [], "--file": [], "--part": [], "--require-files": False}
    options.update({"--owner": [], "--robot-key": []})
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--require-files":
            options[word] = True
        elif word in options and rest:
            options[word].append(rest.pop(0))
        else:
            named.append(word)
    is_bundle = len(named) == 2 and re.fullmatch(r"0x[0-9a-fA-F]{64}", named[1])
    hashes = [] if is_bundle else named[3::2]
    if not named or not all(re.fullmatch(r"0x[0-9a-fA-F]{64}", each) for each in hashes):
        return None
    if not is_bundle and len(named) != 1 and len(named) % 2:
        return None
    owner, robot_key = options["--owner"], options["--robot-key"]
    addresses = options["--anchor-address"] + owner
    if not all(re.fullmatch(r"0x[0-9a-fA-F]{40}", each) for each in addresses):
        return None
    if max(len(owner), len(robot_key)) > 1 or not all(re.fullmatch(B64_HASH, each) for each in robot_key):
        return None
    return named, bool(is_bundle), options


def read_file(path, most):
    with open(path, "rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise Refused("the file is too large")
    return content


def verify_other(named, options, owner, robot_key):
    """Verifies an archive, or a promise with its list and bundles."""
    try:
        content = read_file(named[0], MAX_ARCHIVE_BYTES)
        if len(named) == 1:
            return verify_archive(content.decode("utf-8"), owner, robot_key)
        accounts = parse_strict(read_file(named[1], MAX_FILE_BYTES).decode("utf-8"))
        pairs = zip(named[2::2], named[3::2])
        anchored = [(read_bundle(read_file(path, MAX_FILE_BYTES), []), hex_bytes(at)) for path, at in pairs]
        return verify_promise(promise_in(content), accounts, anchored, options["--anchor-address"])
    except (OSError, Refused, UnicodeDecodeError) as error:
        print(f"Cannot verify: {error}", file=sys.stderr)
        return 2


def main(arguments: "list[str]") -> int:
    read = read_arguments(arguments)
    if read is None:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    named, is_bundle, options = read
    owner, robot_key = ((options[name] + [None])[0] for name in ("--owner", "--robot-key"))
    if not is_bundle:
        return verify_other(named, options, owner, robot_key)
    path, block_hash = named
    try:
        rounded = []
        bundle = read_bundle(read_file(path, MAX_FILE_BYTES), rounded)
        parts = [read_part(read_file(part, MAX_PART_BYTES)) for part in options["--part"]]
        required = options["--require-files"]
        about_files = list(file_checks(bundle, options["--file"], parts, required))
    except UnknownMember as error:
        print(f"Not verified: {error}")
        return 3
    except (OSError, Refused) as error:
        print(f"Cannot verify: {error}", file=sys.stderr)
        return 2
    expected = [hex_bytes(address.lower()) for address in options["--anchor-address"]]
    checks = list(checks_of(bundle, hex_bytes(block_hash), expected))
    checks += list(signing_checks(bundle, owner, robot_key)) + about_files
    for name, passed in checks:
        print(f"{ {True: 'passed', None: '-     '}.get(passed, 'FAILED') }  {name}")
    if not all(passed in (True, None) for _, passed in checks):
        print("Not verified")
        return 3
    anchor = bundle["anchor"]
    for sentence in signing_sentences(bundle, owner or robot_key):
        print(sentence)
    if not expected:
        print(f"Anchored by an account you have not named: {anchor['from']}")
        print("Name the account that you expect with --anchor-address.")
        return 9
    print(f"Verified: {bundle['claim']['title']!r}, anchored at {anchor['anchored_at']}")
    print(f"in block {anchor['block_number']} of chain {int(bundle['chain_id'])} by {anchor['from']}.")
    print("evidence: " + ("matches" if "proof" in bundle else "not included"))
    if rounded:
        print(f"note: a number in the file counts as 0: {rounded[0][:40]}")
    print("As final as the block whose hash you gave.")
    return 0


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")
    sys.exit(main(sys.argv[1:]))

"""A check of the structure of an HDF5 file, made before the HDF5 library reads it.

A damaged or forged file can make the library loop forever, open other files (external storage, external links, virtual
datasets, filter plugins) or take any amount of memory. `check_structure` follows every address of the file itself. It
accepts what trajectories and SCISim's meshes need and nothing else: groups of the oldest format and datasets that are
compact, contiguous, or complete in chunks, with the filters shuffle and gzip. All blocks lie inside the file and none
overlap, so that there are no cycles. The layout is that of the "HDF5 File Format Specification", version 3.0:
superblock 0, object headers 1.

Chunks have checksums of their own. For all else that does not change during a run (types, attributes, scene, settings,
world) `check_structure` returns a digest, which the file contains in its attribute `checksum`.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

SIGNATURE = b"\x89HDF\r\n\x1a\n"
UNDEFINED = 2**64 - 1  # an address that is not set
LEVELS = 4  # of groups within groups
TREE_LEVELS = 8  # of a tree of chunks, each of which has 64 children per node
LARGEST_CHUNK = 1 << 20  # bytes before compression: no chunk of a trajectory is larger
CHUNK_CHILDREN = 64  # of a node of a tree of chunks, at most
# Messages of object headers: padding, dataspace, datatype, two kinds of fill value, layout, filters, attribute,
# continuation, symbol table, modification time.
NIL, SPACE, TYPE, OLD_FILL, FILL, LAYOUT = 0x00, 0x01, 0x03, 0x04, 0x05, 0x08
FILTERS, ATTRIBUTE, CONTINUED, TABLE, TIME = 0x0B, 0x0C, 0x10, 0x11, 0x12
KNOWN = {NIL, SPACE, TYPE, OLD_FILL, FILL, LAYOUT, FILTERS, ATTRIBUTE, CONTINUED, TABLE, TIME}
CONSTANT = ("/scene", "/settings", "/world")  # groups and datasets that do not change during a run
VARYING = {b"finished", b"state_hash", b"checksum"}  # attributes that do, or that are not part of the digest
REFUSED = {0x02: "links of a newer format", 0x06: "links of a newer format", 0x07: "external storage"}
INTEGER, FLOAT, TEXT, COMPOUND, ENUMERATION = 0, 1, 3, 6, 8  # classes of datatypes
NUMBERS_AND_TEXT = {INTEGER, FLOAT, TEXT, COMPOUND, ENUMERATION}
TYPE_PROPERTIES = {INTEGER: 4, FLOAT: 12, TEXT: 0}  # bytes behind the first eight of a datatype
COMPACT, CONTIGUOUS, CHUNKED = 0, 1, 2  # classes of layouts
FILTER_CHAINS: tuple[list[int], ...] = ([2, 1], [1], [])  # shuffle and gzip, gzip alone, none

Read = Callable[[int, int], bytes]
Fits = Callable[[Any, Any, Any, Any], bool]  # key, first item, last item, next key


@dataclass(frozen=True)
class Structure:
    """What `check_structure` found."""

    digest: str  # SHA-256 of all that does not change during a run, in hexadecimal
    # Start and stop, in bytes of the file, of what the next checkpoint may overwrite: contiguous datasets of
    # /checkpoint, and chunks that are not full.
    loose: list[tuple[int, int]]
    sizes: dict[str, int]  # bytes of each dataset after decompression, by path


class Damaged(ValueError):
    """The file is damaged, or has parts that are not accepted."""


@dataclass(frozen=True)
class Superblock:
    """What the beginning of the file says: addresses count from `base`, and the file ends at `end`, in bytes."""

    base: int
    end: int
    leaf: int  # symbol table nodes have twice as many entries
    inner: int  # and nodes of trees of groups twice as many children
    root: int  # address of the object header of the root group


def superblock(head: bytes) -> Superblock:
    """Reads a superblock of version 0 with addresses of 8 bytes from its first 96 bytes."""
    if len(head) < 96 or head[:8] != SIGNATURE or head[8] != 0 or head[13:15] != b"\x08\x08":
        raise Damaged("it does not begin as an HDF5 file with a superblock of version 0")
    leaf, inner, _, base, free, end, driver = struct.unpack_from("<HHIQQQQ", head, 16)
    root = struct.unpack_from("<QQ", head, 56)[1]
    if free != UNDEFINED or driver != UNDEFINED:
        raise Damaged("its beginning names a driver or free space")
    return Superblock(base, end, leaf, inner, root)


def check_structure(read: Read, at: int, size: int) -> Structure:
    """Follows all addresses of a file of `size` bytes whose superblock is at byte `at`; raises Damaged.

    `read(at, count)` returns bytes of the file.
    """
    return _Walk(read, at, size).check()


class _Node(NamedTuple):
    depth: int  # 0 for leaves
    keys: NDArray[np.uint8]  # (k + 1, bytes of a key)
    children: NDArray[np.uint64]  # (k,) addresses


class _Walk:
    def __init__(self, read: Read, at: int, size: int) -> None:
        self.top = superblock(read(at, 96))
        if self.top.base != at or not at + 96 <= self.top.end <= size:
            raise Damaged("its beginning gives a wrong size")
        self._read = read
        self.blocks = [(0, at + 96)]  # start and stop of every block, in bytes of the file
        self.chunks: list[NDArray[np.int64]] = []  # (k, 2) the same of chunks
        self.loose: list[tuple[int, int]] = []
        self.constant: list[bytes] = []
        self.sizes: dict[str, int] = {}

    def check(self) -> Structure:
        self._object(self.top.root, "", 0)
        spans = np.concatenate([np.array(self.blocks, dtype=np.int64), *self.chunks])
        spans = spans[np.argsort(spans[:, 0], kind="stable")]
        if (spans[1:, 0] < spans[:-1, 1]).any():
            raise Damaged("two of its blocks overlap")
        digest = hashlib.sha256(b"\0".join(sorted(self.constant))).hexdigest()
        return Structure(digest, self.loose, self.sizes)

    def block(self, address: int, count: int, what: str) -> bytes:
        """The bytes of a block that belongs to `what` alone."""
        return self._read(self.span(address, count, what)[0], count)

    def span(self, address: int, count: int, what: str) -> tuple[int, int]:
        """Start and stop of a block in bytes of the file."""
        start = address + self.top.base
        if not 0 <= count <= self.top.end or not start + count <= self.top.end:
            raise Damaged(f"{what} lies outside of the file")
        self.blocks.append((start, start + count))
        if len(self.blocks) > self.top.end // 8:  # each block has more bytes than that
            raise Damaged("it refers to the same blocks again and again")
        return start, start + count

    # ---- objects

    def _object(self, address: int, path: str, level: int) -> None:
        messages = self._messages(address, path or "/")
        if TABLE in messages:
            if LAYOUT in messages or level == LEVELS:
                raise Damaged(f"{path or '/'} is no group, or nested too deeply")
            self._group(messages[TABLE], path, level)
        elif LAYOUT in messages and path:
            self._dataset(messages, path)
        else:
            raise Damaged(f"{path or '/'} is neither a group nor a dataset")

    def _messages(self, address: int, path: str) -> dict[int, bytes]:
        """The messages of an object header of version 1, by type."""
        version, _, count, _, size = struct.unpack("<BBHII", self.block(address, 16, f"the header of {path}")[:12])
        if version != 1:
            raise Damaged(f"the header of {path} has an unknown version")
        found: dict[int, bytes] = {}
        waiting, seen = [self.block(address + 16, size, f"the header of {path}")], 0
        while waiting:
            data, at = waiting.pop(), 0
            while at + 8 <= len(data):
                kind, length, flags = struct.unpack_from("<HHB", data, at)
                body = data[at + 8 : at + 8 + length]
                at, seen = at + 8 + length, seen + 1
                if kind not in KNOWN or flags & 2 or len(body) < length:
                    raise Damaged(f"{path} has {REFUSED.get(kind, 'content that is not accepted here')}")
                if kind == CONTINUED:
                    where, more = struct.unpack_from("<QQ", body.ljust(16, b"\xff"))
                    waiting.append(self.block(where, more, f"the header of {path}"))
                elif kind == ATTRIBUTE:
                    self._attribute(body, path)
                elif kind in found and kind != NIL:
                    raise Damaged(f"the header of {path} is damaged")
                found[kind] = body
        if seen != count:
            raise Damaged(f"the header of {path} is incomplete")
        return found

    def _attribute(self, body: bytes, path: str) -> None:
        """An attribute of version 1 to 3 holds numbers or text of fixed length: others are read from elsewhere."""
        version, flags, name, kind, space = struct.unpack("<BBHHH", _exactly(body, 8, path))
        at, unit = {1: (8, 8), 2: (8, 1), 3: (9, 1)}.get(version, (0, 1))
        start = at + -(-name // unit) * unit
        kinds = body[start : start + kind]
        if not at or flags & 3 * (version > 1) or _item_size(kinds, path) < 0 or kinds[0] & 15 == COMPOUND:
            raise Damaged(f"an attribute of {path} is damaged")
        if body[at : at + name].rstrip(b"\0") not in VARYING or path != "/":
            self.constant.append(path.encode() + body)
        start += -(-kind // unit) * unit
        shape = _shape(body[start : start + space], path)
        if math.prod(shape) * _item_size(kinds, path) > len(body):
            raise Damaged(f"an attribute of {path} is damaged")

    # ---- groups

    def _group(self, table: bytes, path: str, level: int) -> None:
        tree, heap = struct.unpack("<QQ", _exactly(table, 16, path))
        names = self._heap(heap, path)
        for name, address in self._entries(tree, names, path).items():
            self._object(address, f"{path}/{name.decode('utf-8', 'replace')}", level + 1)

    def _heap(self, address: int, path: str) -> bytes:
        """The data of a local heap, which holds the names of a group."""
        head = self.block(address, 32, f"the names of {path or '/'}")
        size, free, data = struct.unpack("<QQQ", head[8:])
        if head[:8] != b"HEAP\0\0\0\0":
            raise Damaged(f"the names of {path or '/'} are damaged")
        names = self.block(data, size, f"the names of {path or '/'}")
        before = -1
        while free not in (1, UNDEFINED):  # the list of free parts, which ends with 1
            if not before < free <= size - 16:  # ascending, so that it ends
                raise Damaged(f"the names of {path or '/'} are damaged")
            before, free = free, struct.unpack_from("<Q", names, free)[0]
        return names

    def _entries(self, address: int, names: bytes, path: str) -> dict[bytes, int]:
        """Names of the members of a group, in their order, and the addresses of their headers."""
        children = 2 * self.top.inner
        levels = self._tree(address, 0, children, 8, path)
        found: dict[bytes, int] = {}
        spans = []
        for child in (int(c) for node in levels[-1] for c in node.children):
            body = self.block(child, 8 + 80 * self.top.leaf, f"the entries of {path or '/'}")
            count = struct.unpack_from("<H", body, 6)[0]
            if body[:5] != b"SNOD\x01" or not 0 < count <= 2 * self.top.leaf:
                raise Damaged(f"the entries of {path or '/'} are damaged")
            own = []
            for at in range(8, 8 + 40 * count, 40):
                name_at, header, cache = struct.unpack_from("<QQI", body, at)
                name = _text_at(names, name_at)
                if not name or b"/" in name or (found and name <= next(reversed(found))):
                    raise Damaged(f"a name in {path or '/'} is damaged")
                if cache > 1 or header == UNDEFINED:
                    raise Damaged(f"{path}/{name.decode('utf-8', 'replace')} is a link")
                found[name] = header
                own.append(name)
            spans.append((own[0], own[-1]))
        keys = [[[_text_at(names, int(k)) for k in node.keys.view("<u8")[:, 0]] for node in level] for level in levels]
        _check_search(levels, keys, spans, lambda low, first, last, high: low < first and last <= high, path)
        return found

    # ---- trees

    def _tree(self, address: int, kind: int, most: int, key: int, path: str) -> list[list[_Node]]:
        """The levels of a tree of version 1, the root first, each from left to right.

        Nodes of a level must be linked to their neighbors, because the library walks along these links.
        """
        size = 24 + (most + 1) * key + most * 8
        addresses: list[int] = [address]
        levels: list[list[_Node]] = []
        while True:
            level: list[_Node] = []
            for i, place in enumerate(addresses):
                node = self.block(place, size, f"the tree of {path or '/'}")
                what, depth, used, left, right = struct.unpack_from("<BBHQQ", node, 4)
                around = (addresses[i - 1] if i else UNDEFINED, [*addresses[i + 1 : i + 2], UNDEFINED][0])
                good = node[:4] == b"TREE" and what == kind and (left, right) == around and used <= most
                good = good and (depth == levels[-1][0].depth - 1 if levels else depth <= TREE_LEVELS)
                good = good and (not level or depth == level[0].depth)
                # A group without members has one node without entries.
                if not good or (used == 0 and (kind or levels or depth)):
                    raise Damaged(f"the tree of {path or '/'} is damaged")
                pairs = np.frombuffer(node, np.uint8, used * (key + 8), 24).reshape(used, key + 8)
                last = np.frombuffer(node, np.uint8, key, 24 + used * (key + 8))
                keys = np.concatenate([pairs[:, :key], last[None]])
                level.append(_Node(depth, keys, np.ascontiguousarray(pairs[:, key:]).view("<u8")[:, 0]))
            levels.append(level)
            if depth == 0:
                return levels
            addresses = [int(child) for node in level for child in node.children]

    # ---- datasets

    def _dataset(self, messages: dict[int, bytes], path: str) -> None:
        if SPACE not in messages or TYPE not in messages:
            raise Damaged(f"{path} has no shape or no type")
        shape, item = _shape(messages[SPACE], path), _item_size(messages[TYPE], path)
        layout = messages[LAYOUT]
        nbytes = self.sizes[path] = math.prod(shape) * item
        parts = [messages.get(k, b"") for k in (TYPE, OLD_FILL, FILL, FILTERS)]
        if path.startswith(CONSTANT):
            parts.append(repr(shape).encode())
        kind = layout[1] if len(layout) > 3 and layout[0] == 3 else -1
        if kind == COMPACT:
            good = struct.unpack_from("<H", layout, 2)[0] == nbytes <= len(layout) - 4
            parts.append(layout)
        elif kind == CONTIGUOUS:
            address, stored = struct.unpack_from("<QQ", layout.ljust(18, b"\0"), 2)
            good = stored == nbytes
            if good and nbytes:
                start, stop = self.span(address, nbytes, path)
                if path.startswith(CONSTANT):
                    parts.append(self._read(start, nbytes))
                else:
                    self.loose.append((start, stop))
        else:
            good = kind == CHUNKED
            if good:
                self._chunked(layout, shape, item, messages.get(FILTERS), path)
        if not good:
            raise Damaged(f"{path} is not stored in this file, or in an unknown way")
        self.constant.append(b"\0".join([path.encode(), *parts]))

    def _chunked(self, layout: bytes, shape: tuple[int, ...], item: int, filters: bytes | None, path: str) -> None:
        rank = len(shape)
        if len(layout) < 11 + 4 * (rank + 1) or layout[2] != rank + 1:
            raise Damaged(f"the chunks of {path} are damaged")
        address = struct.unpack_from("<Q", layout, 3)[0]
        *chunk, last = struct.unpack_from(f"<{rank + 1}I", layout, 11)
        if last != item or not all(chunk) or not math.prod(chunk) * item <= LARGEST_CHUNK:
            raise Damaged(f"the chunks of {path} are damaged")
        if _filters(filters, path) not in FILTER_CHAINS:  # other filters may be plugins, which are programs
            raise Damaged(f"{path} has filters other than shuffle and gzip")
        counts = [-(-n // c) for n, c in zip(shape, chunk)]
        total = math.prod(counts)
        if address == UNDEFINED and total == 0:
            return
        self._check_chunks(address, (shape, chunk, counts, item), total, path)

    def _check_chunks(
        self, address: int, sizes: tuple[tuple[int, ...], list[int], list[int], int], total: int, path: str
    ) -> None:
        """All chunks are there, in order, and none is much longer than what it holds."""
        shape, chunk, counts, item = sizes
        rank = len(shape)
        key = 8 + 8 * (rank + 1)
        levels = self._tree(address, 1, CHUNK_CHILDREN, key, path) if total else [[]]
        keys = np.concatenate([node.keys[:-1] for node in levels[-1]] or [np.zeros((0, key), np.uint8)])
        places = np.concatenate([node.children for node in levels[-1]] or [np.zeros(0, np.uint64)])
        if len(keys) != total:
            raise Damaged(f"{path} has {len(keys)} chunks, and should have {total}")
        head, offset = keys[:, :8].copy().view("<u4"), keys[:, 8:].copy().view("<u8")
        expected = np.stack(np.unravel_index(np.arange(total), counts), axis=1) if total else np.zeros((0, rank))
        longest = math.prod(chunk) * item * 9 // 8 + 1024
        good = (offset[:, :rank] == expected * np.array(chunk)).all() and not offset[:, rank].any()
        if not good or head[:, 1].any() or (head[:, 0] > longest).any():
            raise Damaged(f"the chunks of {path} are damaged")
        _check_search(
            levels,
            [[list(map(tuple, n.keys[:, 8:].copy().view("<u8").tolist())) for n in level] for level in levels],
            [(place, place) for place in map(tuple, offset.tolist())],
            lambda low, first, last, high: low <= first and last < high,
            path,
        )
        if (places > self.top.end).any() or ((places + head[:, 0]) + self.top.base > self.top.end).any():
            raise Damaged(f"a chunk of {path} lies outside of the file")
        start = places.astype(np.int64) + self.top.base
        spans = np.stack([start, start + head[:, 0]], axis=1)
        self.chunks.append(spans)
        if shape and shape[0] % chunk[0]:
            for k in np.flatnonzero(expected[:, 0] == counts[0] - 1).tolist():
                self.loose.append((int(spans[k, 0]), int(spans[k, 1])))


def _check_search(
    levels: list[list[_Node]], keys: list[list[list[Any]]], spans: list[tuple[Any, Any]], fits: Fits, path: str
) -> None:
    """Checks that a search by the keys of a tree finds every item; `spans` are first and last item of each leaf."""
    for nodes, node_keys in zip(reversed(levels), reversed(keys)):
        above, at = [], 0
        for node, key in zip(nodes, node_keys):
            own = spans[at : at + len(node.children)]
            at += len(own)
            if not all(fits(key[i], first, last, key[i + 1]) for i, (first, last) in enumerate(own)):
                raise Damaged(f"the tree of {path or '/'} is damaged")
            above += [(own[0][0], own[-1][1])] if own else []
        spans = above


def _text_at(names: bytes, at: int) -> bytes:
    """The text that begins at byte `at` of a heap; empty if there is none."""
    stop = names.find(b"\0", at) if at < len(names) else -1
    return names[at:stop] if stop > at else b""


def _exactly(body: bytes, count: int, path: str) -> bytes:
    if len(body) < count:
        raise Damaged(f"the header of {path or '/'} is incomplete")
    return body[:count]


def _shape(space: bytes, path: str) -> tuple[int, ...]:
    """The shape in a dataspace message of version 1 or 2; dimensions without an upper limit are fine."""
    version, rank = _exactly(space, 4, path)[:2]
    at = {1: 8, 2: 4}.get(version, 0)
    if not at or rank > 8 or (version == 2 and space[3] == 2):
        raise Damaged(f"the shape of {path} is damaged")
    return struct.unpack(f"<{rank}Q", _exactly(space, at + 8 * rank, path)[at:])


def _item_size(kind: bytes, path: str) -> int:
    """Bytes of a value of a datatype, all parts of which must be numbers and text of fixed length."""
    if _type_end(kind, 0, path) > len(kind):
        raise Damaged(f"the type of {path} is incomplete")
    return _type_size(kind, 0, path)


def _type_size(kind: bytes, at: int, path: str) -> int:
    size = struct.unpack_from("<I", _exactly(kind[at : at + 8], 8, path), 4)[0]
    if kind[at] & 15 not in NUMBERS_AND_TEXT or not size:
        raise Damaged(f"{path} holds neither numbers nor text")
    return int(size)


def _type_end(kind: bytes, at: int, path: str, level: int = 0) -> int:
    """The end of the datatype that begins at byte `at`, after a check of the members of compound types.

    A member of variable length, or a reference, would be read from a place that no block of the structure names.
    """
    size, version, what = _type_size(kind, at, path), kind[at] >> 4, kind[at] & 15
    members = struct.unpack_from("<H", kind, at + 1)[0]
    at += 8
    if what in TYPE_PROPERTIES:
        return at + TYPE_PROPERTIES[what]
    if not 1 <= version <= 3 or level == LEVELS:
        raise Damaged(f"the type of {path} has an unknown version, or is nested too deeply")
    if what == ENUMERATION:
        if kind[at : at + 1] and kind[at] & 15 != INTEGER:
            raise Damaged(f"{path} holds neither numbers nor text")
        at = _type_end(kind, at, path, level + 1)
        for _ in range(members):
            at = _name_end(kind, at, version, path)
        return at + members * size
    for _ in range(members):
        at = _name_end(kind, at, version, path)
        width = 4 if version < 3 else max(1, -(-size.bit_length() // 8))
        offset = int.from_bytes(_exactly(kind[at : at + width], width, path), "little")
        at += width
        if version == 1:  # number of dimensions, which must be 0, and what belongs to them
            if kind[at : at + 1] != b"\0":
                raise Damaged(f"{path} holds neither numbers nor text")
            at += 28
        if offset + _type_size(kind, at, path) > size:
            raise Damaged(f"the type of {path} is damaged")
        at = _type_end(kind, at, path, level + 1)
    return at


def _name_end(kind: bytes, at: int, version: int, path: str) -> int:
    """The end of a name in a datatype, which is padded to a multiple of 8 bytes before version 3."""
    stop = kind.find(b"\0", at)
    if stop < 0:
        raise Damaged(f"the type of {path} is incomplete")
    return stop + 1 if version == 3 else at + -(-(stop + 1 - at) // 8) * 8


def _filters(body: bytes | None, path: str) -> list[int]:
    """Numbers of the filters in a message of version 1."""
    found: list[int] = []
    if body is None or len(body) < 8 or body[0] != 1:
        return found
    at = 8
    for _ in range(body[1]):
        number, name, _, values = struct.unpack("<HHHH", _exactly(body[at:], 8, path))
        found.append(number)
        at += 8 + -(-name // 8) * 8 + 4 * (values + values % 2)
    return found

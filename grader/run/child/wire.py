"""The wire between grader and child: a message is JSON followed by the raw bytes of its arrays.

Nothing is ever unpickled, and what comes in is checked before it is used: sizes, depth, dtypes and shapes. A
value that is not plain data crosses as the name of its type.
"""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from dspark_mini.bias_rows import BiasRows
from grader.run.child.lookalikes import lookalike, plain_type

HEADER = struct.Struct("<II")  # bytes of JSON, bytes of arrays
MAX_JSON, MAX_ARRAYS, MAX_DEPTH, MAX_ITEMS = 16 << 20, 64 << 20, 12, 1 << 20
MAX_REPLY = 4 << 20, 16 << 20  # the same two sizes for what comes from a learner's code; right answers take far less
MAX_TEXT = 2 << 20
MAX_NAME = 80  # characters of a type's name
DTYPES = frozenset("?bhilqBHILQefd")
SCALARS = (bool, int, float, str, type(None))


class WireError(Exception):
    """A message that breaks the rules of the wire, or an end of file in the middle of one."""


@dataclass(frozen=True)
class Opaque:
    """Stands for a value that is not plain data; it equals nothing that a check expects."""

    type_name: str

    def __repr__(self) -> str:
        return f"<{self.type_name}>"


@dataclass(frozen=True)
class Seed:
    """Stands in a call for a numpy.random.Generator, which is made from the seed just before the call.

    Attributes:
        value: The seed.
        uniforms: What the generator's first uniform numbers are, such as 0.0, which no seed gives in practice.
    """

    value: int
    uniforms: tuple[float, ...] = ()

    def random(self) -> float:
        """Let a contract take a seed for the generator that it stands for."""
        raise TypeError("A seed is not a generator yet.")


@dataclass(frozen=True)
class Encoded:
    """A value as it crosses the wire: a tree for JSON, and the bytes of its arrays in their order."""

    tree: Any
    arrays: list[bytes]
    type_name: str

    def decoded(self) -> Any:
        """Return what the other side would receive: plain data as a copy, anything else as its type's name."""
        size = len(json.dumps(self.tree)), sum(map(len, self.arrays))
        if size[0] > MAX_REPLY[0] or size[1] > MAX_REPLY[1]:
            return Opaque(self.type_name)
        return _Decoder(b"".join(self.arrays)).value(self.tree, 0)


def encoded(value: Any) -> Encoded:
    """Encode a value, whatever it is."""
    arrays: list[bytes] = []
    name = type(value).__name__[:MAX_NAME]
    try:
        return Encoded(_encode(value, arrays, 1), arrays, name)  # in a reply it stands one level down
    except (ValueError, TypeError, OverflowError, RecursionError):
        return Encoded({"o": name}, [], name)


def packed(message: Any, limits: tuple[int, int] | None = None) -> bytes:
    """Write a message down.

    Args:
        message: Plain data: scalars, strings, lists, tuples, dicts, NumPy scalars and arrays.
        limits: The most bytes of JSON and of arrays; by default MAX_JSON and MAX_ARRAYS.

    Raises:
        WireError: The message is larger than that.
    """
    max_json, max_arrays = limits or (MAX_JSON, MAX_ARRAYS)
    arrays: list[bytes] = []
    text = json.dumps(_encode(message, arrays, 0)).encode()
    buffers = b"".join(arrays)
    if len(text) > max_json or len(buffers) > max_arrays:
        raise WireError("The message is too large.")
    return HEADER.pack(len(text), len(buffers)) + text + buffers


def send(stream: BinaryIO, message: Any, limits: tuple[int, int] | None = None) -> None:
    """Write one message to a stream, all of it or, where packed() refuses it, nothing."""
    stream.write(packed(message, limits))
    stream.flush()


def unpack(data: bytes | bytearray, limits: tuple[int, int] | None = None) -> tuple[Any, int] | None:
    """Take one message from the front of data.

    Args:
        data: the bytes that have come so far.
        limits: the most bytes of JSON and of arrays; without them MAX_JSON and MAX_ARRAYS.

    Returns:
        The message and the number of bytes it took, or None while it is incomplete.

    Raises:
        WireError: the bytes are not a message, or a larger one than is allowed.
    """
    if len(data) < HEADER.size:
        return None
    json_size, array_size = HEADER.unpack_from(data)
    max_json, max_arrays = limits or (MAX_JSON, MAX_ARRAYS)
    if json_size > max_json or array_size > max_arrays:
        raise WireError("The message is too large.")
    end = HEADER.size + json_size + array_size
    if len(data) < end:
        return None
    try:
        tree = json.loads(data[HEADER.size : HEADER.size + json_size])
        return _Decoder(data[HEADER.size + json_size : end]).value(tree, 0), end
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError, MemoryError) as error:
        raise WireError("The message is damaged.") from error


def receive(stream: BinaryIO) -> Any:
    """Read one message, waiting for it."""
    head = _exactly(stream, HEADER.size)
    message = unpack(head + _exactly(stream, sum(HEADER.unpack(head))))
    assert message is not None
    return message[0]


def _exactly(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if data is None or len(data) < size:
        raise WireError("The other side has closed the connection.")
    return data


def _encode(value: Any, arrays: list[bytes], depth: int) -> Any:
    """Turn a value into JSON: scalars as they are, everything else as {tag: content}."""
    kind = type(value)
    if depth > MAX_DEPTH:
        return {"o": "structure nested too deeply"}
    if kind is int and value.bit_length() > 64:
        return {"o": "int of more than 64 bits"}
    if kind is str and len(value) > MAX_TEXT:
        return {"o": f"str of more than {MAX_TEXT} characters"}
    if kind in SCALARS:
        return value
    if kind in (list, tuple):
        return {"l" if kind is list else "t": [_encode(item, arrays, depth + 1) for item in value]}
    if kind is Encoded:
        arrays += value.arrays
        return value.tree
    if kind is Opaque:
        return {"o": value.type_name}
    if kind is Seed:
        return {"g": [value.value, *value.uniforms]}
    if kind is BiasRows:
        return {"b": [value.name, value.vocabulary, _encode(dict(value.rows), arrays, depth + 1)]}
    if kind is dict:
        keys = [_encode(key, arrays, 0) for key in value]
        if any(type(key) is dict and "n" not in key for key in keys):
            return {"o": "dict with non-scalar keys"}
        return {"d": [[k, _encode(v, arrays, depth + 1)] for k, v in zip(keys, value.values())]}
    if kind is np.ndarray and value.dtype.char in DTYPES and value.size <= MAX_ITEMS:
        arrays.append(np.ascontiguousarray(value).astype(value.dtype.newbyteorder("<"), copy=False).tobytes())
        return {"a": [value.dtype.char, list(value.shape)]}
    if _is_scalar(value):
        return {"n": [value.dtype.char, value.item()]}
    if (plain := plain_type(kind)) and (plain is float or len(value) <= MAX_ITEMS):
        return {"w": [kind.__name__, _encode(plain(value), arrays, depth)]}
    return {"o": kind.__name__[:MAX_NAME]}


def _is_scalar(value: Any) -> bool:
    """Tell whether a value is a NumPy number of a kind that may cross."""
    return isinstance(value, np.generic) and type(value).__module__ == "numpy" and value.dtype.char in DTYPES


class _Decoder:
    """Turns JSON back into values, counting what it makes."""

    def __init__(self, buffers: bytes | bytearray) -> None:
        self.buffers, self.offset, self.items = buffers, 0, 0

    def value(self, tree: Any, depth: int) -> Any:
        self.items += 1
        if depth > MAX_DEPTH + 1 or self.items > MAX_ITEMS:
            raise ValueError("too deep or too many")
        if type(tree) in SCALARS:
            if type(tree) is int and tree.bit_length() > 64:
                raise ValueError("an int of more than 64 bits")
            return tree
        ((tag, content),) = tree.items()
        if tag in ("l", "t"):
            items = [self.value(item, depth + 1) for item in content]
            return items if tag == "l" else tuple(items)
        if tag == "d":
            return {self._key(k, depth): self.value(v, depth + 1) for k, v in content}
        if tag == "b":
            rows = self.value(content[2], depth + 1)
            if type(rows) is not dict:
                raise ValueError("bias rows are a dict")
            return BiasRows(str(content[0]), rows, int(content[1]))
        if tag == "g":
            return Seed(int(content[0]), tuple(map(float, content[1:])))
        if tag == "a":
            return self._array(*content)
        if tag == "w":
            plain = self.value(content[1], depth)
            return plain if type(plain) is Opaque else lookalike(content[0], plain)
        if tag == "n":
            if type(content[1]) not in (bool, int, float):
                raise ValueError("a NumPy scalar is made of one number")
            with np.errstate(all="ignore"):
                return np.dtype(_dtype(content[0])).type(content[1])
        if tag != "o" or type(content) is not str:
            raise ValueError("unknown tag")
        return Opaque(printable(content, MAX_NAME))

    def _key(self, tree: Any, depth: int) -> Any:
        key = self.value(tree, depth + 1)
        if not isinstance(key, (*SCALARS, np.generic)):
            raise ValueError("a key must be a scalar")
        return key

    def _array(self, char: str, shape: list[int]) -> np.ndarray[Any, Any]:
        dtype = np.dtype(_dtype(char)).newbyteorder("<")
        if len(shape) > 8 or any(type(n) is not int or n < 0 for n in shape):
            raise ValueError("a shape must be a few sizes")
        if math.prod(max(n, 1) for n in shape) > MAX_ITEMS:  # also of an empty array, which may have a million rows
            raise ValueError("an array is too large")
        size = math.prod(shape) * dtype.itemsize
        data = self.buffers[self.offset : self.offset + size]
        if len(data) != size:
            raise ValueError("an array is cut short")
        self.offset += size
        array = np.frombuffer(data, dtype if char != "?" else np.uint8).reshape(shape)
        return array.astype(dtype.newbyteorder("="))  # a copy; any byte but 0 becomes a proper True


def printable(text: str, most: int) -> str:
    """Cut a text of unknown origin and replace what no terminal, file or page should get: controls, lone surrogates."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in text[:most])


def _dtype(char: str) -> str:
    if char not in DTYPES:
        raise ValueError("unknown dtype")
    return char

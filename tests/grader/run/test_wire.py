"""The wire between grader and child: what crosses it unchanged, and what never gets through."""

import io
import json
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from dspark_mini.bias_rows import BiasRows
from grader.run.child import wire
from grader.run.child.calling import Seed
from grader.run.child.wire import DTYPES, HEADER, MAX_DEPTH, MAX_ITEMS, Opaque, WireError, packed, receive, send, unpack

MANY = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
CHARS = sorted(DTYPES)
INF = float("inf")

scalars = st.one_of(st.none(), st.booleans(), st.integers(-(2**64) + 1, 2**64 - 1), st.floats(), st.text(max_size=8))
dtypes = st.sampled_from([np.dtype(char).newbyteorder(order) for char in CHARS for order in "<>"])
arrays = dtypes.flatmap(lambda dtype: npst.arrays(dtype, npst.array_shapes(min_dims=0, max_dims=3, min_side=0)))
numpy_scalars = st.sampled_from(CHARS).flatmap(
    lambda char: npst.from_dtype(np.dtype(char)).map(lambda value: np.dtype(char).type(value))
)
scalars_of_all_kinds = st.one_of(scalars, numpy_scalars)
plain = st.recursive(
    st.one_of(scalars_of_all_kinds, arrays),
    lambda inner: st.one_of(
        *(st.lists(inner, max_size=4), st.lists(inner, max_size=4).map(tuple)),
        st.dictionaries(scalars_of_all_kinds.filter(lambda key: key == key), inner, max_size=4),  # no two NaN
    ),
    max_leaves=12,
)
trees = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.sampled_from(CHARS)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from([*"ltdanog", "z"]), inner, min_size=1, max_size=2),
        st.sampled_from(["l", "t", "d", "a", "n", "o"]).flatmap(lambda tag: inner.map(lambda x: {tag: x})),
        st.tuples(st.sampled_from(CHARS), inner).map(lambda pair: {"n": list(pair)}),
        st.tuples(st.sampled_from(CHARS), st.lists(inner, max_size=3)).map(lambda pair: {"a": list(pair)}),
    ),
    max_leaves=10,
)


def crossed(value: Any) -> Any:
    return unpack(packed(value))[0]  # type: ignore[index]


def raw(tree: Any, buffers: bytes = b"") -> bytes:
    """A message that no encoder wrote."""
    text = tree if isinstance(tree, bytes) else json.dumps(tree).encode()
    return HEADER.pack(len(text), len(buffers)) + text + buffers


def unpacked_or_none(data: bytes) -> Any:
    """What a hostile message gives: a value, or None where it is refused or cut short; any other error escapes."""
    try:
        message = unpack(data)
    except WireError:
        return None
    return None if message is None else message[0]


def same(a: Any, b: Any) -> bool:
    """Equal in type, value and bits; of an array in everything but the byte order, which becomes the machine's."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (np.ndarray, np.generic)):
        native = np.asarray(a).astype(a.dtype.newbyteorder("="))
        if native.dtype != b.dtype or native.dtype.char != b.dtype.char or native.shape != b.shape:
            return False
        is_nan_scalar = isinstance(a, np.generic) and bool(a != a)
        return native.tobytes() == b.tobytes() or (is_nan_scalar and bool(b != b))
    if isinstance(a, dict):
        return len(a) == len(b) and all(same(k, q) and same(v, w) for (k, v), (q, w) in zip(a.items(), b.items()))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float):
        return struct.pack("<d", a) == struct.pack("<d", b) or (a != a and b != b)
    return bool(a == b)


def is_plain(value: Any) -> bool:
    """Whether a value is made of nothing but what the wire may carry."""
    if isinstance(value, (list, tuple)):
        return all(map(is_plain, value))
    if isinstance(value, dict):
        return all(is_plain(k) and is_plain(v) and not isinstance(k, (np.ndarray, Opaque)) for k, v in value.items())
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.char in DTYPES and value.dtype.isnative
    return value is None or type(value) in (bool, int, float, str, Opaque, Seed)


@MANY
@given(plain)
def test_plain_data_crosses_with_types_and_bits_unchanged(value: Any) -> None:
    assert same(value, crossed(value))


@pytest.mark.parametrize("char", CHARS)
def test_arrays_of_every_dtype_cross_in_any_layout_and_shape_with_the_ends_of_their_range(char: str) -> None:
    base = np.arange(24).reshape(4, 6).astype(char)
    views = [base.T, base[::2, ::-3], base[::-1], np.asfortranarray(base), base[:, 1], np.broadcast_to(base, (2, 4, 6))]
    views += [np.zeros(shape, char) for shape in ((0,), (0, 3), (3, 0), (2, 0, 2), (), (1,) * 8)]
    views += [view.astype(view.dtype.newbyteorder(order)) for view in (base, base[:0]) for order in "<>"]
    for view, got in zip(views, crossed(views)):
        assert same(view, got) and got.flags.writeable and got.flags.owndata and got.flags.c_contiguous
    if char != "?":
        info = np.finfo(char) if np.dtype(char).kind == "f" else np.iinfo(char)
        ends = [np.dtype(char).type(end) for end in (info.min, info.max)]
        assert same(ends, crossed(ends))


STRUCTURES: dict[str, Any] = {
    "tuples and lists": [(), [], ([],), [()], {"k": ([1], (2,))}],
    "seeds": [Seed(0), {"k": (Seed(2**62),)}, Seed(1, (0.0, 1.0 - 2.0**-53))],
    "several arrays": {"a": np.arange(3), "b": [np.zeros((0, 2)), np.array([True])], "c": (np.array([1.5]), 2)},
    "any text": ["γ−∞", "\0", "\ud800", '"}]\\', "\N{PILE OF POO}", "\u2028\n"],
    "dicts like the encoding": [{"a": ["d", [2]]}, {"o": "int"}, {"n": ["d", 1]}, {"l": []}, {"g": [1]}],
    "payloads of NaN": np.array([0x7FF8000000000123, 0xFFF8000000000001], np.uint64).view(np.float64),
}


def test_structures_and_bias_rows_cross_as_they_are() -> None:
    assert [name for name, value in STRUCTURES.items() if not same(value, crossed(value))] == []
    got = crossed(BiasRows("markov_bias", {3: np.array([0.5, -INF])}, 2))
    assert (type(got), got.name, got.vocabulary) == (BiasRows, "markov_bias", 2)
    assert got[3].tolist() == [0.5, -INF] and not got[4].any()


class Odd:
    """Not plain data."""


class Trap:
    """Nothing of it is run while it crosses."""

    def __reduce__(self) -> Any:
        raise AssertionError

    __iter__ = __len__ = __array__ = __str__ = __repr__ = __eq__ = __bool__ = __reduce__  # type: ignore[assignment]


class Inherits(list):  # type: ignore[type-arg]
    """Looks like a list, but has a type of its own."""


NOT_PLAIN = [
    *(Trap(), Odd(), Inherits([1]), Odd, len, {1, 2}, b"raw", 1j, (n for n in "ab")),
    *(np.longdouble(1), np.complex128(1), np.str_("x"), np.array(["x"]), np.array([None]), np.zeros(2, "g")),
    *(np.zeros(2, [("x", "d")]), np.array(["2026-01-01"], "M8[D]"), np.ma.masked_array([1]), 2**64, -(10**400)),
]


def test_what_is_not_plain_data_crosses_as_its_type_name_only() -> None:
    for value in NOT_PLAIN:
        name = "int of more than 64 bits" if type(value) is int else type(value).__name__
        assert crossed(value) == Opaque(name)
        assert crossed([1, {"k": value}, 2]) == [1, {"k": Opaque(name)}, 2]
    for value in ({(1, 2): 3}, {np.str_("a"): 1}, {b"a": 1}, {frozenset(): 1}, {2**65: 1}):
        assert "<" in repr(crossed([value, 5])) and crossed([value, 5])[1] == 5
    got = crossed(type("N" * 1000, (), {})())
    assert len(got.type_name) == 80 and got != got.type_name and got != 0 and repr(got) == f"<{got.type_name}>"


def nested(depth: int, wrap: Any) -> Any:
    value: Any = 7
    for _ in range(depth):
        value = wrap(value)
    return value


def test_depth_is_capped_but_everything_above_the_cap_crosses() -> None:
    for wrap in (lambda x: [x], lambda x: (x,), lambda x: {"k": x}):
        allowed = nested(MAX_DEPTH - 1, wrap)
        assert same(allowed, crossed(allowed))
    got = crossed(nested(MAX_DEPTH + 1, lambda x: [x]))
    for _ in range(MAX_DEPTH + 1):
        (got,) = got
    assert isinstance(got, Opaque)


@MANY
@example(np.int16(300), [(16, ord("b"))])
@given(plain, st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=4))
def test_flipped_bytes_give_plain_data_or_nothing(value: Any, flips: list[tuple[int, int]]) -> None:
    message = bytearray(packed(value))
    for place, byte in flips:
        message[place % len(message)] = byte
    assert is_plain(unpacked_or_none(bytes(message)))


@MANY
@example([1], b"")
@given(trees, st.binary(max_size=32))
def test_any_json_and_any_bytes_give_plain_data_or_nothing(tree: Any, buffers: bytes) -> None:
    assert is_plain(unpacked_or_none(raw(tree, buffers)))
    assert is_plain(unpacked_or_none(buffers)) and is_plain(unpacked_or_none(raw(buffers)))


DAMAGED: dict[str, list[Any]] = {
    "text": [b"{", b"\xff\xfe", b"", b"1" * 5000],
    "tags": [{}, {"l": [], "t": []}, {"z": "x"}, [1], [], {"l": [[]]}],
    "contents": [{"l": 5}, {"d": [1]}, {"d": [[1, 2, 3]]}, {"o": [1]}, {"g": [INF]}, {"b": ["bias", 2, {"l": []}]}],
    "keys": [{"d": [[{"a": ["d", [0]]}, 1]]}, {"d": [[{"l": []}, 1]]}, {"d": [[{"o": "x"}, 1]]}],
    "dtypes": [{"a": ["O", [1]]}, {"a": ["i8,i8", [1]]}, {"a": [3, [1]]}, {"n": ["O", 1]}],
    "shapes": [{"a": ["d", [-1]]}, {"a": ["d", [1.0]]}, {"a": ["?", [True]]}, {"a": ["d"]}, {"a": ["d", 1]}],
    "too many axes": [{"a": ["?", [1] * 9]}],
    "more than its bytes": [{"a": ["d", [3]]}, {"a": ["d", [2**40, 2**40]]}],
    "nothing, of astronomic size": [{"a": ["d", [0, 2**63]]}, {"a": ["d", [10**9, 0]]}],
    "beyond the dtype": [{"n": ["b", 300]}, {"n": ["L", -1]}, {"n": ["Q", 2**64]}, {"n": ["l", 1e300]}, 10**30],
    "scalars that are none": [{"n": ["d", {"k": 1}]}, {"n": ["d", [1, 2]]}, {"n": ["l", "12"]}],
    "depth": [nested(MAX_DEPTH + 3, lambda x: {"l": [x]}), b'{"l":[' * 50_000, b"[" * 100_000],
    "too many items": [b'{"l":[' + b"0," * MAX_ITEMS + b"0]}"],
}


@pytest.mark.parametrize("what", DAMAGED)
def test_damaged_messages_raise_wire_error(what: str) -> None:
    for tree in DAMAGED[what]:
        with pytest.raises(WireError):
            unpack(raw(tree, bytes(16)))


def test_bytes_that_mean_nothing_are_put_right_in_a_bool_array_and_in_a_type_name() -> None:
    got = unpacked_or_none(raw({"a": ["?", [4]]}, b"\x00\x01\x02\xff"))
    assert got.tobytes() == b"\x00\x01\x01\x01" and got.dtype == bool
    for forged in (["Token", [1]], ["range", 1], ["range", {"w": ["deque", {"l": []}]}], [[], {"l": []}]):
        assert unpacked_or_none(raw({"w": forged})) is None
    assert unpacked_or_none(raw({"o": "\x1b[2J\ud800\u202eγ\n<b>"})) == Opaque("?[2J??γ\n<b>")


LARGE = [HEADER.pack(*sizes) for sizes in ((wire.MAX_JSON + 1, 0), (0, wire.MAX_ARRAYS + 1), (2**32 - 1, 2**32 - 1))]
LARGE += [raw({"a": ["?", [MAX_ITEMS + 1]]}, bytes(MAX_ITEMS + 1))]  # whose bytes have all come


def test_too_large_a_message_is_refused_at_once_and_limits_of_a_reply_hold_for_both_sides() -> None:
    for message in LARGE:
        with pytest.raises(WireError, match=r"too large|damaged"):
            unpack(message)
    value, stream = ["x" * 100, np.zeros(10)], io.BytesIO()
    for limits in ((50, 1000), (1000, 50)):
        for refused in (lambda m=limits: send(stream, value, m), lambda m=limits: unpack(packed(value), m)):
            with pytest.raises(WireError, match="too large"):
                refused()
    assert stream.getvalue() == b"" and unpack(packed(value), (1000, 1000)) is not None


@MANY
@given(st.lists(plain, max_size=3))
def test_messages_are_received_in_the_order_they_were_sent(values: list[Any]) -> None:
    stream = io.BytesIO(b"".join(map(packed, values)))
    assert all(same(value, receive(stream)) for value in values)
    for end in (b"", packed(values)[:-1], HEADER.pack(2**32 - 1, 2**32 - 1) + b"["):
        with pytest.raises(WireError):
            receive(io.BytesIO(end))

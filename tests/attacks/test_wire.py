"""Code that writes to the wire on which a submission and the grader talk: it gains nothing, and harms nobody."""

from typing import Any

FORGE = r"""
import json, os, stat, struct

def pipes():
    for number in range(64):
        try:
            if stat.S_ISFIFO(os.fstat(number).st_mode):
                yield number
        except OSError:
            pass

def send_raw(data):
    for number in pipes():
        try:
            os.write(number, data)
        except OSError:
            pass

def forge(tree):
    text = tree if isinstance(tree, bytes) else json.dumps(tree).encode()
    send_raw(struct.pack("<II", len(text), 0) + text)

def d(**items):
    return {"d": [[key, value] for key, value in items.items()]}
"""


def function(body: str, before: str = "") -> str:
    """A solution with one line as its body, behind lines that find the wire and write to it."""
    return f"{FORGE}{before}\ndef conditional_acceptance(accepted_counts, block_size):\n    {body}\n"


# A reply needs the number of its call: the calls of the batch count from 1.
ATTACKS: dict[str, tuple[str, str]] = {
    "the wire closed": ("0 error", function("[os.close(n) for n in list(pipes())]")),
    "garbage on the wire": ("0 error", function("send_raw(b'garbage!' * 100)")),
    "half a message": ("0 timeout", function("send_raw(struct.pack('<II', 1 << 20, 1 << 20))")),
    "a message of four gigabytes": ("0 error", function("send_raw(b'\\xff' * 8)")),
    "replies of the future": (
        "0 error", function("for n in range(1, 500): forge(d(number=n + 50, value={'l': [0.5]}))"),
    ),
    "replies of the past": (
        "0 error",
        "RIGHT\n# %%\nright = conditional_acceptance\n"
        + function("forge(d(number=0, value={'l': [0.5]}))\n    return right(accepted_counts, block_size)"),
    ),
    "a reply that is a pickle": (
        "0 error", function("send_raw(b'\\x80\\x04\\x95' + b'cos\\nsystem\\n(S\"touch pickled\"\\ntR.' * 9)"),
    ),
    "an array of objects on the wire": ("0 error", function("forge(d(number=1, value={'a': ['O', [1]]}))")),
    "an array of a negative size": ("0 error", function("forge(d(number=1, value={'a': ['d', [-1, -1]]}))")),
    "a reply nested too deeply": ("0 error", function("forge(b'[' * 10 ** 6)")),
    "a reply that says that all is well": (
        "0 error", function("forge(d(loaded={'d': []}, defined={'l': []}, score=15, status='pass'))"),
    ),
    "points forged while loading": (
        "0 error",
        FORGE + "conditional_acceptance = None\n"
        "forge(d(loaded={'d': []}, defined={'l': ['conditional_acceptance']}))\nos._exit(0)",
    ),
    "pieces forged while loading": ("full pass", FORGE + "forge(d(running=99))\n# %%\nRIGHT"),
    "the next requests read away": (
        "0 timeout",
        function("for n in pipes():\n        try: os.set_blocking(n, False), os.read(n, 1 << 20)\n"
                 "        except OSError: pass\n    time.sleep(1000)", "import time"),
    ),
}  # fmt: skip


def test_an_attack_gets_what_its_answers_are_worth_and_its_neighbours_what_they_always_get(
    batch: Any, attack: str
) -> None:
    batch.assert_fair(attack)


def test_the_world_around_is_as_it_was(batch: Any) -> None:
    batch.assert_left_alone()

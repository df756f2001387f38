"""Code that cheats, lies, or breaks its own process: it earns what its answers are worth, and harms nobody.

In the tables: what the attack must get, then its cells. RIGHT stands for the right solution.
"""

from typing import Any

WRONG = "def conditional_acceptance(accepted_counts, block_size):\n    return [0.5] * block_size\n"
NONE = "conditional_acceptance = None\n"


def function(body: str, before: str = "") -> str:
    """A solution with one line as its body, behind some lines that run first."""
    return f"{before}\ndef conditional_acceptance(accepted_counts, block_size):\n    {body}\n"


LOOPS: dict[str, tuple[str, str]] = {
    "a loop that catches everything": (
        "0 timeout",
        function("while True:\n        try:\n            while True: pass\n        except BaseException: pass"),
    ),
    "a loop in C": ("0 timeout", function("re.match('(a+)+$', 'a' * 60 + 'b')", "import re")),
    "a loop with its alarms blocked": (
        "0 timeout", function("signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))\n    while True: time.sleep(1)",
                              "import signal, time"),
    ),
    "a loop that takes the time limit away": (
        "0 timeout", function("while True: time.sleep(1)", "import signal, time\nsignal.setitimer = lambda *a: None"),
    ),
    "a loop in the text of an exception": (
        "0 timeout", function("raise E", "class E(Exception):\n    def __str__(self):\n        while True: pass"),
    ),
    "a stop signal": ("0 timeout", function("os.kill(os.getpid(), signal.SIGSTOP)", "import os, signal")),
    "cells that never end, before the answer": ("full pass", "while True: pass\n# %%\nwhile True: pass\n# %%\nRIGHT"),
    "a cell that never ends, with the answer in it": ("full pass", "while True: pass\nRIGHT"),
    "a hidden case that hangs": (
        "0 timeout",
        "import time\nRIGHT\n# %%\nright = conditional_acceptance\n"
        + function("time.sleep(9 * (len(accepted_counts) > 900))\n    return right(accepted_counts, block_size)"),
    ),
}  # fmt: skip

BOMBS: dict[str, tuple[str, str]] = {
    "one array of 4 GiB": ("0 error", function("return float(np.ones(1 << 29).sum())")),
    "endless recursion": ("0 error", function("return conditional_acceptance(accepted_counts, block_size)")),
    "recursion without a limit": (
        "0 error",
        function("return A().x", "import sys\nsys.setrecursionlimit(10 ** 9)\nclass A:\n"
                 "    def __getattr__(self, name): return getattr(self, name + 'a')"),
    ),
    "an endless generator": ("0 fail", function("while True: yield 1.0")),
    "a result of a gigabyte of text": ("0 error", function("return 'x' * (1 << 30)")),
    "a result nested a thousand deep": (
        "0 fail", function("x = []\n    for _ in range(1000): x = [x]\n    return x")
    ),
    "a result that holds itself": ("0 fail", function("x = []\n    x.append(x)\n    return x")),
    "an error of 100 MB": ("0 error | 0 timeout", function("raise KeyError('x' * 10 ** 8)")),
    "an error with a name of a megabyte": ("0 error", function("raise type('N' * 10 ** 6, (Exception,), {})")),
    "twenty megabytes of prints": ("full pass", "for _ in range(20): print('x' * 10 ** 6)\n# %%\nRIGHT"),
    "a flood on its own descriptors": (
        "0 timeout", function("while True: os.write(1, b'x' * 10 ** 5), os.write(2, b'y' * 10 ** 5)", "import os")
    ),
    "a warning and a log line with every call": (
        "full pass",
        "import logging, sys, warnings\nlogging.basicConfig()\nRIGHT\n# %%\nright = conditional_acceptance\n"
        + function("warnings.warn('w'), logging.error('e'), print('!', file=sys.stderr)\n"
                   "    return right(accepted_counts, block_size)"),
    ),
}  # fmt: skip

EXITS: dict[str, tuple[str, str]] = {
    "os._exit": ("0 error", function("os._exit(0)", "import os")),
    "os._exit in many cells": ("full pass", "# %%\n".join(["import os\nos._exit(0)\n"] * 4 + ["RIGHT"])),
    "os._exit with the answer": ("full pass", "RIGHT\nimport os\nos._exit(0)"),
    "a kill signal": ("0 error", function("os.kill(os.getpid(), signal.SIGKILL)", "import os, signal")),
    "an alarm that is left": ("full pass", "import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\n# %%\nRIGHT"),
    "a segmentation fault": ("0 error", function("ctypes.string_at(0)", "import ctypes")),
    "an abort": ("0 error", function("os.abort()", "import os")),
    "an interrupt": ("0 error", function("raise KeyboardInterrupt")),
    "an exception that is none": ("0 error", function("raise type('E', (BaseException,), {})")),
    "an exception whose text raises": (
        "0 error", function("raise E", "class E(Exception):\n    def __str__(self): raise E"),
    ),
    "standard streams that are closed": (
        "full pass",
        "import os, sys\nfor s in (sys.stdin, sys.stdout, sys.stderr): s.close()\n"
        "for n in (0, 1, 2): os.close(n)\n# %%\nRIGHT",
    ),
    "what is done at exit": (
        "full pass",
        "import atexit, gc, weakref\ndef forever(*a):\n    while True: pass\natexit.register(forever)\n"
        "class D:\n    def __del__(self): forever()\nkept = D()\nweakref.finalize(kept, forever)\n# %%\nRIGHT",
    ),
    "callbacks of the garbage collector": (
        "full pass", "import gc\ngc.callbacks.append(lambda *a: 1 / 0)\nclass D:\n"
        "    def __del__(self): raise KeyError\nD()\ngc.collect()\n# %%\nRIGHT",
    ),
    "threads that never end": (
        "full pass",
        "import threading, time\nfor _ in range(20): threading.Thread(target=time.sleep, args=(1000,)).start()\n"
        "# %%\nRIGHT",
    ),
}  # fmt: skip

PATCHES: dict[str, tuple[str, str]] = {
    "NumPy that finds everything equal": (
        "0 fail",
        "for f in ('array_equal', 'allclose', 'isclose', 'equal'): setattr(np, f, lambda *a, **k: True)\n# %%\n"
        + WRONG,
    ),
    "NumPy that is gone": ("0 error", "import sys\nRIGHT\nfor name in [*vars(np)]: delattr(np, name)"),
    "builtins that agree with everything": (
        "0 fail",
        "import builtins\nfor f in ('all', 'any', 'isinstance', 'hasattr'): setattr(builtins, f, lambda *a: True)\n"
        "builtins.abs = builtins.max = lambda *a: 0\n# %%\n" + WRONG,
    ),
    "a check that passes": (
        "0 fail",
        "import grader, sys, types\ngrader.check = check = lambda *a: 15.0\n"
        "sys.modules['grader.lessons.checks'] = types.ModuleType('grader.lessons.checks')\n# %%\n" + WRONG,
    ),
    "a Report of its own": (
        "0 fail",
        "class Report:\n    status, points, max_points, passed = 'pass', 10 ** 6, 1, True\n"
        + function("return Report()"),
    ),
    "a caller that answers for the function": (
        "0 fail",
        "from grader.run.child import calling\n"
        "calling.LocalCaller._outcome = lambda *a: calling.Outcome(value=calling.encoded([1.0]))\n# %%\n" + WRONG,
    ),
    "a wire that sends no errors": (
        "0 fail",
        "from grader.run.child import calling, main\nreal = main.packed_reply\n"
        "main.packed_reply = lambda n, o: real(n, calling.Outcome(value=calling.encoded([0.5])))\n# %%\n" + WRONG,
    ),
    "a trace and a profile function": (
        "full pass",
        "import sys, threading\nseen = []\n"
        "def look(frame, event, arg):\n    seen.append((event, frame.f_code.co_name))\n    return look\n"
        "sys.settrace(look), sys.setprofile(look), threading.settrace(look)\n# %%\nRIGHT",
    ),
    "frames that are searched for what is expected": (
        "0 fail",
        "import sys\n"
        + function(
            "frame = sys._getframe()\n    while frame:\n        for value in [*frame.f_locals.values()]:\n"
            "            expected = getattr(value, 'expected', None)\n"
            "            if expected is not None: return expected\n        frame = frame.f_back\n    return []"
        ),
    ),
    "a memory that is searched for what is expected": (
        "0 fail",
        "import gc\n"
        + function(
            "for thing in gc.get_objects():\n"
            "        if type(thing).__name__ in ('Example', 'Bad', 'Task'): return thing.expected\n    return []"
        ),
    ),
    "the reference imported": ("0 error", NONE + "from dspark_mini.confidence import conditional_acceptance"),
    "the checks imported": (
        "0 fail",
        "try:\n    from grader.lessons.checks import TASKS\n"
        "    conditional_acceptance = TASKS['2.5'].reference\nexcept ImportError:\n    pass\n# %%\n"
        "if 'conditional_acceptance' not in globals():\n    def conditional_acceptance(*a): return []",
    ),
    "an import that finds everything": (
        "0 fail",
        "import sys, types\nclass F:\n    def find_spec(self, name, path=None, target=None):\n"
        "        raise SystemExit\nsys.meta_path.insert(0, F())\n# %%\n" + WRONG,
    ),
    "arguments that are changed": (
        "9 partial",
        "RIGHT\n# %%\nright = conditional_acceptance\n"
        + function(
            "result = right(accepted_counts, block_size)\n    try: accepted_counts[0] = 0\n"
            "    except IndexError: pass\n    return result"
        ),
    ),
    "answers to the visible examples only": (
        "0 fail",
        "nan = float('nan')\ntable = {((2, 0, 1, 2), 3): [.75, 2 / 3, 0], ((2, 2), 2): [1, 1], ((), 2): [nan, nan],\n"
        "         ((0, 0, 0, 2), 2): [.25, 1.], ((0, 0), 3): [0., nan, nan]}\n"
        + function("return table[tuple(int(n) for n in accepted_counts), block_size]"),
    ),
}  # fmt: skip

LIES: dict[str, tuple[str, str]] = {
    "a list that equals everything": (
        "0 fail",
        "class L(list):\n    __eq__ = lambda *a: True\n    __ne__ = lambda *a: False\n    __hash__ = None\n"
        + function("return L([0.5] * block_size)"),
    ),
    "floats that equal everything": (
        "0 fail",
        "class F(float):\n    __eq__ = __le__ = __ge__ = lambda *a: True\n    __sub__ = __rsub__ = lambda *a: 0.0\n"
        + function("return [F(0.5)] * block_size"),
    ),
    "an array that equals everything": (
        "0 fail",
        "class A(np.ndarray):\n    __eq__ = lambda *a: True\n    __array_ufunc__ = lambda *a, **k: np.True_\n"
        + function("return np.full(block_size, 0.5).view(A)"),
    ),
    "a type that claims all instances": (
        "0 fail",
        "class M(type):\n    __instancecheck__ = __subclasscheck__ = __eq__ = lambda *a: True\n"
        "    __hash__ = type.__hash__\n"
        "class O(metaclass=M): pass\n" + function("return O()"),
    ),
    "a type whose name raises": (
        "0 error",
        "class M(type):\n    __name__ = property(lambda s: 1 / 0)\nclass O(metaclass=M): pass\n"
        + function("return O()"),
    ),
    "a pickle": (
        "0 fail",
        "import os\nclass P:\n    def __reduce__(self): return os.system, ('touch pickled',)\n"
        + function("return P()"),
    ),
    "an error called ValueError": (
        "0 error", "class ValueError(Exception): pass\n" + function("raise ValueError('accepted_counts position 2')")
    ),
    "always not started": ("0 missing", function("raise NotImplementedError")),
    "a class in place of the function": (
        "0 fail", NONE + "class conditional_acceptance:\n    def __init__(self, *a): pass"
    ),
    "an object whose call lies": (
        "0 fail",
        "class C:\n    __code__ = property(lambda s: 1 / 0)\n    def __call__(self, *a): return self\n"
        "conditional_acceptance = C()",
    ),
}  # fmt: skip

ATTACKS = LOOPS | BOMBS | EXITS | PATCHES | LIES


def test_an_attack_gets_what_its_answers_are_worth_and_its_neighbours_what_they_always_get(
    batch: Any, attack: str
) -> None:
    batch.assert_fair(attack)


def test_the_world_around_is_as_it_was(batch: Any) -> None:
    batch.assert_left_alone()

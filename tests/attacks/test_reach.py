"""Code that reaches for the world outside: tests, neighbours, files, processes, the network, and the grader's own wire.

Each of these looks for something and, where it has found it, spoils its own right answer: full marks say that nothing
was reached. ROOT, COURSE and the like stand for places of the real world. On the wire it writes what no answer is.
"""

import textwrap
from typing import Any

# What could break something is tried only where the repository is out of sight, as in a sandbox that works.
CAREFUL = "if os.path.exists(ROOT + '/pyproject.toml'): return 'the repository'\n"


def seeks(**looks: str) -> tuple[str, str]:
    """A right solution that is spoilt where one of some functions, given by their bodies, finds something."""
    code = "import contextlib, ctypes, glob, os, shutil, signal, socket, subprocess, sys, time\nfound = []\n"
    for name, body in looks.items():
        code += f"def look():\n{textwrap.indent(body, '    ')}\n"
        code += f"try:\n    if look(): found += [{name!r}]\nexcept (Exception, SystemExit): pass\n"
    return "full pass", code + "# %%\nRIGHT\nif found:\n    def conditional_acceptance(*a): return found\n"


def tries(**looks: str) -> tuple[str, str]:
    """The same, of something that could break what it reaches."""
    return seeks(**{name: CAREFUL + body for name, body in looks.items()})


def ends(line: str) -> tuple[str, str]:
    """A right solution in a cell after one that ends processes."""
    return "full pass", f"import os, time\ndef k():\n    {CAREFUL}    {line}\nk()\n# %%\nRIGHT"


def write(*places: str) -> str:
    """The body of a function that writes to some places, in any way that works."""
    return "".join(
        f"with contextlib.suppress(OSError): os.makedirs(os.path.dirname({place}), exist_ok=True)\n"
        f"with contextlib.suppress(OSError), open({place}, 'a') as file: file.write('raise ImportError')\n"
        for place in places
    )


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


def forges(body: str, before: str = "") -> str:
    """A solution with one line as its body, behind lines that find the wire and write to it."""
    return f"{FORGE}{before}\ndef conditional_acceptance(accepted_counts, block_size):\n    {body}\n"


READS = seeks(
    hidden_tests="return os.path.exists(ROOT + '/grader/lessons/checks/lesson_02.py')",
    solutions="return os.path.exists(ROOT + '/solutions') or glob.glob(ROOT + '/.git/*')",
    hidden_tests_by_another_name="return os.path.exists('/proc/1/root' + ROOT + '/grader/lessons/checks')",
    tests_anywhere="return glob.glob('/*/*/grader/lessons/*') + glob.glob('/*/*/*/grader/lessons/*')",
    neighbours="return os.path.exists(COURSE + '/submitted')",
    its_own_file="return glob.glob('**/*.ipynb', recursive=True) + glob.glob(COURSE + '/submitted/*/*')",
    results="return os.path.exists(COURSE + '/out')",
    home="return os.path.exists(COURSE + '/home') or os.path.exists('/root/.bashrc')",
    passwords="return os.path.exists('/etc/shadow') or os.path.exists('/etc/sudoers')",
    temporary_files="return os.path.exists(COURSE + '/tmp') and os.listdir(COURSE + '/tmp')",
    the_folder_it_was_started_in="return os.listdir('.') or os.getcwd().startswith(COURSE + '/cwd')",
    devices="return [f for f in ('/dev/mem', '/dev/kvm', '/dev/fuse', '/dev/tty0') if os.path.exists(f)]",
    open_files="names = [os.readlink(f) for f in glob.glob('/proc/self/fd/*') if os.path.exists(f)]\n"
    "return [n for n in names if not n.startswith(('pipe:', '/dev/null'))]",
    what_another_has_left="places = ('/tmp/left', '/var/tmp/left', '/dev/shm/left', 'left')\n"
    "return [f for f in places if os.path.exists(f)]",
)
CONFINED = tries(
    environment="return 'DSPARK_SECRET' in os.environ or GRADER_SECRET in str(os.environ)",
    environment_of_others="for file in glob.glob('/proc/[0-9]*/environ'):\n    with contextlib.suppress(OSError):\n"
    "        if GRADER_SECRET in open(file, errors='replace').read(): return True",
    command_lines_of_others="for file in glob.glob('/proc/[0-9]*/cmdline'):\n    with contextlib.suppress(OSError):\n"
    "        if '--json' in open(file, errors='replace').read(): return True",
    grader_by_its_number="return os.path.exists(f'/proc/{GRADER}')",
)
NETWORK = seeks(
    tcp="return socket.create_connection(TCP, 1)",
    udp="socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', UDP)",
    abstract="socket.socket(socket.AF_UNIX).connect(ABSTRACT)\nreturn True",
    unix="socket.socket(socket.AF_UNIX).connect(UNIX)\nreturn True",
    interfaces="return [name for _, name in socket.if_nameindex() if name != 'lo']",
    names="return socket.getaddrinfo('example.org', 80)",
)
WRITES = tries(
    for_others=write("'/tmp/left'", "'/var/tmp/left'", "'/dev/shm/left'", "'left'"),
    grader=write("ROOT + '/grader/evil.py'", "ROOT + '/conftest.py'", "ROOT + '/numpy.py'"),
    neighbour=write("COURSE + '/submitted/honest 000/02_parallel_drafting.ipynb'"),
    a_submission_more=write("COURSE + '/submitted/zoe/02_parallel_drafting.ipynb'"),
    home=write("COURSE + '/home/.bashrc'", "COURSE + '/home/.config/nbgrader.py'"),
    the_folder_it_was_started_in=write("COURSE + '/cwd/numpy.py'", "COURSE + '/tmp/numpy.py'"),
    numpy="open(np.__file__, 'a').write('raise ImportError')\nreturn True",
    rights="os.chmod(sys.path[0], 0o777)\nos.chmod('/', 0)",
    descriptors="return len([os.open('/', 0) for _ in range(100_000)])",
)
# A reply needs the number of its call: the calls of the batch count from 1.
WIRE: dict[str, tuple[str, str]] = {
    "the wire closed": ("0 error", forges("[os.close(n) for n in list(pipes())]")),
    "garbage on the wire": ("0 error", forges("send_raw(b'garbage!' * 100)")),
    "half a message": ("0 timeout", forges("send_raw(struct.pack('<II', 1 << 20, 1 << 20))")),
    "a message of four gigabytes": ("0 error", forges("send_raw(b'\\xff' * 8)")),
    "replies of the future": (
        "0 error", forges("for n in range(1, 500): forge(d(number=n + 50, value={'l': [0.5]}))"),
    ),
    "replies of the past": (
        "0 error",
        "RIGHT\n# %%\nright = conditional_acceptance\n"
        + forges("forge(d(number=0, value={'l': [0.5]}))\n    return right(accepted_counts, block_size)"),
    ),
    "a reply that is a pickle": (
        "0 error", forges("send_raw(b'\\x80\\x04\\x95' + b'cos\\nsystem\\n(S\"touch pickled\"\\ntR.' * 9)"),
    ),
    "an array of objects on the wire": ("0 error", forges("forge(d(number=1, value={'a': ['O', [1]]}))")),
    "an array of a negative size": ("0 error", forges("forge(d(number=1, value={'a': ['d', [-1, -1]]}))")),
    "a reply nested too deeply": ("0 error", forges("forge(b'[' * 10 ** 6)")),
    "a reply that says that all is well": (
        "0 error", forges("forge(d(loaded={'d': []}, defined={'l': []}, score=15, status='pass'))"),
    ),
    "points forged while loading": (
        "0 error",
        FORGE + "conditional_acceptance = None\n"
        "forge(d(loaded={'d': []}, defined={'l': ['conditional_acceptance']}))\nos._exit(0)",
    ),
    "pieces forged while loading": ("full pass", FORGE + "forge(d(running=99))\n# %%\nRIGHT"),
    "the next requests read away": (
        "0 timeout",
        forges("for n in pipes():\n        try: os.set_blocking(n, False), os.read(n, 1 << 20)\n"
                 "        except OSError: pass\n    time.sleep(1000)", "import time"),
    ),
}  # fmt: skip
ATTACKS: dict[str, tuple[str, str]] = {
    **WIRE,
    "writes": WRITES,
    "files of the kit in the child": tries(
        kit="for name in ('loader', 'main', 'wire', 'calling'):\n"
        "    with contextlib.suppress(OSError):\n"
        "        open(sys.modules['grader.run.child.' + name].__file__, 'w').write('raise ImportError')\n"
        "    with contextlib.suppress(OSError): os.remove(sys.modules['grader.run.child.' + name].__file__)"
    ),
    "modules on the path": tries(
        modules="for folder in ['.', *sys.path]:\n    for name in ('numpy.py', 'json.py', 'sitecustomize.py'):\n"
        "        with contextlib.suppress(OSError):\n"
        "            open(os.path.join(folder, name), 'x').write('raise ImportError')"
    ),
    "everything removed": tries(
        removed="for folder in (COURSE, ROOT, '/home', '/tmp'): shutil.rmtree(folder, ignore_errors=True)"
    ),
    "a full disk": tries(
        disk="size, end = 0, time.monotonic() + .7\nwith contextlib.suppress(OSError):\n"
        "    while time.monotonic() < end:\n        with open(f'/tmp/{size}', 'wb') as file:\n"
        "            size += file.write(bytes(1 << 20))\nreturn size > 1 << 30"
    ),
    "every process killed": ends("os.kill(-1, 9)"),
    "the parent killed": ends("os.kill(os.getppid(), 9)\n    time.sleep(.1)"),
    "the process group killed": ends("os.killpg(0, 9)"),
    "a daemon": tries(
        daemon="if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(1000)\n    os._exit(0)\n"
        "os.wait()"
    ),
    "a daemon that takes the time limit with it": (
        "0 error",
        "import os, time\ndef conditional_acceptance(*a):\n    if os.fork() == 0:\n        os.setsid()\n"
        "        time.sleep(1000)\n    time.sleep(1000)\n",
    ),
    "another program": tries(
        program="subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'])"
    ),
    "a bomb of processes": (
        "0 error | 0 timeout",
        "import os\ndef conditional_acceptance(*a):\n    " + CAREFUL + "    while True: os.fork()\n",
    ),
    "a bomb of threads": (
        "0 error | 0 timeout",
        "import threading, time\ndef conditional_acceptance(*a):\n"
        "    while True: threading.Thread(target=time.sleep, args=(1000,)).start()\n",
    ),
    "confined": CONFINED,
    "the network": NETWORK,
    "reads": READS,  # last, when others have left what they could
}  # fmt: skip


def test_an_attack_gets_what_its_answers_are_worth_and_its_neighbours_what_they_always_get(
    batch: Any, attack: str
) -> None:
    batch.assert_fair(attack)


def test_the_world_around_is_as_it_was(batch: Any) -> None:
    batch.assert_left_alone()

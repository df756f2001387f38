"""Code that reaches for the world outside: tests, neighbours, files, processes, the network. Only a sandbox stops it.

Each of these looks for something and, where it has found it, spoils its own right answer: full marks say that nothing
was reached. ROOT, COURSE and the like stand for places of the real world.
"""

from __future__ import annotations

import textwrap
from typing import Any

# What could break something is tried only where the repository is out of sight, as in a sandbox that works.
CAREFUL = "if os.path.exists(ROOT + '/pyproject.toml'): return 'the repository'\n"


def seeks(body: str) -> tuple[str, str]:
    """A right solution that is spoilt where the body, a function's, finds something."""
    imports = "import contextlib, ctypes, glob, os, shutil, signal, socket, subprocess, sys, time\n"
    look = f"def look():\n{textwrap.indent(body, '    ')}\n"
    safe = "try:\n    found = look()\nexcept (Exception, SystemExit):\n    found = None\n"
    spoil = "# %%\nRIGHT\nif globals().get('found'):\n    def conditional_acceptance(*a): return found\n"
    return "full pass", imports + look + safe + spoil


def tries(body: str) -> tuple[str, str]:
    """The same, of something that could break what it reaches."""
    return seeks(CAREFUL + body)


def ends(line: str) -> tuple[str, str]:
    """A right solution in a cell after one that ends processes."""
    return "full pass", f"import os, time\ndef k():\n    {CAREFUL}    {line}\nk()\n# %%\nRIGHT"


def writes(*places: str) -> tuple[str, str]:
    """A right solution that first writes itself to some places, in any way that works."""
    lines = "".join(
        f"with contextlib.suppress(OSError): os.makedirs(os.path.dirname({place}), exist_ok=True)\n"
        f"with contextlib.suppress(OSError), open({place}, 'a') as file: file.write('raise ImportError')\n"
        for place in places
    )
    return tries(lines)


FILES: dict[str, tuple[str, str]] = {
    "the hidden tests": seeks("return os.path.exists(ROOT + '/grader/lessons/checks/lesson_02.py')"),
    "the solutions": seeks("return os.path.exists(ROOT + '/solutions') or glob.glob(ROOT + '/.git/*')"),
    "the hidden tests by another name": seeks(
        "return os.path.exists('/proc/1/root' + ROOT + '/grader/lessons/checks')"
    ),
    "the tests anywhere": seeks("return glob.glob('/*/*/grader/lessons/*') + glob.glob('/*/*/*/grader/lessons/*')"),
    "the neighbours": seeks("return os.path.exists(COURSE + '/submitted')"),
    "its own file": seeks("return glob.glob('**/*.ipynb', recursive=True) + glob.glob(COURSE + '/submitted/*/*')"),
    "the results": seeks("return os.path.exists(COURSE + '/out')"),
    "the home folder": seeks("return os.path.exists(COURSE + '/home') or os.path.exists('/root/.bashrc')"),
    "passwords": seeks("return os.path.exists('/etc/shadow') or os.path.exists('/etc/sudoers')"),
    "the graders temporary files": seeks("return os.path.exists(COURSE + '/tmp') and os.listdir(COURSE + '/tmp')"),
    "the folder it was started in": seeks("return os.listdir('.') or os.getcwd().startswith(COURSE + '/cwd')"),
    "devices": seeks("return [f for f in ('/dev/mem', '/dev/kvm', '/dev/fuse', '/dev/tty0') if os.path.exists(f)]"),
    "open files": seeks(
        "names = [os.readlink(f) for f in glob.glob('/proc/self/fd/*') if os.path.exists(f)]\n"
        "return [n for n in names if not n.startswith(('pipe:', '/dev/null'))]"
    ),
}
FILES["what another has left"] = seeks(
    "return [f for f in ('/tmp/left', '/var/tmp/left', '/dev/shm/left', 'left') if os.path.exists(f)]"
)
WRITES: dict[str, tuple[str, str]] = {
    "something left for others": writes("'/tmp/left'", "'/var/tmp/left'", "'/dev/shm/left'", "'left'"),
    "files of the grader": writes("ROOT + '/grader/evil.py'", "ROOT + '/conftest.py'", "ROOT + '/numpy.py'"),
    "files of the kit in the child": tries(
        "for name in ('loader', 'main', 'wire', 'calling'):\n"
        "    with contextlib.suppress(OSError):\n"
        "        open(sys.modules['grader.run.child.' + name].__file__, 'w').write('raise ImportError')\n"
        "    with contextlib.suppress(OSError): os.remove(sys.modules['grader.run.child.' + name].__file__)"
    ),
    "modules on the path": tries(
        "for folder in ['.', *sys.path]:\n    for name in ('numpy.py', 'json.py', 'sitecustomize.py'):\n"
        "        with contextlib.suppress(OSError):\n"
        "            open(os.path.join(folder, name), 'x').write('raise ImportError')"
    ),
    "NumPy itself": tries("open(np.__file__, 'a').write('raise ImportError')\nreturn True"),
    "the neighbours work": writes("COURSE + '/submitted/honest 000/02_parallel_drafting.ipynb'"),
    "a submission more": writes("COURSE + '/submitted/zoe/02_parallel_drafting.ipynb'"),
    "the home folder": writes("COURSE + '/home/.bashrc'", "COURSE + '/home/.config/nbgrader.py'"),
    "the folder it was started in": writes("COURSE + '/cwd/numpy.py'", "COURSE + '/tmp/numpy.py'"),
    "everything removed": tries(
        CAREFUL + "for folder in (COURSE, ROOT, '/home', '/tmp'): shutil.rmtree(folder, ignore_errors=True)"
    ),
    "other rights": tries("os.chmod(sys.path[0], 0o777)\nos.chmod('/', 0)"),
    "a full disk": tries(
        CAREFUL + "size, end = 0, time.monotonic() + .7\nwith contextlib.suppress(OSError):\n"
        "    while time.monotonic() < end:\n        with open(f'/tmp/{size}', 'wb') as file:\n"
        "            size += file.write(bytes(1 << 20))\nreturn size > 1 << 30"
    ),
    "every descriptor": tries("return len([os.open('/', 0) for _ in range(100_000)])"),
}
PROCESSES: dict[str, tuple[str, str]] = {
    "the environment": seeks("return 'DSPARK_SECRET' in os.environ or GRADER_SECRET in str(os.environ)"),
    "the environment of others": seeks(
        "for file in glob.glob('/proc/[0-9]*/environ'):\n    with contextlib.suppress(OSError):\n"
        "        if GRADER_SECRET in open(file, errors='replace').read(): return True"
    ),
    "the command lines of others": seeks(
        "for file in glob.glob('/proc/[0-9]*/cmdline'):\n    with contextlib.suppress(OSError):\n"
        "        if '--json' in open(file, errors='replace').read(): return True"
    ),
    "the grader by its number": seeks("return os.path.exists(f'/proc/{GRADER}')"),
    "every process killed": ends("os.kill(-1, 9)"),
    "the parent killed": ends("os.kill(os.getppid(), 9)\n    time.sleep(.1)"),
    "the process group killed": ends("os.killpg(0, 9)"),
    "a daemon": tries(
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(1000)\n    os._exit(0)\nos.wait()"
    ),
    "a daemon that takes the time limit with it": (
        "0 error",
        "import os, time\ndef conditional_acceptance(*a):\n    if os.fork() == 0:\n        os.setsid()\n"
        "        time.sleep(1000)\n    time.sleep(1000)\n",
    ),
    "another program": tries("subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'])"),
    "a bomb of processes": (
        "0 error | 0 timeout",
        "import os\ndef conditional_acceptance(*a):\n    " + CAREFUL + "    while True: os.fork()\n",
    ),
    "a bomb of threads": (
        "0 error | 0 timeout",
        "import threading, time\ndef conditional_acceptance(*a):\n"
        "    while True: threading.Thread(target=time.sleep, args=(1000,)).start()\n",
    ),
    "capabilities": seeks(
        "status = dict(line.split(':', 1) for line in open('/proc/self/status'))\n"
        "return int(status['CapEff'], 16) or int(status['CapPrm'], 16) or int(status['NoNewPrivs']) == 0"
    ),
    "a file system of its own": tries("return ctypes.CDLL(None).mount(b'none', b'/tmp', b'tmpfs', 0, None) == 0"),
    "a user namespace of its own": tries("return ctypes.CDLL(None).unshare(0x10000000) == 0"),
    "a root of its own": tries("os.chroot('/tmp')\nreturn True"),
    "shared memory": tries("return ctypes.CDLL(None).shmget(4711, 10, 0) != -1"),
    "shared memory left for others": tries("ctypes.CDLL(None).shmget(4711, 10, 0o1666)"),
    "a higher priority": tries("os.nice(-5)\nreturn True"),
    "higher limits": tries(
        "import resource\nresource.setrlimit(resource.RLIMIT_AS, (1 << 40, 1 << 40))\nreturn True"
    ),
}  # fmt: skip
NETWORK: dict[str, tuple[str, str]] = {
    "TCP": seeks("return socket.create_connection(TCP, 1)"),
    "UDP": seeks("socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', UDP)"),
    "an abstract socket": seeks("socket.socket(socket.AF_UNIX).connect(ABSTRACT)\nreturn True"),
    "a socket in a folder": seeks("socket.socket(socket.AF_UNIX).connect(UNIX)\nreturn True"),
    "interfaces": seeks("return [name for _, name in socket.if_nameindex() if name != 'lo']"),
    "names of hosts": seeks("return socket.getaddrinfo('example.org', 80)"),
}
ATTACKS = {
    **{f"writes: {name}": attack for name, attack in WRITES.items()},
    **{f"processes: {name}": attack for name, attack in PROCESSES.items()},
    **{f"network: {name}": attack for name, attack in NETWORK.items()},
    **{f"reads: {name}": attack for name, attack in FILES.items()},  # last, when others have left what they could
}


def test_an_attack_gets_what_its_answers_are_worth_and_its_neighbours_what_they_always_get(
    fair: Any, attack: str
) -> None:
    fair(attack)


def test_the_world_around_is_as_it_was(untouched: Any) -> None:
    untouched(0)

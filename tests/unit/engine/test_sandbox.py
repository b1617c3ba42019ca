"""Programs that nobody has read harm nothing, and end in time."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import stat
import time
from pathlib import Path

import pytest

from evalbench.engine import sandbox
from evalbench.engine.errors import SandboxMissing
from evalbench.engine.sandbox import Bubblewrap, Limits, Ran, find_sandbox

pytestmark = pytest.mark.sandbox

LIMITS = Limits(seconds=4, megabytes=256, processes=16, output=10_000)
FORK = "import os, time\nfor _ in range(12):\n    if os.fork() == 0:\n        {}\n"

LIBC = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
ALL_MUST_FAIL = "for one in tries:\n    try: one()\n    except OSError: continue\n    assert 0\n"
FORGED = (
    "import __main__, gc, os, re, sys\nframes = [sys._getframe()]\n"
    "while frames[-1].f_back: frames.append(frames[-1].f_back)\n"
    "words = re.findall('[0-9a-f]{{32}}', open('/proc/self/cmdline').read())\n"
    "for names in ({}):\n    words += [v for v in list(names) if re.fullmatch('[0-9a-f]{{32}}',"
    " str(v))]\nos.write(1, words[-1].encode() if words else b'passed')\nos._exit(0)"
)

HOSTILE = {
    # name: program, what stops it, a word of its last line
    "endless loop": ("while True: pass", "time", ""),
    "sleeps": ("import time; time.sleep(600)", "time", ""),
    "deaf to signals": (
        "import signal\nfor n in range(1, 32):\n    try: signal.signal(n, signal.SIG_IGN)\n"
        "    except (OSError, ValueError): pass\nwhile True: pass",
        "time",
        "",
    ),
    "catastrophic pattern": ("import re; re.match('(a+)+$', 'a' * 60 + 'b')", "time", ""),
    "fork bomb": ("import os\nwhile True:\n    try: os.fork()\n    except OSError: pass", "", ""),
    "thread bomb": (
        "import threading as t, time\nwhile True: t.Thread(target=time.sleep, args=(60,)).start()",
        "",
        "",
    ),
    "10 GB at once": ("x = bytearray(10 << 30)", "memory", ""),
    "10 GB by pieces": ("x = []\nwhile True: x.append(b'x' * (1 << 20))", "memory", ""),
    "memory of many": (
        FORK.format("x = b'x' * (60 << 20); time.sleep(60)") + "time.sleep(60)",
        "memory",
        "",
    ),
    "floods output": ("while True: print('x' * 1000)", "output", ""),
    "floods errors": ("import sys\nwhile True: sys.stderr.write('x' * 1000)", "output", ""),
    "fills its folder": (
        "f = open('/tmp/x', 'wb')\nwhile True: f.write(b'x' * 65536)",
        "",
        "Error",
    ),
    "many files": (
        "for n in range(10**9):\n    open(f'/tmp/{n}', 'wb').write(b'x' * 4096)",
        "",
        "",
    ),
    "writes to the system": ("open('/usr/bin/x', 'w')", "", "Read-only"),
    "writes to the root": ("open('/x', 'w')", "", "Read-only"),
    "remounts": (
        "import ctypes\nassert not ctypes.CDLL(None).mount(b'', b'/', b'', 32, None), 'refused'",
        "",
        "refused",
    ),
    "connects": (
        "import socket as s; s.create_connection(('127.0.0.1', {port}), 2)",
        "",
        "refused",
    ),
    "looks up a name": ("import socket; socket.getaddrinfo('example.com', 80)", "", "gaierror"),
    "kills everything": (
        "import os\nfor pid in range(1, 70000):\n    if pid != os.getpid():\n"
        "        try: os.kill(pid, 9)\n        except OSError: pass\n"
        "raise SystemExit(1)",
        "",
        "",
    ),
    "kills its group": ("import os; os.kill(0, 9)", "", ""),
    "ends early with 0": ("import os; os._exit(0)", "", "early"),
    "exits with 0": ("raise SystemExit(0)", "", "early"),
    "replaces itself": ("import os; os.execv('/bin/true', ['true'])", "", "early"),
    "crashes Python": ("import ctypes; ctypes.string_at(0)", "", ""),
    "debugs its parent": (
        "import ctypes, os\nassert not ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0), 'refused'",
        "",
        "refused",
    ),
    "a deep recursion": ("import sys\nsys.setrecursionlimit(10**9)\ndef f(): f()\nf()", "", ""),
    "memory of no process": (
        LIBC + "assert libc.shmget(0, 1 << 26, 0o1600) >= 0, 'refused'",
        "",
        "refused",
    ),
    "memory in no file": ("import os\nos.memfd_create('x')", "", "not permitted"),
    "memory in namespaces of its own": (
        LIBC + "assert not libc.unshare(0x10000000 | 0x20000), 'refused'",
        "",
        "refused",
    ),
    "namespaces by clone": (
        LIBC + "child = libc.syscall({clone}, 0x10000000 | 17, 0, 0, 0, 0)\n"
        "assert child >= 0, os.strerror(ctypes.get_errno())\nos._exit(0)",
        "",
        "not permitted",
    ),
    "fills the devices' folder": (
        "tries = [lambda: open('/dev/shm/x', 'w'), lambda: open('/dev/x', 'w')]\n"
        + ALL_MUST_FAIL
        + "raise SystemExit('refused')",
        "",
        "refused",
    ),
    "writes to the kernel": (
        "tries = [lambda p=p: open(p, 'w').write('1') for p in ('/proc/sys/kernel/hostname',"
        " '/proc/sysrq-trigger', '/proc/1/mem', '/proc/1/oom_score_adj', '/dev/kmsg', '/dev/tty')]"
        "\n" + ALL_MUST_FAIL + "raise SystemExit('refused')",
        "",
        "refused",
    ),
    "follows links out": (
        "import os\ndef use(to):\n    os.symlink(to, '/tmp/' + str(len(os.listdir('/tmp'))))\n"
        "    open('/tmp/' + str(len(os.listdir('/tmp')) - 1)).read()\n"
        "tries = [lambda p=p: use(p) for p in ('/etc/shadow', '/proc/1/root/etc/shadow',"
        " '../../../../etc/shadow', '/proc/self/cwd/../etc/passwd')]\n"
        + ALL_MUST_FAIL
        + "raise SystemExit('refused')",
        "",
        "refused",
    ),
    "deletes Python": (
        "import os, shutil, sys\nshutil.rmtree(os.path.dirname(os.__file__), ignore_errors=True)\n"
        "os.remove(os.__file__)",
        "",
        "OSError",
    ),
    "descendants that outlive it": (
        "import os, time\nfor _ in range(4):\n    if os.fork() == 0:\n        os.setsid()\n"
        "        if os.fork() == 0:\n            while True: time.sleep(1)\n"
        "        os._exit(0)\nos._exit(0)",
        "",
        "early",
    ),
    "closes every file": ("import os\nos.closerange(0, 256)\nwhile True: pass", "time", ""),
    "names without end": (
        "import os\nos.chdir('/tmp')\nwhile True: os.mkdir('d' * 255); os.chdir('d' * 255)",
        "",
        "",
    ),
    "a file full of holes": (
        "open('/tmp/x', 'w')\nimport os\nos.truncate('/tmp/x', 1 << 40)",
        "",
        "too large",
    ),
    "says at its end that it passed": (
        "import atexit, os\natexit.register(lambda: (os.write(1, b'passed'), os._exit(0)))\n"
        "raise SystemExit(0)",
        "",
        "early",
    ),
    "hides its failure": (
        "import os, sys\nsys.excepthook = lambda *_: os._exit(0)\nassert False",
        "",
        "early",
    ),
    "replaces the words of tests": (
        "import builtins, os\nbuiltins.AssertionError = SystemExit\nbuiltins.exec = print\n"
        "os.write = os.read = lambda *_: b''\nassert False",
        "",
        "AssertionError",
    ),
    "forges from variables": (FORGED.format("vars(__main__).values(),"), "", "early"),
    "forges from frames": (
        FORGED.format(
            "one for frame in frames for one in (frame.f_locals.values(), frame.f_globals.values())"
        ),
        "",
        "early",
    ),
    "forges from all objects": (
        FORGED.format(
            "list(one.values()) if type(one) is dict else one"
            " for one in gc.get_objects() if type(one) in (dict, list, tuple)"
        ),
        "",
        "early",
    ),
    "no Python": ("def f(:", "", "SyntaxError"),
    "a NUL and half a letter": ("x = '\x00\ud800'", "", ""),
}


def run(program: str, limits: Limits = LIMITS) -> Ran:
    return asyncio.run(Bubblewrap().run(program, limits))


@pytest.mark.share(3)
@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_program_ends_in_time_and_harms_nothing(name: str) -> None:
    program, stopped_for, word = HOSTILE[name]

    async def served(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reached.append(name)
        writer.close()

    reached: list[str] = []
    async with await asyncio.start_server(served, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        clone = "56" if platform.machine() == "x86_64" else "220"
        filled = program.replace("{port}", str(port)).replace("{clone}", clone)
        ran = await Bubblewrap().run(filled, LIMITS)
    assert not ran.finished
    assert not reached
    if stopped_for:
        assert ran.stopped_for == stopped_for, ran
    assert word in ran.why, ran
    assert len(ran.stdout) <= LIMITS.output
    assert "\n" not in ran.why


def test_what_a_program_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    begun = time.monotonic()
    ran = run(
        "import os, time\nif os.fork() == 0:\n    os.setsid(); time.sleep(600)\nprint('over')"
    )
    assert (ran.finished, ran.stdout) == (True, "over\n")
    assert time.monotonic() - begun < 60


def test_a_program_sees_neither_our_files_nor_our_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789")
    secret = tmp_path / "secret"
    secret.write_text("planted")
    ran = run(
        f"import os\nprint(os.path.exists({str(secret)!r}), sorted(os.environ))\n"
        f"print(os.listdir('/tmp'), os.path.exists({str(Path.home())!r} + '/.ssh'))"
    )
    assert ran.stdout.splitlines()[1] == "[] False"
    assert "False" in ran.stdout.splitlines()[0]
    assert "OPENAI" not in ran.stdout
    assert "planted" not in ran.stdout


def test_a_good_program_finishes_with_the_standard_library() -> None:
    ran = run(
        "import collections, hashlib, json, math, re, socket, sqlite3, ssl, typing\n"
        "open('/tmp/x', 'w').write('kept')\nprint(open('/tmp/x').read())\n"
        "if __name__ == '__main__':\n    print(json.dumps({'é': 1}, ensure_ascii=False))"
    )
    assert ran == Ran(True, "", 'kept\n{"é": 1}\n', "")
    assert ran.why == ""


def test_order_is_the_same_each_time() -> None:
    assert len({run("print({'a', 'b', 'c', 'd', 'e'})").stdout for _ in range(3)}) == 1


def test_programs_run_side_by_side_and_are_cancelled() -> None:
    async def check() -> None:
        box = Bubblewrap()
        good = await asyncio.gather(*(box.run(f"print({n})", LIMITS) for n in range(5)))
        assert [ran.stdout for ran in good] == [f"{n}\n" for n in range(5)]
        endless = asyncio.create_task(box.run("while True: pass", Limits(seconds=600)))
        await asyncio.sleep(0)  # it is being started
        endless.cancel()
        with pytest.raises(asyncio.CancelledError):
            await endless

    asyncio.run(check())


async def test_the_first_that_works_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await find_sandbox()).name == "bubblewrap"
    broken = _program(
        tmp_path / "bwrap", "echo 'bwrap: No permissions to create new namespace' >&2; exit 1"
    )
    podman = _program(
        tmp_path / "podman",
        f'echo "$@" >> {tmp_path}/said; [ "$1" = rm ] && exit\n'
        'while [ "$1" != python ]; do shift; done\n'
        f'exec {shutil.which("python3")} "${{@:2}}"',
    )
    monkeypatch.setattr(
        sandbox, "_where", lambda name: {"bwrap": broken, "podman": podman}.get(name)
    )
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    found = await find_sandbox()
    assert found.name == "podman"
    said = (tmp_path / "said").read_text()
    for word in ("--network none", "--read-only", "--pids-limit 64", "--cap-drop ALL", "--rm"):
        assert word in said
    assert "rm --force evalbench-" in said


async def test_without_any_nothing_is_run_unless_the_user_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "_where", lambda name: None)
    with pytest.raises(SandboxMissing, match="apt install bubblewrap") as none:
        await find_sandbox()
    assert "neither bubblewrap nor podman nor docker is installed" in str(none.value)
    assert none.value.exit_code == 5
    unsafe = await find_sandbox(unsafe=True)
    assert unsafe.name == "none"
    assert (await unsafe.run("print(1)", LIMITS)).stdout == "1\n"
    assert (await unsafe.run("while True: pass", Limits(seconds=1))).stopped_for == "time"
    broken = _program(tmp_path / "bwrap", "echo 'no namespaces here' >&2; exit 1")
    monkeypatch.setattr(sandbox, "_where", lambda name: broken if name == "bwrap" else None)
    with pytest.raises(SandboxMissing, match="bubblewrap cannot start: no namespaces here"):
        await find_sandbox()


def _program(path: Path, script: str) -> str:
    path.write_text(f"#!/bin/bash\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)

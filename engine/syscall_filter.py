"""A seccomp filter of system calls, for programs in bubblewrap.

It refuses memory that no limit counts (System V segments, ``memfd``, a ``tmpfs`` in namespaces of
the program's own), and what a program that computes something never needs: namespaces, mounts,
debugging, keyrings, BPF, ``io_uring``.

The format is that of Linux's ``Documentation/userspace-api/seccomp_filter.rst``; the numbers are
those of ``unistd_64.h`` and ``asm-generic/unistd.h``.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Iterator
from functools import cache

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""``AUDIT_ARCH_…`` by the machine's name."""

_REFUSED: dict[str, tuple[int, int]] = {
    # name: its number on x86-64, on AArch64
    "add_key": (248, 217),
    "bpf": (321, 280),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "io_uring_setup": (425, 425),
    "keyctl": (250, 219),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "msgget": (68, 186),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pivot_root": (155, 41),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "request_key": (249, 218),
    "semget": (64, 190),
    "setns": (308, 268),
    "shmget": (29, 194),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
}
_CLONE, _CLONE3 = (56, 220), (435, 435)
_NEW_NAMESPACES = 0x7E020000
"""``CLONE_NEWUSER``, ``CLONE_NEWNS`` and the others that ``clone`` takes."""
_OF_X32 = 0x40000000
"""Numbers from here on are x32's names for the same calls."""

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _FLAGS_AT = 0, 4, 16
"""Offsets in ``struct seccomp_data``; flags are the low half of the first argument."""
_ALLOWED, _FAILS = 0x7FFF0000, 0x00050000


@cache
def syscall_filter(machine: str = "") -> bytes:
    """The filter as ``bwrap --seccomp`` reads it; empty for a processor whose numbers are not here.

    Args:
        machine: as ``platform.machine`` names it; this one if empty.
    """
    machine = machine or platform.machine()
    if machine not in _ARCHITECTURES:
        return b""
    at = list(_ARCHITECTURES).index(machine)
    return b"".join(struct.pack("HBBI", *one) for one in _instructions(_ARCHITECTURES[machine], at))


def _instructions(architecture: int, at: int) -> Iterator[tuple[int, int, int, int]]:
    """Operation, instructions skipped if true and if false, and operand."""
    refused = (_RETURN, 0, 0, _FAILS | errno.EPERM)
    yield _LOAD, 0, 0, _ARCHITECTURE_AT
    yield _EQUAL, 1, 0, architecture
    yield refused
    yield _LOAD, 0, 0, _NUMBER_AT
    yield _AT_LEAST, 0, 1, _OF_X32
    yield refused
    for numbers in _REFUSED.values():
        yield _EQUAL, 0, 1, numbers[at]
        yield refused
    # A filter cannot see the flags of clone3; C libraries go on with clone if there is none.
    yield _EQUAL, 0, 1, _CLONE3[at]
    yield _RETURN, 0, 0, _FAILS | errno.ENOSYS
    yield _EQUAL, 0, 3, _CLONE[at]
    yield _LOAD, 0, 0, _FLAGS_AT
    yield _ANY_BIT, 0, 1, _NEW_NAMESPACES
    yield refused
    yield _RETURN, 0, 0, _ALLOWED

"""What the filter of system calls says, interpreted as the kernel would."""

from __future__ import annotations

import errno
import struct

import pytest

from evalbench.engine.syscall_filter import syscall_filter

X86, ARM = 0xC000003E, 0xC00000B7
ALLOWED, REFUSED, UNKNOWN = 0x7FFF0000, 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS
NEW_USER, THREAD = 0x10000000, 0x3D0F00


def verdict(machine: str, architecture: int, number: int, flags: int = 0) -> int:
    """What the filter returns for a call whose first argument is ``flags``."""
    rules = list(struct.iter_unpack("HBBI", syscall_filter(machine)))
    seen = struct.pack("IIQQ", number, architecture, 0, flags)
    value, at = 0, 0
    while True:
        code, if_true, if_false, operand = rules[at]
        at += 1
        match code:
            case 0x20:
                [value] = struct.unpack_from("I", seen, operand)
            case 0x06:
                return int(operand)
            case 0x15:
                at += if_true if value == operand else if_false
            case 0x35:
                at += if_true if value >= operand else if_false
            case 0x45:
                at += if_true if value & operand else if_false
            case _:
                raise AssertionError(code)


@pytest.mark.parametrize(
    ("machine", "architecture", "number", "flags", "expected"),
    [
        ("x86_64", X86, 0, 0, ALLOWED),  # read
        ("x86_64", X86, 319, 0, REFUSED),  # memfd_create
        ("x86_64", X86, 323, 0, REFUSED),  # userfaultfd, the last
        ("x86_64", X86, 272, NEW_USER, REFUSED),  # unshare
        ("x86_64", X86, 56, THREAD, ALLOWED),  # clone
        ("x86_64", X86, 56, NEW_USER | 17, REFUSED),
        ("x86_64", X86, 435, 0, UNKNOWN),  # clone3
        ("x86_64", X86, 0x40000000 | 319, 0, REFUSED),  # by x32's name
        ("x86_64", 0x40000003, 3, 0, REFUSED),  # of 32 bits
        ("aarch64", ARM, 63, 0, ALLOWED),
        ("aarch64", ARM, 279, 0, REFUSED),
        ("aarch64", ARM, 220, THREAD, ALLOWED),
        ("aarch64", ARM, 220, NEW_USER, REFUSED),
        ("aarch64", ARM, 319, 0, ALLOWED),
        ("aarch64", X86, 63, 0, REFUSED),
    ],
)
def test_what_is_refused(
    machine: str, architecture: int, number: int, flags: int, expected: int
) -> None:
    assert verdict(machine, architecture, number, flags) == expected


def test_no_filter_is_better_than_one_of_other_numbers() -> None:
    assert syscall_filter("riscv64") == b""

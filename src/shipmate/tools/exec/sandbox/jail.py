"""Lock this process up with Landlock and seccomp, then become the command.

Runs as a script of its own in the child, with the standard library alone:

    python -I -S jail.py (--read PATH | --write PATH | --list PATH)… [--network] -- COMMAND…
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 1, 38, 22
PR_CAPBSET_DROP, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, CAPABILITY_COUNT = 24, 47, 4, 64
SIGKILL = 9

# Rights on files, by the version of Landlock that brought them.
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
FIRST_RIGHTS, REFER, TRUNCATE, IOCTL_DEVICE = (1 << 13) - 1, 1 << 13, 1 << 14, 1 << 15
FOR_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE
READ = EXECUTE | READ_FILE | READ_DIR
TCP_BIND_AND_CONNECT, ABSTRACT_SOCKETS_AND_SIGNALS = 3, 3

# audit architecture, number of socket(2); io_uring_setup(2) has one number everywhere.
SOCKET_CALLS = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
IO_URING_SETUP = 425
X32_BIT = 0x40000000
INTERNET_FAMILIES = (2, 10, 17, 40)


def check(result: int) -> int:
    """Stop when the kernel refused: nothing may run half locked up."""
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def landlock_version() -> int:
    """Give the kernel's Landlock version, 0 or less when it has none."""
    return LIBC.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1)


def all_rights(version: int) -> int:
    """Give every right on files that this kernel can withhold."""
    return (
        FIRST_RIGHTS
        | (REFER * (version >= 2))
        | (TRUNCATE * (version >= 3))
        | (IOCTL_DEVICE * (version >= 5))
    )


def restrict(rules: list[tuple[int, str]], network: bool) -> None:
    """Withhold everything but what the rules give."""
    version = landlock_version()
    if version < 1:
        raise OSError(errno.EOPNOTSUPP, "Landlock is not available")
    rights = all_rights(version)
    sealed = TCP_BIND_AND_CONNECT if version >= 4 and not network else 0
    scoped = ABSTRACT_SOCKETS_AND_SIGNALS if version >= 6 else 0
    attribute = struct.pack("=QQQ", rights, sealed, scoped)[
        : 24 if version >= 6 else 16 if version >= 4 else 8
    ]
    ruleset = check(LIBC.syscall(CREATE_RULESET, attribute, ctypes.c_size_t(len(attribute)), 0))
    for allowed, path in rules:
        add_rule(ruleset, allowed & rights, path)
    check(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    check(LIBC.syscall(RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def add_rule(ruleset: int, allowed: int, path: str) -> None:
    """Give rights below a path; one that has gone meanwhile needs none."""
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    if not os.path.isdir(path):  # noqa: PTH112 - pathlib would double the start time
        allowed &= FOR_FILES
    rule = struct.pack("=Qi", allowed, handle)
    check(LIBC.syscall(ADD_RULE, ruleset, 1, rule, 0))
    os.close(handle)


def drop_capabilities() -> None:
    """Give up root's powers: with them a process may read another's environment past Landlock."""
    check(LIBC.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
    if os.geteuid() == 0:
        for capability in range(CAPABILITY_COUNT):
            # Fails for numbers this kernel does not know; those it knows are then gone after exec.
            LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


def seal_network() -> None:
    """Refuse internet sockets of any kind; Landlock alone knows TCP only."""
    architecture, socket_call = SOCKET_CALLS[platform.machine()]
    allow, refuse = 0x7FFF0000, 0x00050000 | errno.EPERM
    families = [
        (0x15, len(INTERNET_FAMILIES) - 1 - at, 0, family) for at, family in enumerate(INTERNET_FAMILIES)
    ]
    count = len(families)
    program = [
        (0x20, 0, 0, 4),  # the architecture
        (0x15, 0, count + 6, architecture),
        (0x20, 0, 0, 0),  # the call
        (0x35, count + 4, 0, X32_BIT),
        (0x15, count + 3, 0, IO_URING_SETUP),
        (0x15, 0, count + 1, socket_call),
        (0x20, 0, 0, 16),  # its first argument, the family
        *[(code, jump + 1, miss, value) for code, jump, miss, value in families],
        (0x06, 0, 0, allow),
        (0x06, 0, 0, refuse),
    ]
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    filter_program = struct.pack("HxxxxxxP", len(program), ctypes.addressof(buffer))
    check(LIBC.prctl(PR_SET_SECCOMP, 2, filter_program, 0, 0))


def main(arguments: list[str]) -> None:
    """Read the rules, lock up, and run the command."""
    split = arguments.index("--")
    options, command = arguments[:split], arguments[split + 1 :]
    network = "--network" in options
    options = [option for option in options if option != "--network"]
    rights = {"--read": READ, "--write": all_rights(landlock_version()), "--list": READ_DIR}
    rules = [(rights[kind], path) for kind, path in zip(options[::2], options[1::2], strict=True)]
    LIBC.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
    drop_capabilities()
    restrict(rules, network)
    if not network:
        seal_network()
    os.execvp(command[0], command)  # noqa: S606 - becoming the command is the purpose


if __name__ == "__main__":
    main(sys.argv[1:])

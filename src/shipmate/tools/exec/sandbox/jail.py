"""Watch over a command so that nothing of it outlives it; lock it up with Landlock and seccomp where asked.

Runs as a script of its own in the child, with the standard library alone:

    python -I -S jail.py PARENT [--lock] [--network] (--read PATH | --write PATH | --list PATH)… -- COMMAND…
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import stat
import struct
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
OPENAT2, AT_FDCWD, RESOLVE_NO_SYMLINKS = 437, -100, 4
PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, PR_SET_CHILD_SUBREAPER = 1, 38, 22, 36
PR_CAPBSET_DROP, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, CAPABILITY_COUNT = 24, 47, 4, 64
# Ends the command and all it started; it comes also when the parent is gone. SIGTERM is passed on.
END_SIGNAL = signal.SIGUSR1
SIGNALS = (signal.SIGCHLD, signal.SIGTERM, END_SIGNAL)

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
# The only kinds of sockets: to the kernel, and to the internet where allowed. None to programs of the host.
NETLINK, INTERNET = 16, (2, 10)


def check(result: int) -> int:
    """Stop when the kernel refused: nothing may run half locked up."""
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def landlock_version() -> int:
    """Return the kernel's Landlock version, 0 or less when it has none."""
    return LIBC.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1)


def all_rights(version: int) -> int:
    """Return every right on files that this kernel can withhold."""
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
    """Grant rights below a path; one that is gone, or has become a link meanwhile, gets none."""
    try:
        handle = open_place(path, follows_links=allowed == READ)
    except OSError:
        return
    if not stat.S_ISDIR(os.fstat(handle).st_mode):
        allowed &= FOR_FILES
    rule = struct.pack("=Qi", allowed, handle)
    check(LIBC.syscall(ADD_RULE, ruleset, 1, rule, 0))
    os.close(handle)


def open_place(path: str, *, follows_links: bool) -> int:
    """Open a path for a rule, with links nowhere in it unless they may be followed."""
    flags = os.O_PATH | os.O_CLOEXEC
    if follows_links:
        return os.open(path, flags)
    how = struct.pack("=QQQ", flags, 0, RESOLVE_NO_SYMLINKS)
    return check(LIBC.syscall(OPENAT2, AT_FDCWD, os.fsencode(path), how, ctypes.c_size_t(len(how))))


def drop_capabilities() -> None:
    """Drop root's powers: with them a process may read another's environment past Landlock."""
    check(LIBC.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
    if os.geteuid() == 0:
        for capability in range(CAPABILITY_COUNT):
            # Fails for numbers this kernel does not know; those it knows are then gone after exec.
            LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


def socket_filter(*, network: bool) -> bytes:
    """Return a seccomp program that lets sockets of few kinds be made; Landlock alone knows TCP only."""
    architecture, socket_call = SOCKET_CALLS[os.uname().machine]
    allow, refuse = 0x7FFF0000, 0x00050000 | errno.EPERM
    families = (NETLINK, *INTERNET) if network else (NETLINK,)
    count = len(families)
    # What is not a call to socket(2) jumps to the last line, what is forbidden to the one before it.
    program = [
        (0x20, 0, 0, 4),  # the architecture
        (0x15, 0, count + 5, architecture),
        (0x20, 0, 0, 0),  # the call
        (0x35, count + 3, 0, X32_BIT),
        (0x15, count + 2, 0, IO_URING_SETUP),
        (0x15, 0, count + 2, socket_call),
        (0x20, 0, 0, 16),  # its first argument, the family
        *[(0x15, count - at, 0, family) for at, family in enumerate(families)],
        (0x06, 0, 0, refuse),
        (0x06, 0, 0, allow),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def seal_sockets(network: bool) -> None:
    """Refuse sockets to anything outside but, where allowed, the internet."""
    code = socket_filter(network=network)
    buffer = ctypes.create_string_buffer(code, len(code))
    filter_program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    check(LIBC.prctl(PR_SET_SECCOMP, 2, filter_program, 0, 0))


def become(options: list[str], command: list[str]) -> None:
    """Lock this process up as the options say, and become the command."""
    # A group of its own, so that a signal to the command does not reach the one who watches.
    os.setpgid(0, 0)
    if "--lock" in options:
        network = "--network" in options
        options = [option for option in options if option not in ("--lock", "--network")]
        rights = {"--read": READ, "--write": all_rights(landlock_version()), "--list": READ_DIR}
        rules = [(rights[kind], path) for kind, path in zip(options[::2], options[1::2], strict=True)]
        drop_capabilities()
        restrict(rules, network)
        seal_sockets(network)
    os.execvp(command[0], command)  # noqa: S606 - becoming the command is the purpose


def descendants() -> list[int]:
    """Return all processes below this one; those whose parent ended are its children too."""
    parents: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                    parent = int(file.read().rpartition(b")")[2].split()[1])
            except OSError:
                continue
            parents.setdefault(parent, []).append(int(name))
    found = list(parents.get(os.getpid(), ()))
    for process in found:
        found += parents.get(process, ())
    return found


def end_all() -> None:
    """End every process below this one, however fast they multiply."""
    while living := descendants():
        # Stopped ones make no more; who was made meanwhile is found in the next round.
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for process in living:
                try:
                    os.kill(process, number)
                except ProcessLookupError:
                    continue
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return


def watch(child: int) -> int:
    """Wait for the command to end, and return how it ended; by order, end it and all it started."""
    while True:
        number = signal.sigwait(SIGNALS)
        if number == END_SIGNAL:
            end_all()
            os.kill(os.getpid(), signal.SIGKILL)
        if number == signal.SIGTERM:
            os.killpg(child, signal.SIGTERM)
        try:
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == child:
                    end_all()
                    code = os.waitstatus_to_exitcode(ended[1])
                    return code if code >= 0 else 128 - code
        except ChildProcessError:
            return 128 + signal.SIGKILL


def main(arguments: list[str]) -> int:
    """Run a command and see to its end."""
    split = arguments.index("--")
    options, command = arguments[1:split], arguments[split + 1 :]
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    LIBC.prctl(PR_SET_PDEATHSIG, int(END_SIGNAL), 0, 0, 0)
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if os.getppid() != int(arguments[0]):
        return 1
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        try:
            become(options, command)
        except OSError as error:
            print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        os._exit(127)
    return watch(child)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

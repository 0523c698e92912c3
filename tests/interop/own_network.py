"""A network namespace for Apache's broker, which listens on every address, so that no other process reaches it."""

import ctypes
import errno
import fcntl
import os
import socket
import struct
from pathlib import Path

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCSIFADDR = 0x8913, 0x8914, 0x8916
UP = 1
LOOPBACK = "lo"
ADDRESS = "10.99.99.1"  # some clients name themselves by an address, and by none of 127


def is_private() -> bool:
    """Is there nothing here but a loopback device?"""
    return [name for _, name in socket.if_nameindex()] == [LOOPBACK]


def enter() -> bool:
    """Move this thread, and every process it starts, into a namespace; whether that could be done.

    Without root's rights it takes a user namespace, too, and a process with this one thread.
    """
    if is_private():
        return True
    mine = os.geteuid(), os.getegid()
    if not _unshare(CLONE_NEWNET):
        if not _unshare(CLONE_NEWUSER | CLONE_NEWNET):
            return False
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {mine[0]} 1")
        Path("/proc/self/gid_map").write_text(f"0 {mine[1]} 1")
    with socket.socket() as any_socket:
        _bring_up(any_socket)
    return True


def _unshare(flags: int) -> bool:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags) == 0:
        return True
    assert ctypes.get_errno() in (errno.EPERM, errno.EINVAL, errno.ENOSPC, errno.ENOSYS), ctypes.get_errno()
    return False


def _bring_up(any_socket: socket.socket) -> None:
    """As `ip link set lo up; ip address add … dev lo` do (netdevice(7))."""
    name = struct.pack("16s", LOOPBACK.encode())
    (flags,) = struct.unpack_from("h", fcntl.ioctl(any_socket, SIOCGIFFLAGS, name + bytes(24)), 16)
    fcntl.ioctl(any_socket, SIOCSIFFLAGS, name + struct.pack("h22x", flags | UP))
    alias = struct.pack("16s", f"{LOOPBACK}:1".encode())
    address = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(ADDRESS))
    fcntl.ioctl(any_socket, SIOCSIFADDR, alias + address + bytes(8))

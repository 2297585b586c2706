#!/usr/bin/python3
"""Runs the program that SLIPWAY_TEST_PROGRAM names, so that it cannot watch the network interfaces of this machine.

Chromium aborts its requests when an interface comes or goes (net::ERR_NETWORK_CHANGED). Other tests make and remove
interfaces all the time. Without netlink sockets it does not hear of them.
"""
import ctypes
import os
import platform
import struct
import sys

AF_NETLINK, EACCES = 16, 13
# Architecture of the kernel's audit, and number of the system call `socket`.
AUDIT_ARCH, SOCKET = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}[platform.machine()]
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
# Offsets in struct seccomp_data: number, architecture, lower half of the first argument.
NUMBER_AT, ARCH_AT, ARGUMENT_AT = 0, 4, 16

FILTER = [
    (LOAD, 0, 0, ARCH_AT),
    (EQUAL, 0, 5, AUDIT_ARCH),
    (LOAD, 0, 0, NUMBER_AT),
    (EQUAL, 0, 3, SOCKET),
    (LOAD, 0, 0, ARGUMENT_AT),
    (EQUAL, 0, 1, AF_NETLINK),
    (RETURN, 0, 0, ERRNO | EACCES),
    (RETURN, 0, 0, ALLOW),
]


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def call(libc: ctypes.CDLL, *arguments: object) -> None:
    if libc.prctl(*arguments) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


code = b"".join(struct.pack("HBBI", *line) for line in FILTER)
libc = ctypes.CDLL(None, use_errno=True)
call(libc, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
call(libc, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(Program(len(FILTER), code)), 0, 0)
program = os.environ["SLIPWAY_TEST_PROGRAM"]
os.execv(program, [program, *sys.argv[1:]])

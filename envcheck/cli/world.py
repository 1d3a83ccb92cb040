"""Where a command's facts come from: the matrix, and a host that is this machine, a recording or a report."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, cast

from envcheck.cli.options import Common
from envcheck.errors import CannotTellError, UsageError
from envcheck.model.host import HostReport

if TYPE_CHECKING:
    from io import BufferedReader

    from envcheck.matrix.load import Matrix
    from envcheck.probes.look import OwnInterpreter
    from envcheck.system.port import System

_ADDRESS = re.compile(r"\d{1,3}(\.\d{1,3}){3}|::|\[?[0-9a-f:]*::[0-9a-f:]*\]?|localhost")


def load_matrix(common: Common) -> Matrix:
    """The facts to judge by."""
    from envcheck.matrix.load import load

    return load(common.matrix_dir)


def load_host(common: Common, matrix: Matrix) -> HostReport:
    """The host asked about, stated facts laid over it."""
    report = _given(common) if common.host and not os.path.isdir(common.host) else _probed(common, matrix)
    if common.overrides:
        from envcheck.probes.overrides import apply

        report = apply(report, common.overrides)
    return report


def _probed(common: Common, matrix: Matrix) -> HostReport:
    from envcheck.probes.collect import collect

    own = None if common.host else _ourselves()
    return collect(_system(common), matrix.cloud_matchers(), matrix.maker_signs(), common.python, own)


def _ourselves() -> OwnInterpreter:
    """The interpreter running us, which need not be started to be looked at."""
    from envcheck.probes.look import OwnInterpreter

    version = ".".join(str(part) for part in sys.version_info[:3])
    return OwnInterpreter(sys.executable, version, sys.prefix, sys.base_prefix)


def _system(common: Common) -> System:
    if common.host:
        from envcheck.system.rooted import RootedSystem

        return RootedSystem(common.host)
    from envcheck.system.real import RealSystem

    return RealSystem(offline=common.offline)


def _given(common: Common) -> HostReport:
    from envcheck.readers.host_file import HOST_LIMIT, parse_host

    name = common.host or "-"
    return parse_host(read_bounded(name, HOST_LIMIT), "standard input" if name == "-" else name)


def standard_input() -> BufferedReader:
    """The bytes of standard input. Raises CannotTellError where we were started without one."""
    if sys.stdin is None:
        raise CannotTellError("error.input-closed")
    return cast("BufferedReader", sys.stdin.buffer)


def read_bounded(name: str, limit: int) -> bytes:
    """At most `limit` + 1 bytes of a file, or of standard input for `-`: one more than allowed shows that it is too long."""
    try:
        if name == "-":
            return standard_input().read(limit + 1)
        with open(name, "rb") as file:
            return file.read(limit + 1)
    except FileNotFoundError:
        raise UsageError("error.host-is-address" if _ADDRESS.fullmatch(name) else "error.host-not-found", name=name) from None
    except (OSError, ValueError) as error:
        raise CannotTellError("error.file-unreadable", name=name, why=str(getattr(error, "strerror", None) or error)) from None

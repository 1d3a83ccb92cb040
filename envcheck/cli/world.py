"""Where a command's facts come from: the matrix, and a host that is this machine, a recording or a report."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, cast

import msgspec

from envcheck.cli.asked import Common
from envcheck.errors import CannotTellError, UsageError
from envcheck.model.host import HostReport

if TYPE_CHECKING:
    from io import BufferedReader

    from envcheck.matrix.load import Matrix
    from envcheck.model.network import NetworkPlaces
    from envcheck.probes.look import OwnInterpreter
    from envcheck.system.port import System
    from envcheck.system.real import RealSystem
    from envcheck.system.recording import RecordingSystem

_ADDRESS = r"\d{1,3}(\.\d{1,3}){3}|::|\[?[0-9a-f:]*::[0-9a-f:]*\]?|localhost"


def load_matrix(common: Common) -> Matrix:
    """The facts to judge by."""
    from envcheck.matrix.load import load

    return load(common.matrix_dir)


def this_machine(common: Common) -> RealSystem | None:
    """The machine we run on, where it is the one asked about; its driver is being asked already, while the facts are loaded."""
    if common.host:
        return None
    from envcheck.system.real import RealSystem

    system = RealSystem(offline=common.offline)
    system.begin_nvml()
    return system


def load_host(common: Common, matrix: Matrix, system: System | None = None) -> HostReport:
    """The host asked about, stated facts laid over it; `system` = `this_machine`, where that has been called."""
    if is_document(common):
        report = _given(common)
    else:
        from envcheck.probes.collect import collect

        own, places = _own(common), _places(common, matrix)
        report = collect(system or _system(common), matrix.cloud_matchers(), matrix.maker_signs(), common.python, own, places=places)
    return _stated(report, common)


class Visit(msgspec.Struct, frozen=True):
    """A host looked at in full: the report as asked, the report before facts were stated, the recording where one was wanted."""

    report: HostReport
    before: HostReport
    recording: RecordingSystem | None = None


def visit_host(common: Common, matrix: Matrix, *, record: bool = False, explain: bool = False) -> Visit:
    """The host asked about, also with what costs a process each; `explain` = with every source asked for a fact.

    UsageError where a document, which answers no questions, is to be recorded.
    """
    if is_document(common):
        if record:
            raise UsageError("error.record-document", name=common.host or "-")
        before = _given(common)
        return Visit(_stated(before, common), before)
    from envcheck.probes.assemble import assemble
    from envcheck.probes.collect import gather
    from envcheck.probes.look import Look

    system, recording = _system(common), None
    if record:
        from envcheck.system.recording import RecordingSystem

        system = recording = RecordingSystem(system)
    signs, places = (matrix.cloud_matchers(), matrix.maker_signs()), _places(common, matrix)
    # What this interpreter knows of itself would not be in a recording.
    look = Look(system, *signs, common.python, None if record else _own(common), full=True, network=places)
    before = assemble(gather(look), explain=explain)
    return Visit(_stated(before, common), before, recording)


def is_document(common: Common) -> bool:
    """Whether the host is given as a report rather than as a machine or a recording."""
    return bool(common.host) and not os.path.isdir(common.host or "")


def _stated(report: HostReport, common: Common) -> HostReport:
    if not common.overrides:
        return report
    from envcheck.probes.overrides import apply

    return apply(report, common.overrides)


def _own(common: Common) -> OwnInterpreter | None:
    return None if common.host else _ourselves()


def _places(common: Common, matrix: Matrix) -> NetworkPlaces | None:
    if not common.network:
        return None
    from envcheck.matrix.places import network_places

    return network_places(matrix)


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
        raise UsageError("error.host-is-address" if re.fullmatch(_ADDRESS, name) else "error.host-not-found", name=name) from None
    except (OSError, ValueError) as error:
        raise CannotTellError("error.file-unreadable", name=name, why=str(getattr(error, "strerror", None) or error)) from None

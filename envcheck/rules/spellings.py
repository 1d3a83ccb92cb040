"""One spelling for states that tools print and people copy: `Failed to initialize NVML: Unknown Error`, `In Progress`, `Enabled`.

A text that is not understood stays as it is: then it counts as another state, not as a good one.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from envcheck.model.host import Gpu, HostReport, known

_LONGEST = 400  # characters of a message that are looked at
# Fragments of what NVML, its Python binding and nvidia-smi say, without anything but letters, in the order in which they decide.
_NVML = (
    ("LibRmVersionMismatch", ("versionmismatch", "librmversion")),
    ("LibraryNotFound", ("librarynotfound", "cannotopensharedobject", "couldntfindlibnvidiaml", "cantfindlibnvidiaml")),
    ("DriverNotLoaded", ("drivernotloaded", "couldntcommunicatewith", "couldnotcommunicatewith", "makesurethatthelatestnvidiadriver")),
    ("GpuIsLost", ("gpuislost", "fallenoffthebus", "determinethedevicehandle")),
    ("ResetRequired", ("resetrequired", "requiresreset", "requiresareset", "needstobereset")),
    ("NoPermission", ("insufficientpermission", "nopermission", "permissiondenied")),
    ("OperatingSystem", ("operatingsystem",)),
    ("Timeout", ("timeout", "timedout")),
    ("ok", ("nodeviceswerefound", "nodevicesfound")),  # it answered, and lists none
    ("Unknown", ("unknownerror", "nvmlerrorunknown")),
)
_NVML_WORDS = {"ok": "ok", "success": "ok", "working": "ok", "unknown": "Unknown"}
_FABRIC = {"complete": "completed", "notsupported": "unsupported", "na": "unsupported", "success": "completed"}
_FABRIC_STATES = ("in-progress", "not-started", "completed", "unsupported")
_RUNNING, _STOPPED = ("active", "activerunning", "running"), ("inactive", "inactivedead", "dead", "failed", "disabled", "exited")
_MISSING = ("notinstalled", "notfound", "missing", "unitnotfound", "couldnotbefound")
_OFF = ("", "disabled", "off", "no", "none", "na", "notsupported", "false", "0")
_FOREIGN = ("windows", "macos", "mac os", "os x", "darwin", "freebsd")
_ON = ("enabled", "on", "yes", "true", "1")


def canonical(host: HostReport) -> HostReport:
    """The host document with the states that rules compare in their one spelling; the same object where all are."""
    changed: dict[str, Any] = {}
    driver, fabric, modules = known(host.driver), known(host.fabric), known(host.kernel_modules)
    if driver is not None:
        _put(changed, "driver", driver, {"nvml": nvml_state, "flavour": module_flavour})
    if fabric is not None:
        _put(changed, "fabric", fabric, {"state": fabric_state, "manager": manager_state})
    if modules is not None:
        _put(changed, "kernel_modules", modules, {"flavour_on_disk": module_flavour})
    container = known(host.container)
    if container is not None:
        _put(changed, "container", container, {"kind": _lower})
    gpus = known(host.gpus)
    if gpus:
        spelt = [_gpu(gpu) for gpu in gpus]
        if any(new is not old for new, old in zip(spelt, gpus, strict=True)):
            changed["gpus"] = spelt
    return replace(host, **changed) if changed else host


def _put(changed: dict[str, Any], name: str, part: Any, fields: dict[str, Any]) -> None:
    """A part with the fields whose spelling is another one, where there are any."""
    new = {
        field: spelt
        for field, spell in fields.items()
        if isinstance(old := getattr(part, field), str) and (spelt := spell(old[:_LONGEST])) != old
    }
    if new:
        changed[name] = replace(part, **new)


def _gpu(gpu: Gpu) -> Gpu:
    """A GPU's modes; most host documents state none."""
    changed: dict[str, Any] = {}
    if isinstance(gpu.mig, str) and (mode := _letters(gpu.mig)) in (*_OFF, *_ON):
        changed["mig"] = mode in _ON
    if gpu.compute_mode is not UNSET or gpu.virtualization is not UNSET:
        _modes(gpu, changed)
    return replace(gpu, **changed) if changed else gpu


def _modes(gpu: Gpu, changed: dict[str, Any]) -> None:
    for field in ("compute_mode", "virtualization"):
        old = getattr(gpu, field)
        if isinstance(old, str):
            new = old[:_LONGEST].strip().lower().replace("_", "-").replace(" ", "-").replace("pass-through", "passthrough")
            if new != old:
                changed[field] = new


def nvml_state(text: str) -> str:
    """NVML's state: `ok`, or the error's name as the binding has it; other text as it is."""
    if text == "ok":
        return text
    letters = _letters(text)
    if letters in _NVML_WORDS:
        return _NVML_WORDS[letters]
    return next((name for name, fragments in _NVML if any(fragment in letters for fragment in fragments)), text)


def fabric_state(text: str) -> str:
    """The fabric's state: `in-progress`, `not-started`, `completed`, `unsupported`, or one that begins with `failed`."""
    plain = "-".join(text.lower().replace("_", " ").replace("-", " ").split())
    if plain.startswith(_FABRIC_STATES):
        return next(state for state in _FABRIC_STATES if plain.startswith(state))
    if plain.startswith(("failed", "failure")):
        return text if text.startswith("failed") else text.strip().lower().replace("failure", "failed", 1)
    return _FABRIC.get(_letters(text), text)


def manager_state(text: str) -> str:
    """The fabric manager: `running`, `stopped` or `absent`, also as systemd puts it."""
    letters = _letters(text)
    if letters in _RUNNING or letters.startswith("activerunning"):
        return "running"
    if letters in _STOPPED or letters.startswith(("inactive", "failed")):
        return "stopped"
    return "absent" if any(word in letters for word in _MISSING) else text


def module_flavour(text: str) -> str:
    """The kernel module's kind, `open` or `proprietary`, also by its banner or its licence."""
    words = text.lower()
    if words in ("open", "proprietary"):
        return words
    if "open" in words or "mit/gpl" in words:
        return "open"
    closed = ("proprietary", "closed", "nvidia unix x86_64 kernel module", "nvidia unix aarch64 kernel module")
    return "proprietary" if words.strip() == "nvidia" or any(word in words for word in closed) else text


def is_wsl(name: str, kernel: str) -> bool:
    """Whether a system's name or its kernel's says that this is the Windows Subsystem for Linux, where nobody stated it."""
    if "icrosoft" in kernel:  # `-Microsoft` of the first, `-microsoft-standard-WSL2` of the second
        return True
    plain = name[:_LONGEST].lower()
    if "wsl" not in plain:
        return "subsystem for linux" in plain
    words = "".join(char if char.isalnum() else " " for char in plain).split()
    return any(word in ("wsl", "wsl1", "wsl2") for word in words)


def foreign_system(name: str) -> bool:
    """Whether a system's name is one of Windows, macOS or FreeBSD, and not of a Linux inside it."""
    plain = name.lower().removeprefix("microsoft ").lstrip()
    return plain.startswith(_FOREIGN) and not is_wsl(name, "")


def _lower(text: str) -> str:
    return text.strip().lower()


def _letters(text: str) -> str:
    return "".join(char for char in text[:_LONGEST].lower() if char.isalnum())

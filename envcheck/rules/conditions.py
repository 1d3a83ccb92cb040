"""When a rule can apply at all: conditions so cheap that the module of a rule that cannot is never loaded.

A condition may be too wide, never too narrow: it says that the facts are there which the rule would need.
"""

from __future__ import annotations

from msgspec import UNSET

from envcheck.model.host import known
from envcheck.rules.situation import Situation, text, unsuited

_STACK = ("torch", "vllm", "triton", "flash", "xformers", "nvidia-", "pynvml", "nccl", "cudnn")


def always(situation: Situation) -> bool:
    """For rules that also speak of what is not there."""
    return True


def foreign(situation: Situation) -> bool:
    """The system's name is not of those that most hosts have."""
    os = known(situation.host.os)
    name = (known(os.name) or known(os.id) or "") if os is not None else ""
    return not name.startswith(("Ubuntu", "Debian"))


def gpu(situation: Situation) -> bool:
    """At least one GPU is known."""
    return bool(situation.gpus)


def accelerator(situation: Situation) -> bool:
    """A GPU, or a card of another maker."""
    return bool(situation.gpus or situation.other_makers)


def no_gpu(situation: Situation) -> bool:
    """None is listed, or all that are failed."""
    return not situation.usable_gpus


def several_gpus(situation: Situation) -> bool:
    """More than one GPU, or MIG slice."""
    return len(situation.gpus) > 1


def different_gpus(situation: Situation) -> bool:
    """Several GPUs, not all of one name."""
    return len({gpu.name for gpu in situation.gpus}) > 1


def quiet_driver(situation: Situation) -> bool:
    """GPUs are listed, and not by NVML."""
    return bool(situation.gpus) and text(situation.host.driver, "nvml") != "ok"


def unlisted_gpus(situation: Situation) -> bool:
    """GPUs are known, and as many devices on the bus or more."""
    pci = known(situation.host.pci)
    return bool(situation.gpus) and pci is not None and len(known(pci.devices) or ()) >= len(situation.gpus)


def fabric(situation: Situation) -> bool:
    """GPUs are known, or a fabric between them."""
    return bool(situation.gpus) or known(situation.host.fabric) is not None


def driver(situation: Situation) -> bool:
    """Something of the driver is known."""
    return known(situation.host.driver) is not None


def without_driver(situation: Situation) -> bool:
    """GPUs are known, and that there is no driver."""
    return bool(situation.gpus) and situation.host.driver is None


def log(situation: Situation) -> bool:
    """The kernel's log was read."""
    return known(situation.host.kernel_log) is not None


def chosen_devices(situation: Situation) -> bool:
    """A variable chooses among the GPUs."""
    return _sets(situation, "VISIBLE_DEVICES")


def slices(situation: Situation) -> bool:
    """MIG is on, is to be switched, or may be meant by a variable."""
    return _sets(situation, "VISIBLE_DEVICES") or any(one.mig or known(one.told.mig_pending) is not None for one in situation.gpus)


def wsl(situation: Situation) -> bool:
    """The Windows Subsystem for Linux."""
    return situation.wsl


def contained(situation: Situation) -> bool:
    """Inside a container, or told of an image."""
    return known(situation.host.container) is not None


def named_image(situation: Situation) -> bool:
    """The name of a container image is known."""
    return bool(situation.image)


def container_engines(situation: Situation) -> bool:
    """The host's own container engines were looked at."""
    return known(situation.host.container_runtime) is not None


def libraries(situation: Situation) -> bool:
    """What the loader takes is known, or told by a variable or an image."""
    host = situation.host
    return contained(situation) or known(host.libcuda) is not None or _sets(situation, "LD_") or _sets(situation, "COMPAT")


def cuda_seen(situation: Situation) -> bool:
    """Something was seen to work or not, or libcuda is known."""
    return known(situation.host.observed) is not None or known(situation.host.libcuda) is not None


def environment(situation: Situation) -> bool:
    """Something of the stack is installed in the target environment, or its set is faulty."""
    host = situation.host
    found = situation.torch is not None or any(name.startswith(_STACK) for name in situation.packages)
    return found or bool(known(host.package_problems)) or known(host.nccl) is not None or known(host.cudnn) is not None


def odd_interpreter(situation: Situation) -> bool:
    """The interpreter is of a kind that wheels are not built for."""
    return bool(unsuited(situation.host))


def package_set(situation: Situation) -> bool:
    """Any package is known, or a fault of the set, or a variable that changes what is imported."""
    return bool(situation.packages or known(situation.host.package_problems)) or _sets(situation, "PYTHON")


def loader_paths(situation: Situation) -> bool:
    """Folders are searched before the wheels' own libraries."""
    return bool(known(situation.host.loader_folders)) or _sets(situation, "LD_")


def vllm(situation: Situation) -> bool:
    """A vLLM is installed."""
    return bool(situation.installed_raw)


def origins(situation: Situation) -> bool:
    """Where packages came from is known."""
    return bool(known(situation.host.package_origins))


def installer_settings(situation: Situation) -> bool:
    """Variables of installers, or an environment that they filled."""
    return situation.torch is not None or vllm(situation) or any(_sets(situation, word) for word in ("UV_", "PIP_"))


def links_of_nodes(situation: Situation) -> bool:
    """Variables of NCCL are set, or ports to other nodes are known."""
    interconnect = known(situation.host.interconnect)
    return _sets(situation, "NCCL") or bool(interconnect and known(interconnect.ports))


def request(situation: Situation) -> bool:
    """A model or arguments of its server are asked about."""
    asked = situation.request
    return bool(asked.serve_args or asked.model or asked.model_config)


def own_variables(situation: Situation) -> bool:
    """Variables of vLLM's own are set."""
    return _sets(situation, "VLLM_")


def hub(situation: Situation) -> bool:
    """The network was asked, or variables say how the hub is reached."""
    return network(situation) or any(_sets(situation, word) for word in ("HF_", "OFFLINE", "MODELSCOPE"))


def network(situation: Situation) -> bool:
    """The network was asked."""
    return bool(known(situation.host.network))


def disks(situation: Situation) -> bool:
    """Places of caches and environments were looked at."""
    return situation.host.disk is not UNSET


def _sets(situation: Situation, word: str) -> bool:
    """Whether a variable with this word in its name is known, of the environment or of the container's image."""
    container = known(situation.host.container)
    own = known(situation.host.environment) or {}
    image = (known(container.environment) if container else None) or {}
    return any(word in name for name in own) or any(word in name for name in image)

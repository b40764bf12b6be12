"""``torch.utils.collect_env``: what computes here, for reports of errors.

``python -m tapegrad.utils.collect_env`` prints it.
"""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

from tapegrad._src.execution.data.devices import accelerator_type, device_count
from tapegrad.version import __version__

__all__ = ["SystemEnv", "get_env_info", "get_pretty_env_info", "main"]

PACKAGES = "jax", "jaxlib", "numpy", "ml_dtypes"


class SystemEnv(NamedTuple):
    """The versions of tapegrad, of packages, of Python and of the system, and the devices."""

    torch_version: str
    pip_packages: list[tuple[str, str]]
    python_version: str
    python_platform: str
    os: str
    is_cuda_available: bool
    devices: str


def get_env_info() -> SystemEnv:
    """Look around."""
    kind = accelerator_type() or "cpu"
    return SystemEnv(
        f"tapegrad {__version__}", [(name, found) for name in PACKAGES if (found := _version(name))],
        sys.version.replace("\n", " "), platform.platform(), platform.system(), kind == "cuda",
        f"{device_count(kind)} x {kind}",
    )  # fmt: skip


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def get_pretty_env_info() -> str:
    """The facts, as text.

    >>> "tapegrad" in get_pretty_env_info()
    True
    """
    found = get_env_info()
    packages = [f"  {name}: {number}" for name, number in found.pip_packages]
    lines = [f"Version: {found.torch_version}", f"Python version: {found.python_version}"]
    lines += [f"Python platform: {found.python_platform}", f"OS: {found.os}", f"Devices: {found.devices}"]
    return "\n".join([*lines, "Versions of relevant libraries:", *packages])


def main() -> None:
    """Print it."""
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()

"""``torch.backends.cpu``: what the processor can do. XLA finds out by itself."""

import platform

__all__ = ["get_cpu_capability"]


def _flags() -> frozenset[str]:
    try:
        with open("/proc/cpuinfo") as file:
            return frozenset(word for line in file if line.startswith("flags") for word in line.split())
    except OSError:
        return frozenset()


def get_cpu_capability() -> str:
    """The widest vectors of the processor, as PyTorch calls them: ``"AVX512"``, ``"AVX2"``, ``"SVE256"`` or
    ``"DEFAULT"``.

    >>> torch.backends.cpu.get_cpu_capability() in ("AVX512", "AVX2", "SVE256", "DEFAULT")
    True
    """
    flags = _flags()
    if platform.machine() in ("x86_64", "AMD64"):
        if {"avx512f", "avx512vl", "avx512bw", "avx512dq"} <= flags:
            return "AVX512"
        return "AVX2" if {"avx2", "fma"} <= flags else "DEFAULT"
    return "SVE256" if "sve" in flags else "DEFAULT"

"""XLA's flags for those who compile much and compute little: tests, and notebooks in ``.ci/run``, which prints them.

Note [Quick compilation]
Without LLVM's costly passes, without the fusions that are emitted through MLIR, and with each program in one piece, a
small kernel costs half as much. LLVM's fast code generation (``--xla_backend_optimization_level=0``) saves another
third. It contracts some products and sums to one rounding, and others not, so that a number which two loops compute may
differ in its last bit, and what ``jnp.max`` found is found nowhere by its derivative, which is inf. Without
instructions for that (``AVX`` has none, and all processors of a kind give the same bits) this can't be.
"""

import importlib.metadata
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")


def flags() -> str:
    """The flags, for this processor and this version of jaxlib; jax isn't imported.

    >>> "--xla_llvm_disable_expensive_passes=true" in flags()
    True
    """
    has_avx = CPUINFO.exists() and "avx" in CPUINFO.read_text().split()
    has_emitters = tuple(map(int, importlib.metadata.version("jaxlib").split(".")[:2])) < (0, 11)  # or XLA exits
    return " ".join((
        *(["--xla_backend_optimization_level=0", "--xla_cpu_max_isa=AVX"] if has_avx else []),
        *(["--xla_cpu_use_fusion_emitters=false"] if has_emitters else []),
        "--xla_llvm_disable_expensive_passes=true", "--xla_cpu_parallel_codegen_split_count=1",
    ))  # fmt: skip


if __name__ == "__main__":
    print(flags())

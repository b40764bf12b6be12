"""``torch.utils.cpp_extension``: extensions in C++, built against PyTorch's core; refused when they are built.

>>> CUDA_HOME is None
True
"""

from tapegrad._src.absent import RefusedClass, refused

__all__ = [
    "CUDA_HOME",
    "IS_HIP_EXTENSION",
    "ROCM_HOME",
    "BuildExtension",
    "CUDAExtension",
    "CppExtension",
    "include_paths",
    "library_paths",
    "load",
    "load_inline",
    "verify_ninja_availability",
]  # fmt: skip

_ADVICE = "there is no core in C++ to build against; jax.ffi calls functions in C++, and interop.from_jax records that"
_HERE = "torch.utils.cpp_extension."

CUDA_HOME = None
ROCM_HOME = None
IS_HIP_EXTENSION = False

load, load_inline = refused(f"{_HERE}load", _ADVICE), refused(f"{_HERE}load_inline", _ADVICE)
CppExtension, CUDAExtension = refused(f"{_HERE}CppExtension", _ADVICE), refused(f"{_HERE}CUDAExtension", _ADVICE)
include_paths, library_paths = refused(f"{_HERE}include_paths", _ADVICE), refused(f"{_HERE}library_paths", _ADVICE)
verify_ninja_availability = refused(f"{_HERE}verify_ninja_availability", _ADVICE)


class BuildExtension(RefusedClass):
    """A command of setuptools, in PyTorch. Refused."""

    refusal = f"{_HERE}BuildExtension", _ADVICE

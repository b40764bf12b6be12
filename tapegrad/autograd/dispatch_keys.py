"""``torch._C.DispatchKey`` and sets of them: the names under which PyTorch's dispatcher has kernels.

Nothing here is dispatched by them: they name what is registered, and tell what PyTorch would have of a tensor.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any

from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.tensor import Tensor

_NUMBERS = """
    Undefined=0 Dense=1 Quantized=5 Sparse=8 SparseCsr=9 NestedTensor=10 BackendSelect=11 Python=13
    FuncTorchDynamicLayerBackMode=14 Functionalize=15 Conjugate=16 Negative=17 ZeroTensor=18 ADInplaceOrView=19
    AutogradOther=20 AutogradFunctionality=21 AutogradNestedTensor=22 AutocastCPU=24 AutocastXPU=27 AutocastIPU=28
    AutocastHPU=29 AutocastMPS=31 AutocastCUDA=32 AutocastPrivateUse1=33 FuncTorchBatched=34 FuncTorchVmapMode=36
    FuncTorchGradWrapper=39 PythonTLSSnapshot=41 FuncTorchDynamicLayerFrontMode=42 PreDispatch=45
    PythonDispatcher=46 StartOfDenseBackends=48 CPU=49 CUDA=50 HIP=51 XLA=52 MPS=53 IPU=54 XPU=55 HPU=56 VE=57
    Lazy=58 MTIA=59 MAIA=60 PrivateUse1=61 PrivateUse2=62 PrivateUse3=63 Meta=64 EndOfDenseBackends=64
    StartOfQuantizedBackends=65 QuantizedCPU=66 QuantizedCUDA=67 QuantizedHIP=68 QuantizedXLA=69 QuantizedMPS=70
    QuantizedIPU=71 QuantizedXPU=72 QuantizedHPU=73 QuantizedVE=74 QuantizedLazy=75 QuantizedMTIA=76
    QuantizedMAIA=77 QuantizedPrivateUse1=78 QuantizedPrivateUse2=79 QuantizedPrivateUse3=80 QuantizedMeta=81
    EndOfQuantizedBackends=81 StartOfSparseBackends=82 SparseCPU=83 SparseCUDA=84 SparseHIP=85 SparseXLA=86
    SparseMPS=87 SparseIPU=88 SparseXPU=89 SparseHPU=90 SparseVE=91 SparseLazy=92 SparseMTIA=93 SparseMAIA=94
    SparsePrivateUse1=95 SparsePrivateUse2=96 SparsePrivateUse3=97 SparseMeta=98 EndOfSparseBackends=98
    StartOfSparseCsrBackends=99 SparseCsrCPU=100 SparseCsrCUDA=101 SparseCsrHIP=102 SparseCsrXLA=103
    SparseCsrMPS=104 SparseCsrIPU=105 SparseCsrXPU=106 SparseCsrHPU=107 SparseCsrVE=108 SparseCsrLazy=109
    SparseCsrMTIA=110 SparseCsrMAIA=111 SparseCsrPrivateUse1=112 SparseCsrPrivateUse2=113 SparseCsrPrivateUse3=114
    SparseCsrMeta=115 EndOfSparseCsrBackends=115 StartOfNestedTensorBackends=116 NestedTensorCPU=117
    NestedTensorCUDA=118 NestedTensorHIP=119 NestedTensorXLA=120 NestedTensorMPS=121 NestedTensorIPU=122
    NestedTensorXPU=123 NestedTensorHPU=124 NestedTensorVE=125 NestedTensorLazy=126 NestedTensorMTIA=127
    NestedTensorMAIA=128 NestedTensorPrivateUse1=129 NestedTensorPrivateUse2=130 NestedTensorPrivateUse3=131
    NestedTensorMeta=132 EndOfNestedTensorBackends=132 StartOfAutogradFunctionalityBackends=133 AutogradCPU=134
    AutogradCUDA=135 AutogradHIP=136 AutogradXLA=137 AutogradMPS=138 AutogradIPU=139 AutogradXPU=140
    AutogradHPU=141 AutogradVE=142 AutogradLazy=143 AutogradMTIA=144 AutogradMAIA=145 AutogradPrivateUse1=146
    AutogradPrivateUse2=147 AutogradPrivateUse3=148 AutogradMeta=149 EndOfAutogradFunctionalityBackends=149
    Autograd=150 CompositeImplicitAutograd=151 FuncTorchBatchedDecomposition=152
    CompositeImplicitAutogradNestedTensor=153 CompositeExplicitAutograd=154
    CompositeExplicitAutogradNonFunctional=155
"""


class DispatchKey(enum.Enum):
    """A key for which PyTorch's dispatcher has kernels.

    >>> torch._C.DispatchKey.CPU
    <DispatchKey.CPU: 49>
    """

    _ignore_ = ["_pair"]
    for _pair in _NUMBERS.split():
        vars()[_pair.partition("=")[0]] = int(_pair.partition("=")[2])

    def __int__(self) -> int:
        number: int = self.value
        return number

    __index__ = __int__


def key_of(key: Any) -> DispatchKey:
    """A key, by itself or by its name. Raises RuntimeError: there is none of that name. PyTorch's message."""
    if isinstance(key, DispatchKey):
        return key
    found = DispatchKey.__members__.get(key)
    if found is None:
        raise RuntimeError(f"could not parse dispatch key: {key}")
    return found


class DispatchKeySet:
    """A set of dispatch keys.

    Args:
        key: its only one; none by default.

    >>> keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU).add(torch._C.DispatchKey.AutogradCPU)
    >>> keys, keys.has(torch._C.DispatchKey.CUDA)
    (DispatchKeySet(CPU, AutogradCPU), False)
    """

    def __init__(self, key: DispatchKey | None = None) -> None:
        self._keys: frozenset[DispatchKey] = frozenset() if key is None else frozenset((key,))

    @classmethod
    def of(cls, *keys: DispatchKey) -> DispatchKeySet:
        """A set of several."""
        made = cls()
        made._keys = frozenset(keys)
        return made

    def has(self, key: DispatchKey) -> bool:
        """Tell whether a key is in it."""
        return key in self._keys

    def add(self, key: DispatchKey) -> DispatchKeySet:
        """A set with one more."""
        return self.of(*self._keys, key)

    def remove(self, key: DispatchKey) -> DispatchKeySet:
        """A set without a key."""
        return self.of(*(self._keys - {key}))

    def highestPriorityTypeId(self) -> DispatchKey:
        """The key whose kernel would be called first."""
        return max(self._keys, key=_priority, default=DispatchKey["Undefined"])

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self.of(*self._keys, *other._keys)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self.of(*(self._keys & other._keys))

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self.of(*(self._keys - other._keys))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and other._keys == self._keys

    def __hash__(self) -> int:
        return hash(self._keys)

    def __iter__(self) -> Iterator[DispatchKey]:
        return iter(sorted(self._keys, key=_priority))

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(key.name for key in self)})"


def _priority(key: DispatchKey) -> tuple[bool, int]:
    """Keys of backends come last, those of autograd after what watches writes, and autocast before all."""
    name = key.name
    level = 3 if name.startswith("Autocast") else 2 if name.startswith("Autograd") else name == "ADInplaceOrView"
    return level, key.value  # type: ignore[return-value]


def _dispatch_keys(tensor: Tensor) -> DispatchKeySet:
    """The keys that PyTorch would have of a tensor."""
    names = {"sparse_coo": "Sparse", "strided": ""}
    layout = repr(tensor.layout).removeprefix("torch.")
    kind = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta", "xla": "XLA"}.get(tensor.device.type, "PrivateUse1")
    found = [names.get(layout, "NestedTensor" if layout == "jagged" else "SparseCsr") + kind]
    if not (thread.modes.inference or tensor._spec.inference):
        found += ["ADInplaceOrView", f"Autograd{kind}"]
    found += [f"Autocast{kind}"] * (kind in ("CPU", "CUDA"))
    return DispatchKeySet.of(*map(key_of, found))


def _dispatch_key_name(key: DispatchKey) -> str:
    """The name of a key."""
    return key.name


_dispatch_key_parse = key_of


def _dispatch_key_for_device(device_type: str) -> str:
    """The name of the key of a type of devices."""
    return {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta"}.get(device_type, device_type.upper())


def _dispatch_tls_is_dispatch_key_excluded(key: Any) -> bool:
    """False: nothing is dispatched by keys, so that none is left out."""
    return False


_dispatch_tls_is_dispatch_key_included = _dispatch_tls_is_dispatch_key_excluded


def _dispatch_isTensorSubclassLike(tensor: Tensor) -> bool:
    """Tell whether a tensor's class computes in place of operators, or a function transform has lifted it."""
    return bool(tensor._spec.overrides or tensor._spec.level)


def _dispatch_is_included_in_alias(key: Any, alias: Any) -> bool:
    """Tell whether kernels for ``alias`` are kernels for a key."""
    key, alias = key_of(key), key_of(alias)
    return key is alias or (alias is DispatchKey["Autograd"] and key.name.startswith("Autograd"))

"""PyTorch's own database of operators on jagged tensors (``njt_op_db``): its samples, run on both libraries.

The random structure of a sample is drawn from a seed. What is compared of a sample is the result (its kind, dtype,
shape, offsets, numbers), and the gradients of all that require some; where PyTorch raises, the class of the error and
its text, in which ragged lengths go by other numbers. Where PyTorch raises in its backward pass alone, and tapegrad
gives gradients, these are not compared.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch as pytorch
from late_database import Database
from opinfo import counterpart, seeded, tensor, translated

import tapegrad
from tapegrad.nested._internal.nested_tensor import NestedTensor


def database() -> dict[str, Any]:
    """PyTorch's entries for jagged tensors, by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.opinfo.definitions.nested import njt_op_db
    return {entry.full_name: entry for entry in njt_op_db
            if entry.supports_njt and not entry.name.startswith("jiterator")}  # fmt: skip


ENTRIES = Database(database)
WITHOUT_GRADIENTS = {"split_with_sizes": "PyTorch's process dies in its backward pass"}
"""The entries of which results alone are compared, and why."""


OTHERWISE = {
    "mean": "with gaps between entries PyTorch divides gradients by another number than the sum",
}
"""The entries of which something differs, and why."""


class Translation:
    """Values of PyTorch's as tapegrad has them: what is one tensor of offsets there is one here."""

    def __init__(self) -> None:
        self.made: dict[int, Any] = {}

    def part(self, source: Any) -> Any:
        """Offsets or lengths."""
        if source is not None and id(source) not in self.made:
            self.made[id(source)] = tensor(source)
        return None if source is None else self.made[id(source)]

    def __call__(self, value: Any) -> Any:
        if isinstance(value, pytorch.Tensor) and value.is_nested:
            plain = value.detach()
            made = NestedTensor(
                tensor(plain._values), self.part(value._offsets), lengths=self.part(value._lengths),
                _ragged_idx=value._ragged_idx, _metadata_cache={k: tensor(v) for k, v in value._metadata_cache.items()},
            )  # fmt: skip
            return made.requires_grad_() if value.requires_grad else made
        if type(value) in (tuple, list):
            return type(value)(map(self, value))
        if type(value) is dict:
            return {key: self(item) for key, item in value.items()}
        if isinstance(value, pytorch.SymInt):
            return next(one.length for one in self.made.values() if hasattr(one, "length"))
        return translated(value)


def samples(entry: Any, dtype: Any, every: int) -> Iterator[tuple[str, tuple, tuple]]:
    """The name of each sample, and its input, arguments and keywords on PyTorch and on tapegrad."""
    seeded()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(entry.sample_inputs("cpu", dtype, requires_grad=entry.supports_autograd))
    for one in found[::every]:
        theirs = one.input, tuple(one.args), dict(one.kwargs)
        yield one.name, theirs, Translation()(theirs)


def parts(module: Any, result: Any) -> list[Any]:
    """The tensors in a result."""
    if isinstance(result, module.Tensor):
        return [result]
    return [part for one in result for part in parts(module, one)] if isinstance(result, (tuple, list)) else []


def numbers(value: Any) -> np.ndarray:
    plain = value.detach()
    module = pytorch if isinstance(value, pytorch.Tensor) else tapegrad
    wide = {module.bfloat16: module.float32, getattr(module, "complex32", None): module.complex64}
    return plain.to(wide.get(plain.dtype, plain.dtype)).resolve_conj().numpy()


def seen(value: Any) -> list[Any]:
    """What is compared of a tensor."""
    if not value.is_nested:
        return ["dense", str(value.dtype), list(value.shape), numbers(value)]
    shape = re.sub(r"j\d+", "j", str(list(value.shape)))
    inner = [None if one is None else numbers(one) for one in (value._offsets, value._lengths)]
    return ["nested", str(value.dtype), shape, value._ragged_idx, *inner, numbers(value._values)]


def outcome(module: Any, op: Any, given: tuple, wants_gradients: bool) -> dict[str, Any]:
    """What is seen of a call: its result, and gradients if they are wanted."""
    input, args, kwargs = given
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = op(input, *args, **kwargs)
        except Exception as error:  # what it raises is what is compared
            return {"raised": [type(error).__name__, plain(str(error))]}
        found: dict[str, Any] = {"result": list(map(seen, parts(module, result))), "gradients": None}
        if not wants_gradients:
            return found
        try:
            found["gradients"] = gradients(module, result, given)
        except Exception as error:
            found["gradients"] = [type(error).__name__, str(error)]
    return found


def gradients(module: Any, result: Any, given: tuple) -> list[Any] | None:
    """The gradients of all that requires some, of the sum of squares of a result."""
    leaves = [one for one in parts(module, [given[0], given[1], list(given[2].values())]) if one.requires_grad]
    outs = [one for one in parts(module, result) if one.requires_grad]
    if not outs or not leaves:
        return None
    flat = [one.values() if one.is_nested else one for one in outs]
    loss = sum((one * one.conj()).real.sum() if one.is_complex() else (one * one).sum() for one in flat)
    return [None if one is None else seen(one) for one in module.autograd.grad(loss, leaves, allow_unused=True)]


def plain(text: str) -> str:
    """A message without the numbers of ragged lengths, and without what tapegrad says beyond PyTorch's sentence."""
    return re.sub(r"j\d+", "j", text).partition("; ")[0]


def same(theirs: Any, ours: Any) -> bool:
    """Whether what was seen is the same, up to rounding."""
    if isinstance(theirs, np.ndarray):
        return theirs.shape == ours.shape and np.allclose(
            theirs, ours, rtol=2e-5 if theirs.dtype != np.float64 else 1e-8, atol=1e-5, equal_nan=True
        )
    if isinstance(theirs, list):
        return isinstance(ours, list) and len(theirs) == len(ours) and all(map(same, theirs, ours))
    if isinstance(theirs, str):
        return theirs == str(ours).replace("tapegrad.", "torch.")
    return theirs == ours


def complaint(theirs: dict, ours: dict) -> str | None:
    """What differs; None if nothing does."""
    if "raised" in theirs or "raised" in ours:
        return None if theirs.get("raised") == ours.get("raised") else f"{ours}\nexpected\n{theirs}"
    if not same(theirs["result"], ours["result"]):
        return f"{ours['result']}\nexpected\n{theirs['result']}"
    expected = theirs["gradients"]
    if expected and isinstance(expected[0], str):  # PyTorch has none
        return None
    return None if same(expected, ours["gradients"]) else f"gradients {ours['gradients']}\nexpected\n{expected}"


def compared(name: str, every: int = 1) -> Iterator[tuple[str, dict, str | None]]:
    """For each sample of an entry, or for one of so many, its name, what PyTorch gives, and what differs."""
    entry = ENTRIES[name]
    dtype = pytorch.float64 if pytorch.float64 in entry.dtypes else pytorch.float32
    wants = name not in WITHOUT_GRADIENTS
    for label, theirs, ours in samples(entry, dtype, every):
        expected = outcome(pytorch, entry.op, theirs, wants)
        yield label, expected, complaint(expected, outcome(tapegrad, counterpart(entry), ours, wants))

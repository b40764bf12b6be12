"""PyTorch's database of operators on complex halves: its samples of complex64, cast, run on both libraries.

Of a sample are compared the result (dtype, shape, strides, numbers up to a rounding of halves), and where PyTorch
raises, the class of the error and its text.
"""

import warnings

import numpy as np
import opinfo
import torch as pytorch
from opinfo import ENTRIES, counterpart, flat, seeded

import tapegrad


def cast(value):
    """A value of a sample with complex halves in the place of complex64."""
    if isinstance(value, pytorch.Tensor):
        return value.detach().to(pytorch.complex32) if value.dtype is pytorch.complex64 else value.detach()
    if isinstance(value, (list, tuple)):
        return type(value)(map(cast, value))
    if isinstance(value, dict):
        return {key: cast(one) for key, one in value.items()}
    return pytorch.complex32 if value is pytorch.complex64 else value


def ours(value):
    """A value as tapegrad has it."""
    if isinstance(value, pytorch.Tensor) and value.dtype is pytorch.complex32:
        wide = opinfo.tensor(value.to(pytorch.complex64))
        return wide.to(tapegrad.complex32)
    if type(value) in (list, tuple):
        return type(value)(map(ours, value))
    if type(value) is dict:
        return {key: ours(one) for key, one in value.items()}
    return opinfo.translated(value)


def numbers(x):
    wide = {"torch.complex32": "complex64", "torch.float16": "float32", "torch.bfloat16": "float32"}
    module = pytorch if isinstance(x, pytorch.Tensor) else tapegrad
    name = wide.get(str(x.dtype))
    return (x if name is None else x.to(getattr(module, name))).resolve_conj().resolve_neg().numpy()


def seen(op, parts):
    """What a call gives: of each tensor its dtype, shape and numbers; or the error."""
    input, args, kwargs = parts
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = op(input, *args, **kwargs)
    except Exception as error:
        return error
    return [(str(x.dtype), tuple(x.shape), x) if hasattr(x, "dtype") else x for x in flat([found])]


def samples(name, count):
    """The first samples of an entry, of all that are small."""
    seeded()
    entry = ENTRIES[name]
    made = entry.sample_inputs("cpu", pytorch.complex64)
    return [one for _, one in zip(range(count), made, strict=False)]


def disagreement(name, sample):
    """What differs of a sample, in words; None if nothing does."""
    parts = cast((sample.input, sample.args, sample.kwargs))
    entry = ENTRIES[name]
    given = ours(parts)
    theirs, mine = seen(entry.op, parts), seen(counterpart(entry), given)
    if isinstance(theirs, Exception):
        if not isinstance(mine, Exception):
            return f"PyTorch raises {theirs!r}"
        if not isinstance(mine, type(theirs)) or str(mine).split("\n")[0] != str(theirs).split("\n")[0]:
            return f"expected {theirs!r}, got {mine!r}"
        return None
    if isinstance(mine, Exception):
        return f"tapegrad raises {mine!r}"
    for one, other in zip(theirs, mine, strict=True):
        if not isinstance(one, tuple):
            if one != other:
                return f"expected {one}, got {other}"
        elif one[:2] != other[:2]:
            return f"expected {one[:2]}, got {other[:2]}"
        elif not name.startswith(RANDOM) and not np.allclose(
            numbers(one[2]), numbers(other[2]), rtol=4e-3, atol=4e-3, equal_nan=True
        ):
            return f"expected {one[2]}, got {other[2]}"
    return None


RANDOM = ("rand", "empty", "new_empty", "normal", "uniform", "nn.functional.dropout", "nn.functional.alpha_dropout",
          "nn.functional.feature_alpha", "bernoulli", "resize")  # fmt: skip
"""Entries whose results are random, or anything."""

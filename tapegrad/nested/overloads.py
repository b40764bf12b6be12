"""PyTorch's names of the overloads that messages speak of, and the functions that jagged tensors have not."""

from __future__ import annotations

from tapegrad._src.bindings.declaration.dunders import AUGMENTED


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


OVERLOADS: dict[str, str] = {}
"""The overloads by the functions that PyTorch computes with them, where those have another name."""

for _overload, _names in (
    ("sub.Tensor", "subtract"),
    ("mul.Tensor", "multiply __rtruediv__ __rdiv__"),
    ("div.Tensor", "divide true_divide __truediv__"),
    ("gt.Tensor", "greater"),
    ("ge.Tensor", "greater_equal"),
    ("lt.Tensor", "less"),
    ("le.Tensor", "less_equal"),
    ("ne.Tensor", "not_equal"),
    ("eq.Tensor", "isclose"),
    ("remainder.Tensor", "__mod__ __rmod__"),
    ("pow.Tensor_Tensor", "pow __pow__ __rpow__ float_power"),
    ("bitwise_and.Tensor", "__and__ __rand__"),
    ("bitwise_or.Tensor", "__or__ __ror__"),
    ("bitwise_xor.Tensor", "__xor__ __rxor__"),
    ("clamp.Tensor", "clip"),
    ("maximum.default", "max"),
    ("minimum.default", "min"),
    ("igamma.default", "gammainc"),
    ("igammac.default", "gammaincc"),
    ("atan2.default", "arctan2"),
    ("norm.ScalarOpt_dim", "norm normalize"),
    ("std.correction", "std"),
    ("var.correction", "var"),
    ("rsub.Tensor", "rsub __rsub__"),
    ("sort.default", "argsort"),
    ("linalg_vector_norm.default", "vector_norm"),
    ("log_sigmoid_forward.default", "logsigmoid"),
    ("_prelu_kernel.default", "prelu"),
    ("constant_pad_nd.default", "pad"),
    ("rrelu_with_noise.default", "rrelu"),
    ("floor_divide.default", "__floordiv__ __rfloordiv__"),
    ("nansum.default", "nanmean"),
    ("masked_fill_.Scalar", "masked_fill_"),
    ("gather.default", "take_along_dim"),
    ("lerp.Tensor", "lerp"),
):
    OVERLOADS.update(dict.fromkeys(_names.split(), _overload))

for _name in words(
    "atan2 fmin fmax gcd lcm heaviside hypot igamma igammac logaddexp logaddexp2 logical_and logical_or logical_xor "
    "maximum minimum nextafter"
):
    OVERLOADS[_name] = f"{_name}.default"


def overload(name: str) -> str:
    """The name of the overload of two tensors that PyTorch has under a function of elements.

    >>> overload("add"), overload("__rmul__"), overload("atan2"), overload("add_"), overload("zeta")
    ('add.Tensor', 'mul.Tensor', 'atan2.default', 'add_.Tensor', 'special_zeta.default')
    """
    name = AUGMENTED.get(name, name)
    tail = "_" if name.endswith("_") and not name.startswith("__") else ""
    base = name.removesuffix("_") if tail else name
    found = OVERLOADS.get(base) or _plain(base.strip("_").removeprefix("r" * base.startswith("__r")))
    return found.replace(".", f"{tail}.", 1)


def _plain(name: str) -> str:
    if name in ("xlog1py", "zeta") or "_polynomial_" in name:
        return f"special_{name}.default"
    return f"{name}.Tensor"


def unsupported(name: str) -> NotImplementedError:
    """The error of a function that jagged tensors have not."""
    called = name.removesuffix(".__get__")
    return NotImplementedError(f"aten.{called if '.' in called else OVERLOADS.get(called, f'{called}.default')}")

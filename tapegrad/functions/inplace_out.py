"""``out=``: writing a result into a tensor that is given.

Note [Results written into tensors]
A function called with ``out=`` computes its result without recording it, and writes that into the tensor, which gets
the result's shape if it has another one. A result may be written to a tensor of another dtype if it can be cast to
that, as in place; many of PyTorch's functions want just the dtype of the result (``EXACT`` has their words), and some
compute in that of the tensor (``COMPUTED_IN``).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from tapegrad.errors import NotDifferentiableError
from tapegrad.execution.dtypes import BOOL, COMPLEX, FLOATING, dtype
from tapegrad.execution.promotion import can_cast
from tapegrad.functions import return_types
from tapegrad.functions.inplace import become, refuse_in_place
from tapegrad.functions.inplace_rules import refuse_shared_parts, resize_for
from tapegrad.functions.registry import out_writer, unprefixed
from tapegrad.functions.scalars import unsupported
from tapegrad.ops.checks import cpp_name
from tapegrad.tape.modes import switched, thread
from tapegrad.tensor.refusals import refuse_examples
from tapegrad.tensor.tensor import Tensor

WITHOUT_DERIVATIVE = frozenset("""
eq ne lt le gt ge greater greater_equal less less_equal not_equal logical_and logical_or logical_xor logical_not
isneginf isposinf signbit all any argmax argmin nonzero nonzero_static isin searchsorted bucketize hash_tensor heaviside
floor_divide histc histogram multinomial
airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 modified_bessel_i0 modified_bessel_i1 modified_bessel_k0
modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0
chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h
hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p shifted_chebyshev_polynomial_t
shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w
""".split())  # noqa: SIM905 - a table is easier to read without the quotes
"""Functions whose arguments may require grad when they are called with ``out=``."""

_CALLED = {
    "fix": "trunc", "square": "pow", "float_power": "pow", "msort": "sort", "diff": "sub", "matmul": "mm",
    "outer": "mul", "ger": "mul", "take_along_dim": "gather", "norm": "linalg_vector_norm",
    "vector_norm": "linalg_vector_norm", "expit": "sigmoid", "clip": "clamp", "absolute": "abs", "negative": "neg",
    "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div",
    "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge",
    **{f"arc{name}": f"a{name}" for name in ("cos", "sin", "tan", "cosh", "sinh", "tanh", "tan2")},
    **{name: f"special_{name}" for name in ("i1", "entr", "xlog1py")},
    **dict.fromkeys(("concat", "concatenate", "hstack", "vstack", "dstack", "column_stack", "row_stack"), "cat"),
}  # fmt: skip
"""The function that PyTorch says forward mode stops at, where it is not the one that was called."""


RANDOM = frozenset(("rand", "randn", "randint", "randperm", "normal", "bernoulli", "multinomial"))


def _refuse_mapped(name: str, operands: Sequence[Tensor]) -> None:
    """Refuse to write a result that depends on examples of a ``vmap``, or random numbers there, into a given tensor."""
    if name in RANDOM and any(level.maps for level in thread.levels):
        raise RuntimeError(
            "vmap: We do not support calling out variants of random operations inside of vmap. Please use non-out "
            "variants as a workaround"
        )
    rule = f"Batching rule not implemented for aten::{name}.out; the fallback path doesn't work on out= or view ops."
    refuse_examples(rule, *operands)


def write_out(name: str, function: Callable, target: Any, args: tuple, kwargs: dict) -> Any:
    """Call a function and write what it gives into ``target``, which is returned: a tensor, or several.

    See Note [Results written into tensors].

    Raises:
        RuntimeError: an argument requires grad; the result can't be cast to the target's dtype.
        NotDifferentiableError: an argument is dual.
        TypeError: there are more or fewer targets than results.
    """
    targets, own = _targets(name, target), unprefixed(name)
    operands = _tensors((*targets, *args, *kwargs.values()))
    if thread.modes.level:
        _refuse_mapped(own, operands)
    if own not in WITHOUT_DERIVATIVE and thread.modes.grad and any(tensor.requires_grad for tensor in operands):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
    if thread.modes.forward_grad and any(tensor._spec.dual for tensor in operands):
        raise NotDifferentiableError(
            f"Trying to use forward AD with {_CALLED.get(own, own)}_out that does not support it because it is an out= "
            "function"
        )
    with switched(grad=False):
        result = function(*args, **_computed_in(own, targets[0].dtype, kwargs))
        _check_count(name, target, targets, result)
        results = _placed(result if isinstance(result, tuple) else (result,), targets, operands)
        for one, given in zip(results, targets, strict=True):
            _check_dtype(own, one.dtype, given.dtype, (*args, *kwargs.values()), several=len(results) > 1)
        for one, given in zip(results, targets, strict=True):
            _write(name, one, given, (*args, *kwargs.values()))
    made: Any = return_types.OUT.get(type(result), tuple)
    return made(targets) if isinstance(result, tuple) else target


out_writer.fill(write_out)


def _targets(name: str, target: Any) -> Sequence[Tensor]:
    targets = target if isinstance(target, (tuple, list)) else (target,)
    for one in targets:
        if not isinstance(one, Tensor):
            raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(one).__name__}")
    return targets


def _tensors(values: Sequence[Any]) -> list[Tensor]:
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, (tuple, list)):
            found.extend(_tensors(value))
    return found


def _placed(results: Sequence[Tensor], targets: Sequence[Tensor], operands: Sequence[Tensor]) -> Sequence[Tensor]:
    """The results on the devices of their targets, where no tensor says that they are to be elsewhere.

    Raises:
        RuntimeError: PyTorch's message, if one does.
    """
    pairs = list(zip(results, targets, strict=True))
    for one, given in pairs:
        if one.device is not given.device and len(operands) > len(targets):
            raise RuntimeError(
                f"Attempting to copy from device {one.device} to device {given.device}, but cross-device copies are "
                "not allowed!"
            )
    return [one if one.device is given.device else one.to(given.device) for one, given in pairs]


def _check_count(name: str, target: Any, targets: Sequence[Tensor], result: Any) -> None:
    if isinstance(target, Tensor):
        if isinstance(result, tuple):
            raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not {type(target).__name__}")
    elif not isinstance(result, tuple):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(target).__name__}")
    elif len(targets) != len(result):
        raise TypeError(f"expected tuple of {len(result)} elements but got {len(targets)}")


_APART = frozenset(("cat", "diff", "gather", "index_select", "kthvalue", "masked_select", "stack", "take"))
"""Functions that may not write into a tensor that they read from, not even into just the same places."""


_RESIZED_FIRST = frozenset(("cat", "gather", "stack"))
"""Functions that look whether the target shows a place twice only once it has the shape of the result."""


def _write(name: str, result: Tensor, target: Tensor, operands: tuple) -> None:
    if target._spec.strides is not None and name not in _RESIZED_FIRST:
        refuse_in_place(target)
    if name in _APART:
        refuse_shared_parts(target, operands, strict=True)
    if result.shape != target.shape:
        _warn_of_shape(target, result)
        resize_for(result, target)
    refuse_in_place(target)
    if target._storage is not None:
        refuse_shared_parts(target, operands)
    become(target, result)


def _warn_of_shape(target: Tensor, result: Tensor) -> None:
    if target._spec.numel:
        warnings.warn(
            f"An output with one or more elements was resized since it had shape {list(target.shape)}, which does not "
            f"match the required output shape {list(result.shape)}. This behavior is deprecated, and in a future "
            "PyTorch release outputs will not be resized unless they have zero elements. You can explicitly reuse an "
            "out tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
            stacklevel=6,
        )


# -- dtypes ------------------------------------------------------------------------------------------------------------

COMPUTED_IN: dict[str, tuple[int, str]] = {
    **dict.fromkeys(("sum", "prod", "zeros", "ones", "full", "eye", "empty"), (BOOL, "")),
    **dict.fromkeys(("rand", "randn", "randint", "randperm"), (BOOL, "")),
    **dict.fromkeys(("nansum", "nanmean"), (FLOATING, "nansum_cpu")),
    **{name: (BOOL + 1, f"{name}_out_cpu") for name in ("cumsum", "cumprod")},
    **{name: (BOOL + 1, f"{name}_cpu") for name in ("arange", "linspace", "logspace", "range")},
    "mean": (FLOATING, ""),
}  # fmt: skip
"""Functions that compute in the dtype of the target: the least category of dtypes that they take, and the kernel that
PyTorch says it has not got for others."""

_REAL_ONLY = ("arange", "range", "nansum", "nanmean")


def _computed_in(name: str, target: dtype, kwargs: dict) -> dict:
    """The keyword arguments of a call, with the dtype of the target if it is to compute in that."""
    if name not in COMPUTED_IN or kwargs.get("dtype") is not None:
        return kwargs
    least, kernel = COMPUTED_IN[name]
    if target.category < least or (name in _REAL_ONLY and target.category == COMPLEX):
        if kernel:
            raise unsupported(kernel, target)
        return kwargs
    return {**kwargs, "dtype": target}


_OF_NUMBERS = """
abs absolute ceil conj_physical fix floor frac neg negative round sgn sign trunc hardshrink bitwise_not positive
""".split()  # noqa: SIM905 - a table is easier to read without the quotes

_OF_STRUCTURE = """
msort sort topk kthvalue mode cummax cummin aminmax tril triu softmax log_softmax mm matmul bmm addmm addmv baddbmm
gather take_along_dim index_add index_copy index_reduce scatter scatter_add scatter_reduce slice_scatter diag renorm
norm vector_norm argmax argmin argsort
""".split()  # noqa: SIM905

_QUANTILES = ("quantile", "nanquantile")

_SAME = "Expected out tensor to have dtype {r}, but got {o} instead"

EXACT: dict[str, str] = {
    **dict.fromkeys(_OF_NUMBERS, "Found dtype {O} but expected {R}"),
    **dict.fromkeys(_OF_STRUCTURE, _SAME),
    **{name: f"{name} does not support non-boolean outputs." for name in ("isneginf", "isposinf", "signbit")},
    **{name: f"{name} only supports bool tensor for result, got: {{O}}" for name in ("all", "any")},
    **dict.fromkeys(
        ("amax", "amin"),
        "Expected the dtype for input and out to match, but got {R} for input's dtype and {O} for out's dtype.",
    ),
    **dict.fromkeys(
        ("complex", "polar"), "Expected object of scalar type {R} but got scalar type {O} for argument 'out'"
    ),
    **dict.fromkeys(("dot", "vdot"), "result dtype {O} does not match input dtype {R}"),
    **dict.fromkeys(
        ("searchsorted", "bucketize"),
        "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on "
        "whether out_int32 flag is True, but we got output tensor's dtype {O} and out_int32 flag is False",
    ),
    **{name: f"{name}(): self and result must have the same scalar type" for name in ("index_select", "masked_select")},
    "nan_to_num": "nan_to_num: dtype of out: {O} should be same as input: {R}",
    "histc": "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {r} and hist {o}",
    **dict.fromkeys(_QUANTILES, "quantile() out tensor must be same dtype as the input tensor"),
    "multinomial": "multinomial expects Long tensor out, got: {O}",
    "hash_tensor": "Expected result to be of dtype uint64, but got {O}",
    "nonzero": "nonzero: Expected out tensor to have scalar type {R} but got scalar type{O}",
    "float_power": "the output given to float_power has dtype {O} but the operation's result requires dtype {R}",
    "heaviside": "heaviside is not yet implemented for tensors with different dtypes.",
    "inner": "tensordot: Expected the output tensor to have dtype {R}, but got an output tensor with dtype {O}",
    "logcumsumexp": "expected scalar_type {R} but found {O}",
    "mv": "addmv input tensors must have the same dtype, but got {O}, {R}, and {R}",
    "addbmm": "self and mat2 must have the same dtype, but got {O} and {R}",
    "where": "Expected out type to be {R} but got {O}",
    "take": "take(): self and out expected to have the same dtype, but got self.dtype = {R} and out.dtype = {O}",
}  # fmt: skip
"""What functions say that want a target of the very dtype of the result, with the names of the dtypes: of the result
``{R}``, of the target ``{O}``; in small letters those of C++."""

CASTING: dict[str, tuple[type[Exception], str]] = {
    **dict.fromkeys(
        ("cat", "stack", "hstack", "vstack", "dstack", "column_stack"),
        (TypeError, "torch.cat(): input types can't be cast to the desired output type {O}"),
    ),
    **dict.fromkeys(
        ("max", "min"),
        (RuntimeError, "Expected canCast( typeMetaToScalarType(self.dtype()), typeMetaToScalarType(out.dtype())) to be "
                       "true, but got false.  (Could this error message be improved?  If so, please report an "
                       "enhancement request to PyTorch.)"),
    ),
    "mean": (RuntimeError, "mean.dtype_out(): input types can't be cast to the desired output type {O}"),
    "logsumexp": (RuntimeError, "logsumexp(): Expected floating point type for result tensor, but got: {O}"),
    "ldexp": (RuntimeError, "ldexp can't be cast to the desired output type {O}"),
    "mvlgamma": (RuntimeError, "mvlgamma: result type {R} can't be cast to the desired output type {R}"),
}  # fmt: skip
"""What functions say, in words of their own, of a target that the result can't be cast to."""


def _check_dtype(name: str, result: dtype, target: dtype, arguments: tuple, several: bool) -> None:
    """Refuse a target of the wrong dtype."""
    if result is target:
        return
    words = {"R": result.scalar_name, "O": target.scalar_name, "r": cpp_name(result), "o": cpp_name(target)}
    exact = _SAME if several or (name in COMPUTED_IN and name not in ("mean", "nanmean")) else EXACT.get(name)
    if name.startswith(("clamp", "clip")) and len(_tensors(arguments)) == 1:
        exact = EXACT["abs"]
    if exact is not None:
        raise RuntimeError(exact.format(**words))
    if name in CASTING and not can_cast(result, target) and not (name == "mean" and len(arguments) > 1):
        error, text = CASTING[name]
        raise error(text.format(**words))

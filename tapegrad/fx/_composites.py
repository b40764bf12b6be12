"""Calls of public functions as PyTorch's dispatcher has them above autograd, where it has not yet taken them apart.

Note [Graphs above autograd]
Graphs of exported programs, and those of ``make_fx(pre_dispatch=True)``, have ``aten.linear``, ``aten.softmax.int``
and ``aten.cross_entropy_loss``, which PyTorch's dispatcher takes apart below autograd. ``Composites`` is a context that
gets the calls of public functions; what has a schema of such a function (``ops/composite_schemas.py``) is recorded as
that, what PyTorch has in Python is looked into, and all else comes to the mode that records operators.

Note [Calls in one node]
Some functions come down to operators that PyTorch hasn't got, or whose arguments are computed by what is no operator (a
mask as places, a table of windows). A graph of those would have constants in it that belong to the example. Such a
call is recorded as what it is above autograd: its nodes are taken out again, and one stands for them (``WholeCalls``).
In a backward pass there is no such call; an operator that PyTorch hasn't got is a node of ``torch.ops.tapegrad`` there.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import getattr_static
from typing import Any, NamedTuple

from tapegrad._src.bindings.declaration.registry import NAMESPACES
from tapegrad._src.bindings.function_modes import TorchFunctionMode
from tapegrad._src.bindings.schema_calls import bound_by
from tapegrad._src.execution.data import dtypes
from tapegrad._src.execution.data.devices import device as device_class
from tapegrad._src.execution.data.dtypes import dtype
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops.overloads import OpOverload, identity
from tapegrad.ops.schemas import Schema, composites_of, schemas_of
from tapegrad.utils._pytree import tree_leaves

REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}

ALSO = frozenset("""
    cross_entropy_loss one_hot isclose isfinite isreal std std_mean var var_mean where gru lstm_cell gru_cell rnn_tanh
    rnn_relu rnn_tanh_cell rnn_relu_cell linalg_eigvals linalg_eigvalsh linalg_pinv linalg_svdvals argwhere max min
    conj_physical
""".split())  # noqa: SIM905
"""Functions that are taken apart, too, whose schemas stand among those of operators."""

ONLY = {"max": ("other",), "min": ("other",), **dict.fromkeys(("std", "std_mean", "var", "var_mean"), ("dim",))}
"""The overloads of these that are taken apart."""

DTYPES = {
    "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16, "bfloat16": dtypes.bfloat16,
    "long": dtypes.int64, "int": dtypes.int32, "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8,
    "bool": dtypes.bool,
}  # fmt: skip
"""Methods that are called ``to`` there."""

BROADCAST = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
"""Losses whose tensors are broadcast before."""

BITWISE = {"bitwise_and": "__and__", "bitwise_or": "__or__", "bitwise_xor": "__xor__"}
"""Operators of Python that have functions of their own."""

PROPERTIES = {"T": "numpy_T", "mT": "mT", "mH": "mH", "H": "matrix_H", "real": "real", "imag": "imag"}
"""The functions that attributes of tensors are."""

Words = tuple[str, tuple, dict[str, Any]]

FUNCTIONAL: dict[str, Callable[..., Words | None]] = {}
"""For functions that PyTorch has in Python the call that they come to; None: they are looked into."""


class CompositeCall(NamedTuple):
    """A call in the words of a schema."""

    func: OpOverload
    args: tuple
    kwargs: dict[str, Any]


class OpenCall:
    """A call of a public function that is being recorded.

    Args:
        call: it in words of ``aten``, if it has any.
        given: its arguments.

    Attributes:
        tensors: the identities of the tensors among these.
        whole: whether it is to be one node.
    """

    def __init__(self, call: CompositeCall | None, given: Any) -> None:
        self.call = call
        self.held = [one for one in tree_leaves(given) if isinstance(one, Tensor)]
        self.tensors = set(map(id, self.held))
        self.whole = False


def comes_to(*names: str) -> Callable[[Callable], Callable]:
    """Declare the call that functions of these names come to."""

    def declare(function: Callable) -> Callable:
        FUNCTIONAL.update(dict.fromkeys(names, function))
        return function

    return declare


def call(name: str, *args: Any, **kwargs: Any) -> Words:
    """A call of a function of ``aten``."""
    return name, args, kwargs


def reduced(options: dict[str, Any]) -> int:
    """The number of a reduction, by the arguments that a loss has for it."""
    if options.get("size_average") is not None or options.get("reduce") is not None:
        whole = options.get("size_average") in (None, True)
        return 0 if options.get("reduce") is False else (1 if whole else 2)
    return REDUCTIONS.get(options.get("reduction", "mean"), 1)


# -- functions in Python -----------------------------------------------------------------------------------------------


@comes_to("softmax", "log_softmax")
def _softmax(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None, *, name: str) -> Words | None:
    return None if dim is None else call(name, input, dim, *(() if dtype is None else (dtype,)))


@comes_to("dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d", "dropout2d", "dropout3d")
def _dropout(
    input: Any, p: float = 0.5, training: Any = None, inplace: bool = False, train: Any = None, *, name: str
) -> Words:
    aten = "feature_dropout" if name[-1] == "d" and name[-2].isdigit() else name
    on = train if train is not None else (name.startswith("dropout") if training is None else training)
    return call(f"{aten}{'_' if inplace else ''}", input, p, on)


@comes_to("relu", "selu", "relu6", "silu", "mish", "hardswish", "hardsigmoid", "celu", "leaky_relu", "elu")
def _activation(input: Any, *args: Any, inplace: bool = False, name: str, **kwargs: Any) -> Words | None:
    return call(f"{name}{'_' if inplace else ''}", input, *args, *kwargs.values())


@comes_to("layer_norm")
def _layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, *, name: str
) -> Words:
    return call(name, input, list(normalized_shape), weight, bias, eps, True)


@comes_to("rms_norm")
def _rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: Any = None, *, name: str) -> Words:
    return call(name, input, list(normalized_shape), weight, eps)


@comes_to("group_norm")
def _group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5, *, name: str
) -> Words:
    return call(name, input, num_groups, weight, bias, eps, True)


@comes_to("batch_norm")
def _batch_norm(
    input: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None, training: bool = False,
    momentum: float = 0.1, eps: float = 1e-5, *, name: str,
) -> Words:  # fmt: skip
    return call(name, input, weight, bias, running_mean, running_var, training, momentum, eps, True)


@comes_to("instance_norm")
def _instance_norm(
    input: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None,
    use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5, *, name: str,
) -> Words:  # fmt: skip
    return call(name, input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)


@comes_to("embedding")
def _embedding(
    input: Any, weight: Any, padding_idx: Any = None, max_norm: Any = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False, *, name: str,
) -> Words | None:  # fmt: skip
    if max_norm is not None:
        return None
    place = -1 if padding_idx is None else padding_idx % weight.shape[0]
    return call(name, weight, input, place, scale_grad_by_freq, sparse)


@comes_to("cross_entropy")
def _cross_entropy(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, ignore_index: int = -100, reduce: Any = None,
    reduction: str = "mean", label_smoothing: float = 0.0, *, name: str,
) -> Words:  # fmt: skip
    how = reduced({"size_average": size_average, "reduce": reduce, "reduction": reduction})
    return call("cross_entropy_loss", input, target, weight, how, ignore_index, label_smoothing)


@comes_to("nll_loss")
def _nll_loss(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, ignore_index: int = -100, reduce: Any = None,
    reduction: str = "mean", *, name: str,
) -> Words:  # fmt: skip
    how = reduced({"size_average": size_average, "reduce": reduce, "reduction": reduction})
    return call("nll_loss_nd", input, target, weight, how, ignore_index)


@comes_to("mse_loss", "l1_loss")
def _broadcast_loss(input: Any, target: Any, *args: Any, weight: Any = None, name: str, **options: Any) -> Words | None:
    if weight is not None or args:
        return None
    return call(name, input, target, reduced(options))


@comes_to("smooth_l1_loss", "huber_loss")
def _smooth_loss(
    input: Any, target: Any, *args: Any, beta: Any = 1.0, delta: Any = 1.0, weight: Any = None, name: str,
    **options: Any,
) -> Words | None:
    if weight is not None or args:
        return None
    width = beta if name == "smooth_l1_loss" else delta
    return call(name, input, target, reduced(options), width)


@comes_to("binary_cross_entropy")
def _binary_cross_entropy(input: Any, target: Any, weight: Any = None, *, name: str, **options: Any) -> Words:
    return call(name, input, target, weight, reduced(options))


@comes_to("binary_cross_entropy_with_logits")
def _with_logits(
    input: Any, target: Any, weight: Any = None, *, pos_weight: Any = None, name: str, **options: Any
) -> Words:
    return call(name, input, target, weight, pos_weight, reduced(options))


@comes_to("kl_div")
def _kl_div(input: Any, target: Any, *, log_target: bool = False, name: str, **options: Any) -> Words | None:
    if options.get("reduction") == "batchmean":
        return None
    return call(name, input, target, reduced(options), log_target=log_target)


@comes_to("max_pool1d", "max_pool2d", "max_pool3d")
def _max_pool(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False, *, name: str,
) -> Words | None:  # fmt: skip
    if return_indices:
        return None
    return call(name, input, kernel_size, [] if stride is None else stride, padding, dilation, ceil_mode)


@comes_to("adaptive_avg_pool2d", "adaptive_avg_pool3d")
def _adaptive(input: Any, output_size: Any, *, name: str) -> Words:
    count, lengths = int(name[-2]), input.shape
    sizes = [output_size] * count if isinstance(output_size, int) else list(output_size)
    sizes = [lengths[place - count] if one is None else one for place, one in enumerate(sizes)]
    return call(name, input, sizes)


@comes_to("einsum")
def _einsum(equation: Any, *operands: Any, name: str) -> Words | None:
    listed = operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
    return call(name, equation, list(listed)) if isinstance(equation, str) else None


@comes_to("broadcast_tensors", "cartesian_prod")
def _listed(*tensors: Any, name: str) -> Words:
    listed = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    return call(name, list(listed))


@comes_to("meshgrid")
def _meshgrid(*tensors: Any, indexing: str | None = None, name: str) -> Words:
    listed = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    return call(name, list(listed), **({} if indexing is None else {"indexing": indexing}))


@comes_to("logsigmoid")
def _logsigmoid(input: Any, *, name: str) -> Words:
    return call("log_sigmoid", input)


@comes_to("cdist")
def _cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: Any = None, *, name: str) -> Words:
    return call(name, x1, x2, p)


@comes_to("tensordot")
def _tensordot(a: Any, b: Any, dims: Any = 2, *, name: str) -> Words | None:
    if isinstance(dims, Tensor):
        return None
    pairs = dims if not isinstance(dims, int) else (list(range(-dims, 0)), list(range(dims)))
    left, right = ([one] if isinstance(one, int) else list(one) for one in pairs)
    return call(name, a, b, left, right)


@comes_to("pad")
def _pad(input: Any, pad: Any, mode: str = "constant", value: Any = None, *, name: str) -> Words:
    return call(name, input, list(pad), mode, value)


@comes_to("gumbel_softmax", "normalize", "softmin", "softsign", "tanhshrink", "sigmoid", "tanh")
def _inside(*args: Any, name: str, **kwargs: Any) -> None:
    return None


# -- calls -------------------------------------------------------------------------------------------------------------


def composite_call(func: Any, args: tuple, kwargs: dict[str, Any], cudnn: bool = True) -> CompositeCall | None:
    """The call of a public function in the words of one that is taken apart below autograd; None if it is none.

    Args:
        func: the function.
        args, kwargs: its arguments.
        cudnn: what is said of cuDNN where a schema asks for it.
    """
    kwargs = {key: one for key, one in kwargs.items() if key != "out" or one is not None}
    if "out" in kwargs:
        return None
    words = words_of(func, args, kwargs)
    if words is None:
        return None
    name, given, named = words
    named = {key: one for key, one in named.items() if one is not None}
    for overload, schema in overloads_of(name, func).items():
        bound = bound_by(schema, name, given, named)
        if bound is None or (overload == "dim" and "dim" not in bound):
            continue
        bound.update((one, cudnn) for one in ("cudnn_enable", "cudnn_enabled") if one in bound)
        return CompositeCall(identity("aten", name, overload), *schema.shown(bound))
    return None


def overloads_of(name: str, func: Any) -> dict[str, Schema]:
    """The schemas that a call may have above autograd."""
    if name in ALSO:
        own = schemas_of(name)
        return {key: one for key, one in own.items() if key in ONLY.get(name, own)}
    found = composites_of(name) or (schemas_of(name) if is_in_python(func) else {})
    return {key: one for key, one in found.items() if "Tensor" in one.returned}


def is_in_python(func: Any) -> bool:
    """Tell whether PyTorch has a function in Python."""
    place = getattr(func, "torch_name", None) or ""
    return place.startswith(("torch.functional.", "torch.nn.functional.", "torch._tensor."))


def words_of(func: Any, args: tuple, kwargs: dict[str, Any]) -> Words | None:
    """The function of ``aten`` that a public function is, and the arguments for it; None if it is none."""
    name, place = func.__name__, getattr(func, "torch_name", None) or ""
    if name == "__get__":
        found = PROPERTIES.get(property_name(func.__self__))
        return None if found is None else (found, args, {})
    if is_in_python(func) and name in FUNCTIONAL:
        return FUNCTIONAL[name](*args, **kwargs, name=name)
    if name in DTYPES and place.startswith("torch.Tensor.") and not kwargs:
        return "to", (args[0], DTYPES[name]), {}
    if name in ("to", "cpu"):
        return _to(*args, **kwargs)
    if name == "type" and args[1:] and isinstance(args[1], dtype):
        return "to", args, kwargs
    if name == "where" and place.startswith("torch.Tensor."):
        return name, (args[1], args[0], *args[2:]), kwargs
    return BITWISE.get(name, name) if place.startswith("torch.Tensor.") else name, args, kwargs


def _to(self: Tensor, *args: Any, **kwargs: Any) -> Words:
    """A conversion: to a dtype, like another tensor, or to a device."""
    if args and isinstance(args[0], dtype):
        return "to", (self, *args), kwargs
    if args and isinstance(args[0], Tensor):
        return "to", (self, args[0].device, args[0].dtype, *args[1:]), kwargs
    if len(args) > 1 and isinstance(args[1], dtype):
        return "to", (self, device_class(args[0]), *args[1:]), kwargs
    named = dict(kwargs)
    named.setdefault("dtype", args[1] if len(args) > 1 else self.dtype)
    where = named.pop("device", args[0] if args else self.device)
    return "to", (self,), {**named, "layout": self.layout, "device": device_class(where)}


def property_name(value: Any) -> str:
    """The name of an attribute of tensors that is computed."""
    return next((name for name in PROPERTIES if getattr_static(Tensor, name, None) is value), "")


def aten_call(func: Any, args: tuple, kwargs: dict[str, Any]) -> CompositeCall | None:
    """The call of a public function in the words of PyTorch's function or operator of that name; None without one."""
    found = composite_call(func, args, kwargs)
    words = words_of(func, args, kwargs) if found is None and func.__name__ != "__get__" else None
    if words is None or kwargs.get("out") is not None:
        return found
    name, given, named = words
    named = {key: one for key, one in named.items() if one is not None}
    for overload, schema in schemas_of(name).items():
        bound = bound_by(schema, name, given, named)
        if bound is not None:
            return CompositeCall(identity("aten", name, overload), *schema.shown(bound))
    return None


class WholeCalls(TorchFunctionMode):
    """A context that tells what records operators which public function calls them.

    Args:
        mode: what records operators.
    """

    def __init__(self, mode: Any) -> None:
        self._mode = mode

    def __torch_function__(self, func: Any, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        if not self._mode.is_innermost():
            return func(*args, **kwargs)
        if func.__name__ == "__get__" and property_name(func.__self__) == "mT":
            with self:
                return args[0].transpose(-2, -1)
        found = aten_call(func, args, kwargs)
        inner = inside(func) if found is None else None

        def run() -> Any:
            if inner is None:
                return self._made(func, args, kwargs)
            with self:
                return inner(*args, **{key: one for key, one in kwargs.items() if key != "out" or one is not None})

        if found is None and func.__name__ == "__get__":
            return run()
        return self._mode.whole(OpenCall(found, (args, kwargs)), func, args, kwargs, run)

    def _made(self, func: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The result of a function that is not looked into."""
        return func(*args, **kwargs)


def inside(func: Any) -> Callable | None:
    """The body of a function that PyTorch has in Python; None for others."""
    return getattr(func, "__wrapped__", None) if is_in_python(func) else None


class Composites(WholeCalls):
    """A context that records composites. See Note [Graphs above autograd].

    Args:
        mode: what records operators.
        cudnn: what is said of cuDNN where a schema asks for it.
    """

    def __init__(self, mode: Any, cudnn: bool = True) -> None:
        super().__init__(mode)
        self._cudnn = cudnn

    def __torch_function__(self, func: Any, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        on = self._mode.is_innermost()
        found = composite_call(func, args, kwargs, self._cudnn) if on else None
        if found is not None:
            return self._recorded(found, func, args, kwargs)
        if not on or inside(func) is not None or func.__name__ not in ("tensor", "new_tensor"):
            return super().__torch_function__(func, types, args, kwargs)
        made = self._literal(func, args, kwargs)
        return self._mode.composite(CompositeCall(identity("aten", "detach_", "default"), (made,), {}), lambda: made)

    def _recorded(self, call: CompositeCall, func: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        if call.func._opname == "contiguous" and args[0].is_contiguous(**kwargs):
            return func(*args, **kwargs)
        if call.func._opname in BROADCAST:
            with self:
                tensors = NAMESPACES["torch"]["broadcast_tensors"](*call.args[:2])
            call = call._replace(args=(*tensors, *call.args[2:]))
        return self._mode.composite(call, lambda: func(*args, **kwargs))

    def _literal(self, func: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The tensor that ``torch.tensor`` makes of numbers."""
        return func(*args, **kwargs)

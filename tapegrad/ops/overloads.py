"""Identities of operators, as ``torch.ops.aten.NAME.OVERLOAD``: what policies and logs call an operator by.

Note [Identities]
PyTorch's dispatcher knows each operator by a namespace, a name and an overload. Programs name them so to say which
results a checkpoint keeps: ``torch.ops.aten.mm.default``. Here an identity is a name that can be compared, hashed and,
where there is a function of that name, called. ``identity_of`` gives that of one of our operators, as it is declared
(``aten``, Note [Facts] in ``facts.py``): mostly its name's ``default``. Where one operator of ours does what takes
PyTorch several (a product of batches, attention), it goes by the one that computes; functions that make tensors, and
``detach``, are no operators, and what a function writes in place goes by the operator that computes it. Operators that
PyTorch has no counterpart of are in the namespace ``tapegrad``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from tapegrad._src.caches import Cache
from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.doors import Door
from tapegrad.ops.schemas import composites_of, schema_of, schemas_of

REGISTERED: dict[str, dict[str, Any]] = {}
"""The operators that programs have registered, by ``namespace::name`` and overload: callables with a ``_schema``."""

homes: Door[list[tuple[str, dict[str, Callable]]]] = Door("homes", filled_by="functions/identities.py")
"""The functions behind identities: a prefix of their names in ``aten``, and functions by name."""


own_operator: Door[Callable[[str, tuple, dict], Any]] = Door("own_operator", filled_by="functions/identities.py")
"""Computes an operator of the table by its name, of arguments and settings: one that PyTorch has no counterpart of."""


class OpOverload:
    """One overload of an operator. There is one object for each, so that it is compared and hashed by identity.

    >>> torch.ops.aten.add.Tensor, str(torch.ops.aten.add.Tensor), torch.ops.aten.add.Tensor.name()
    (<OpOverload(op='aten.add', overload='Tensor')>, 'aten.add.Tensor', 'aten::add.Tensor')
    >>> torch.ops.aten.neg.default(torch.ones(2))
    tensor([-1., -1.])
    """

    def __init__(self, packet: OpOverloadPacket, overload: str) -> None:
        self.overloadpacket = self._overloadpacket = packet
        self.namespace, self._opname, self._overloadname = packet.namespace, packet._opname, overload
        self.__name__ = f"{packet._opname}.{overload}"
        self.__module__ = packet.__module__

    @property
    def _schema(self) -> Any:
        """The arguments and results that it has, as a ``Schema``; None if that is not known here."""
        if self.namespace == "aten":
            return schema_of(self._opname, self._overloadname)
        registered = self._registered()
        return None if registered is None else registered._schema

    @property
    def is_view(self) -> bool:
        """True of what shows the memory of an argument in another way, and writes to none."""
        aliases = [] if self._schema is None else [one.alias_info for one in self._schema.arguments]
        return any(aliases) and not any(alias.is_write for alias in aliases if alias)

    @property
    def _name(self) -> str:
        return self.name()

    def _registered(self) -> Any:
        """The operator that a program has registered under this name; None if it is one of ours."""
        found = REGISTERED.get(self.overloadpacket._qualified_op_name)
        return None if found is None else found.get(self._overloadname)

    def name(self) -> str:
        """The name in schemas: ``aten::sin``, ``aten::add.Tensor``."""
        suffix = "" if self._overloadname == "default" else f".{self._overloadname}"
        return f"{self.namespace}::{self._opname}{suffix}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _shown.calls and _shown.calls[-1].is_meant(self, args, kwargs):
            return _shown.calls[-1].run(args, kwargs)
        registered = self._registered()
        if registered is not None:
            return registered(*args, **kwargs)
        if self._opname == "lift_fresh_copy":
            return args[0].clone()
        if self.namespace == "tapegrad":
            return own_operator.content(self._opname, args, kwargs)
        known = _remembered.get(_call_key(self, args, kwargs)) if _function(self._opname) is None else None
        return self.overloadpacket(*args, **kwargs) if known is None else self._whole(known(args, kwargs))

    def _whole(self, found: Any) -> Any:
        """All results of an operator, of which ours computes the first alone."""
        count = 1 if self._schema is None else len(self._schema.returns)
        return found if count < 2 or isinstance(found, tuple) else (found, *[None] * (count - 1))

    def __str__(self) -> str:
        return f"{self.namespace}.{self._opname}.{self._overloadname}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.namespace}.{self._opname}', overload='{self._overloadname}')>"

    def __copy__(self) -> OpOverload:
        return self

    def __deepcopy__(self, memo: Any) -> OpOverload:
        return self

    def __reduce__(self) -> tuple:
        return identity, (self.namespace, self._opname, self._overloadname)


class OpOverloadPacket:
    """All overloads of an operator: attributes are the overloads. Calling it calls the function of that name.

    Raises:
        AttributeError: there is no such overload.
    """

    def __init__(self, namespace: str, name: str) -> None:
        self.namespace, self._opname = namespace, name
        self._qualified_op_name = f"{namespace}::{name}"
        self.__name__ = name
        self.__module__ = f"torch._ops.{namespace}"

    def overloads(self) -> list[str]:
        """The names of the overloads: what writes has those of its counterpart that give a new tensor."""
        name = self._opname
        if self._qualified_op_name in REGISTERED:
            return list(REGISTERED[self._qualified_op_name])
        if name in OVERLOADS or not _writes(name):
            return list(OVERLOADS.get(name, ("default", "out")))
        return [one for one in OVERLOADS.get(name[:-1], ("default",)) if "out" not in one and one != "Scalar_Tensor"]

    def __iter__(self) -> Iterator[str]:
        return iter(self.overloads())

    def __getattr__(self, overload: str) -> OpOverload:
        if overload.startswith("__") or not (overload in self.overloads() or self._has_schema(overload)):
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{overload}'")
        found = OpOverload(self, overload)
        return self.__dict__.setdefault(overload, found)

    def _has_schema(self, overload: str) -> bool:
        return self.namespace == "aten" and schema_of(self._opname, overload) is not None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        overloads = REGISTERED.get(self._qualified_op_name)
        if overloads is not None:
            return self._first_fitting(list(overloads.values()), args, kwargs)
        function = None if self.namespace == "tapegrad" else _function(self._opname)
        if function is None:
            raise NotImplementedError(f"{self} names an operator, for policies and logs; no function here computes it")
        return function(*args, **kwargs)

    @staticmethod
    def _first_fitting(overloads: list[Any], args: tuple, kwargs: dict[str, Any]) -> Any:
        """Call the first overload that takes these arguments; the last one says why it does not."""
        for one in overloads[:-1]:
            if one._schema.bind(args, kwargs, lambda argument, given: True) is not None:
                return one(*args, **kwargs)
        return overloads[-1](*args, **kwargs)

    def __str__(self) -> str:
        return f"{self.namespace}.{self._opname}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def __copy__(self) -> OpOverloadPacket:
        return self

    def __deepcopy__(self, memo: Any) -> OpOverloadPacket:
        return self

    def __reduce__(self) -> tuple:
        return _packet, (self.namespace, self._opname)


class OpNamespace:
    """``torch.ops.aten``: the operators by name.

    Raises:
        AttributeError: there is none of that name.
    """

    def __init__(self, name: str, known: Callable[[str], bool]) -> None:
        self.name = name
        self._known = known

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if (name.startswith("__") and name not in OVERLOADS) or not self._known(name):
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")
        packet = OpOverloadPacket(self.name, name)
        return self.__dict__.setdefault(name, packet)

    def __repr__(self) -> str:
        return f"<module 'torch.ops.{self.name}' from 'torch.ops'>"


class ShownCall(NamedTuple):
    """A call that is being shown to a program under the name ``func``: calling that so runs what it stands for.

    Attributes:
        func, args, kwargs: the call, in PyTorch's words.
        run: computes it for such arguments, of which the tensors may be others.
    """

    func: OpOverload
    args: tuple
    kwargs: dict
    run: Callable[[tuple, dict], Any]

    def is_meant(self, func: OpOverload, args: tuple, kwargs: dict) -> bool:
        """Tell whether a call is this one, but for its tensors."""
        if func is not self.func or len(args) != len(self.args) or kwargs.keys() != self.kwargs.keys():
            return False
        given, shown = (*args, *kwargs.values()), (*self.args, *[self.kwargs[name] for name in kwargs])
        return all(map(_alike, given, shown))


def _alike(given: Any, shown: Any) -> bool:
    """Tell whether two arguments are the same but for their tensors."""
    if hasattr(given, "_spec") or hasattr(shown, "_spec"):
        return hasattr(given, "_spec") and hasattr(shown, "_spec")
    if isinstance(given, (list, tuple)) and isinstance(shown, (list, tuple)):
        return len(given) == len(shown) and all(map(_alike, given, shown))
    return given is shown or (type(given) is type(shown) and bool(given == shown))


class _Shown(threading.local):
    def __init__(self) -> None:
        self.calls: list[ShownCall] = []


_shown = _Shown()


@contextmanager
def shown(call: ShownCall) -> Iterator[None]:
    """A block in which to make the call runs what it stands for."""
    _shown.calls.append(call)
    try:
        yield
    finally:
        _shown.calls.pop()


def remember_call(func: OpOverload, args: tuple, kwargs: dict) -> None:
    """Remember how the call that is being shown is computed, so that a graph can make it, if no function does."""
    if _shown.calls and func.namespace == "aten" and _function(func._opname) is None:
        _remembered.keep(_call_key(func, args, kwargs), _shown.calls[-1].run)


def _call_key(func: OpOverload, args: tuple, kwargs: dict) -> Any:
    """A call as a key: its arguments, and of tensors the shapes and dtypes."""

    def part(value: Any) -> Any:
        if hasattr(value, "_spec"):
            return tuple(value.shape), value.dtype
        if isinstance(value, (list, tuple)):
            return tuple(map(part, value))
        return type(value), str(value)

    return func, part(args), tuple((name, part(one)) for name, one in kwargs.items())


_remembered = Cache("operators of graphs", 4096)
"""Calls of operators that no function here computes, but that graphs make."""


def namespace(name: str) -> OpNamespace:
    """The namespace of this name, in which programs may register operators."""
    if name not in NAMESPACES:
        NAMESPACES[name] = OpNamespace(name, lambda one: f"{name}::{one}" in REGISTERED)
    return NAMESPACES[name]


def identity(namespace: str, name: str, overload: str) -> OpOverload:
    """The identity with this name."""
    found: OpOverload = getattr(_packet(namespace, name), overload)
    return found


def _packet(namespace: str, name: str) -> OpOverloadPacket:
    found: OpOverloadPacket = getattr(NAMESPACES[namespace], name)
    return found


def identity_of(op: OperatorLike, args: Sequence) -> OpOverload:
    """PyTorch's name of one of our operators when it is applied to these arguments. See Note [Identities]."""
    if op.aten is None:
        return identity("tapegrad", op.name, "default")
    name, _, overload = (op.aten if isinstance(op.aten, str) else op.aten(*args)).partition(".")
    return identity("aten", name, overload or "default")


def _writes(name: str) -> bool:
    return name.endswith("_") and not name.startswith("__")


def _known(name: str) -> bool:
    listed = name in OVERLOADS or name in NAMED or _function(name) is not None
    return listed or bool(schemas_of(name) or composites_of(name))


def _function(name: str) -> Callable | None:
    for prefix, functions in homes.content:
        found = functions.get(name.removeprefix(prefix)) if name.startswith(prefix) else None
        if found is not None:
            return found
    return None


# Names --------------------------------------------------------------------------------------------------------------


OWN: set[str] = {"vmapped"}
"""Operators that PyTorch has no counterpart of: those with ``aten=None``, and any of them on a batch of examples."""

NAMED = {
    "_scaled_dot_product_efficient_attention", "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_cudnn_attention", "_convolution", "cudnn_convolution",
    "_pin_memory", "_sparse_addmm", "_sparse_mm_reduce_impl", "_to_copy", "_linalg_check_errors",
}  # fmt: skip
"""Names of ``aten`` that programs say though nothing here computes them, and those that operators declare."""


def declare(name: str, family: str, aten: str | Callable[..., str] | None) -> tuple[str, str | Callable | None]:
    """The declared identity of an operator, made complete: PyTorch's name of it, and that with the overload.

    >>> declare("pow_number", "pow", ".Tensor_Scalar"), declare("sin", "", "")
    (('pow', 'pow.Tensor_Scalar'), ('sin', 'sin.default'))
    """
    usual = family or name
    if aten is None:
        OWN.add(name)
    if not isinstance(aten, str):
        return usual, aten
    base, _, overload = aten.partition(".")
    NAMED.add(base or usual)
    return base or usual, f"{base or usual}.{overload or 'default'}"


def by_second(name: str) -> Callable[..., str]:
    """The overload for a tensor or for a number, as the second argument is."""
    return lambda x, y: f"{name}.{'Tensor' if hasattr(y, 'dtype') else 'Scalar'}"


OVERLOADS = {
    name: tuple(overloads.split())
    for names, _, overloads in (entry.partition(": ") for entry in """
gru lstm rnn_relu rnn_tanh: input data;
__and__ pow_: Scalar Tensor; __iand__ __ior__ __ixor__ __or__ __xor__ float_power_ floor_divide_: Tensor Scalar;
__lshift__ __rshift__ eq ge greater greater_equal gt le less less_equal lt ne not_equal: Tensor Scalar Scalar_out
Tensor_out; add copysign mul sub: Tensor Scalar out Scalar_out; addmm baddbmm bmm mm: default out dtype_out dtype;
addmm_ baddbmm_ ldexp_ normal_ transpose_: default; all any: default dim dims out dims_out all_out; arange: default
start start_step start_out out; argsort: default stable stable_out; atleast_1d atleast_2d atleast_3d: default Sequence;
bernoulli: default out p Tensor Tensor_out float_out; bernoulli_: Tensor float; bitwise_and bitwise_or bitwise_xor
remainder: Tensor Scalar Scalar_Tensor Tensor_out Scalar_out Scalar_Tensor_out; bitwise_left_shift bitwise_right_shift:
Tensor Tensor_Scalar Scalar_Tensor Tensor_out Tensor_Scalar_out Scalar_Tensor_out; bucketize fmod rsub: Tensor Scalar
Tensor_out Scalar_out; clamp clamp_max clamp_min clip: default Tensor out Tensor_out; conv1d conv2d conv3d: default
padding; conv_transpose2d conv_transpose3d: input; count_nonzero: default dim_IntList dim_IntList_out out; div: Tensor
Scalar Tensor_mode Scalar_mode out out_mode Scalar_out Scalar_mode_out; divide: Tensor Scalar Tensor_mode Scalar_mode
out out_mode; dsplit hsplit vsplit: int array; empty: memory_format out; eye: default m out m_out; fill masked_fill:
Scalar Scalar_out Tensor Tensor_out; flatten: using_ints; float_power pow: Tensor_Tensor Tensor_Scalar Scalar
Tensor_Tensor_out Scalar_out Tensor_Scalar_out; floor_divide: default Scalar out Scalar_out; frexp: Tensor Tensor_out
default; hardshrink_backward hardtanh_backward leaky_relu_backward softshrink_backward threshold_backward: default
grad_input; histogram: bins_tensor bins_tensor_out bin_ct bin_ct_out; index unsafe_split: Tensor Tensor_out; index_fill:
int_Tensor int_Scalar int_Scalar_out int_Tensor_out; isin: Tensor_Tensor Tensor_Tensor_out Tensor_Scalar
Tensor_Scalar_out Scalar_Tensor Scalar_Tensor_out; kthvalue mode topk: default values; ldexp: Tensor out; lerp: Scalar
Tensor Scalar_out Tensor_out; linalg_matrix_norm: default str_ord out str_ord_out; linalg_norm: default ord_str out
ord_str_out; linalg_pinv: default atol_rtol_float atol_rtol_tensor atol_rtol_tensor_out atol_rtol_float_out out
rcond_tensor out_rcond_tensor; linspace logspace: Tensor_Tensor Tensor_Scalar Scalar_Tensor default out
Tensor_Tensor_out Tensor_Scalar_out Scalar_Tensor_out; log_softmax softmax: int int_out; max: other default dim dim_max
unary_out out; mean: default dim out dtype_out; median nanmedian: default dim dim_values out; meshgrid: default
indexing; min: other default dim dim_min unary_out out; moveaxis: intlist int; movedim: int intlist; multiply
true_divide: Tensor Scalar out; narrow: default Tensor; norm: Scalar ScalarOpt_dim ScalarOpt_dim_dtype dtype_out out
ScalarOpt_dtype ScalarOpt_dtype_out Scalar_out; normal: Tensor_float Tensor_float_out float_Tensor_out float_Tensor
Tensor_Tensor Tensor_Tensor_out float_float float_float_out out; prod: default dim_int int_out out; rand rand_like randn
randn_like randperm: default generator out generator_out; randint: default generator low low_generator out generator_out
low_out low_generator_out; randint_like: default Tensor low_dtype generator Tensor_generator low_generator_dtype out
generator_out Tensor_out Tensor_generator_out low_dtype_out low_generator_dtype_out; random_: from to default; range:
step default out out_; repeat_interleave: Tensor self_Tensor self_int Tensor_out; round: default decimals out
decimals_out; scatter: value src reduce value_reduce src_out value_out reduce_out value_reduce_out; scatter_reduce: two
two_out; searchsorted: Tensor Tensor_out Scalar Scalar_out; select transpose unbind unflatten: int; slice: Tensor; sort:
default stable values values_stable; special_xlog1py special_xlogy special_zeta: default other_scalar self_scalar out
self_scalar_out other_scalar_out; split: Tensor sizes default; squeeze: default dim dims; std var: default dim
correction correction_out out; std_mean var_mean: default dim correction correction_out; subtract: Tensor out Scalar;
sum: dim_IntList default IntList_out out; tensor_split: sections indices tensor_indices_or_sections; to: device dtype
other dtype_layout; upsample_bicubic2d upsample_linear1d upsample_nearest1d upsample_nearest3d upsample_trilinear3d:
default vec out; upsample_bilinear2d upsample_nearest2d: default vec out vec_out; view: default dtype; where: self
ScalarOther ScalarSelf Scalar default self_out; xlogy: Tensor Scalar_Other Scalar_Self OutTensor OutScalar_Self
OutScalar_Other; xlogy_: Tensor Scalar_Other
""".replace("\n", " ").strip().split("; "))
    for name in names.split()
}  # fmt: skip
"""The overloads of names, where they are not ``default`` and ``out``, or follow from those of what does not write."""

aten = OpNamespace("aten", _known)
prim = OpNamespace("prim", frozenset(("device",)).__contains__)
NAMESPACES: dict[str, Any] = {"aten": aten, "prim": prim, "tapegrad": OpNamespace("tapegrad", lambda name: True)}

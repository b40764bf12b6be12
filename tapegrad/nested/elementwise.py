"""Functions of elements: those of the values, where both sides have the same entries, or one is spread over them."""

from __future__ import annotations

from typing import Any

from tapegrad._src.bindings.declaration.dunders import AUGMENTED
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nested.lengths import RaggedLength
from tapegrad.nested.overloads import overload, unsupported, words
from tapegrad.nested.padding import longest, unpadded
from tapegrad.nested.tensor import FALLBACKS, Jagged, answers, is_jagged, state_of, tensors_in, with_values

ELEMENTWISE: set[str] = set()
"""The functions of elements that PyTorch has for the jagged layout, as functions, methods and operators."""

for _name in words(
    """abs absolute acos acosh add airy_ai angle arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh
    atan atan2 atanh bessel_j0 bessel_j1 bessel_y0 bessel_y1 bitwise_and bitwise_left_shift bitwise_not
    bitwise_or bitwise_right_shift bitwise_xor ceil celu chebyshev_polynomial_t chebyshev_polynomial_u
    chebyshev_polynomial_v chebyshev_polynomial_w clamp clamp_max clamp_min clip conj conj_physical copysign cos
    cosh deg2rad digamma div divide elu entr eq erf erfc erfcx erfinv exp exp2 expit expm1 fill fix float_power
    floor fmax fmin fmod frac frexp gcd ge gelu greater greater_equal gt hardshrink hardsigmoid hardsigmoid
    hardtanh heaviside hermite_polynomial_h hermite_polynomial_he hypot i0 i0e i1 i1e igamma igammac gammainc
    gammaincc gammaln psi imag isclose isfinite isinf isnan isneginf isposinf isreal laguerre_polynomial_l lcm
    ldexp le leaky_relu legendre_polynomial_p lerp less less_equal lgamma log log10 log1p log2 log_ndtr
    logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logit lt masked_fill max maximum min
    minimum mish modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 mul multigammaln
    multiply mvlgamma nan_to_num ndtr ndtri ne neg negative nextafter not_equal polygamma positive pow rad2deg
    real reciprocal relu relu6 remainder round rsqrt scaled_modified_bessel_k0 scaled_modified_bessel_k1 selu
    sgn shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v
    shifted_chebyshev_polynomial_w sigmoid sign signbit silu sin sinc sinh softplus softshrink softsign
    spherical_bessel_j0 sqrt square sub subtract tan tanh tanhshrink threshold true_divide trunc xlog1py xlogy
    zeta zero __add__ __radd__ __sub__ __mul__ __rmul__ __truediv__ __rtruediv__ __mod__ __rmod__ __pow__
    __rpow__ __rdiv__ __div__ __and__ __rand__ __or__ __ror__ __xor__ __rxor__ __lshift__ __rlshift__ __rshift__
    __rrshift__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __neg__ __pos__ __abs__ __invert__ __rsub__"""
):
    ELEMENTWISE.add(_name)

NOT_IN_PLACE = frozenset(("masked_fill_", "max_", "min_"))


def _fallback(func: Any, name: str, args: tuple, kwargs: dict) -> Any:
    """The result of a function of elements. Raises NotImplementedError: it is another function."""
    if name in LIKE:
        return _like(func, *args, **kwargs)
    if name in NEW:
        return _new(func, *args, **kwargs)
    if name in ELEMENTWISE and not kwargs.get("inplace"):
        return computed(func, name, args, kwargs)
    method = AUGMENTED.get(name, name)
    writes = method.endswith("_") and method.removesuffix("_") in ELEMENTWISE and method not in NOT_IN_PLACE
    if writes or name in ELEMENTWISE:
        return _in_place(func, name, args, kwargs)
    raise unsupported(name)


FALLBACKS[True] = _fallback


def _in_place(func: Any, name: str, args: tuple, kwargs: dict) -> Tensor:
    target = args[0]
    if not is_jagged(target):
        raise unsupported(name)
    if computed(func, name, args, kwargs, wrapped=False) is NotImplemented:
        return NotImplemented
    target._spec = state_of(target).spec  # it may require gradients now
    return target


def computed(func: Any, name: str, args: tuple, kwargs: dict, wrapped: bool = True) -> Any:
    """The result of a function of the values of its nested arguments, with their entries."""
    if any(isinstance(arg, RaggedLength) for arg in args):
        bad = next(arg for arg in args if isinstance(arg, RaggedLength))
        raise RuntimeError(f"NestedTensor {overload(name)}: invalid argument {bad}")
    tensors = tensors_in((*args, *kwargs.values()))
    if len(tensors) > 2 or (name == "__rsub__" and len(tensors) > 1):
        raise unsupported(name)
    state, values = matched(name, tensors)
    given = dict(zip(map(id, tensors), values, strict=True))
    result = func(*[given.get(id(arg), arg) for arg in args],
                  **{key: given.get(id(arg), arg) for key, arg in kwargs.items()})  # fmt: skip
    if result is NotImplemented or not wrapped:
        return result
    if isinstance(result, tuple):
        return type(result)([state.with_values(one).as_tensor() for one in result])
    return state.with_values(result).as_tensor()


def matched(name: str, tensors: list[Tensor]) -> tuple[Jagged, list[Tensor]]:
    """The entries of the result, and the values to compute with, of one tensor or two.

    Raises:
        RuntimeError: the entries of the two are not the same, or one can't be spread over those of the other.
        NotImplementedError: a dense tensor with more dimensions.
    """
    first = next(one for one in tensors if is_jagged(one))
    state = state_of(first)
    if len(tensors) == 1:
        return state, [state.values]
    if all(map(is_jagged, tensors)):
        left, right = map(state_of, tensors)
        if not raggedness_matches(left, right.outer):
            raise _mismatch(name, tuple(left.outer), tuple(right.outer))
        return left, [left.values, right.values]
    dense = next(one for one in tensors if not is_jagged(one))
    spread = over_entries(name, dense, state, tensors)
    return state, [state.values if one is first else spread for one in tensors]


def _mismatch(name: str, left: Any, right: Any) -> RuntimeError:
    return RuntimeError(
        f"cannot call binary pointwise function {overload(name)} with inputs of shapes {left} and {right}"
    )


def raggedness_matches(state: Jagged, shape: Any) -> bool:
    """Tell whether a shape is that of a nested tensor as far as the ragged dimension; -1 stands for any length
    there."""
    end = state.ragged + 1
    mine, its = state.outer[:end], tuple(shape)[:end]
    return len(mine) == len(its) and all(a == b or b == -1 for a, b in zip(mine, its, strict=True))


def over_entries(name: str, dense: Tensor, state: Jagged, tensors: list[Tensor]) -> Tensor:
    """A dense tensor spread over the values of a nested one."""
    ndim = len(state.shape)
    if dense.dim() > ndim:
        raise NotImplementedError("NYI: broadcasting NT with T with larger dim")
    squeezed = dense
    while squeezed.dim() and squeezed.shape[0] == 1:
        squeezed = squeezed.squeeze(0)
    if ndim >= squeezed.dim() + 2:
        return squeezed
    if dense.dim() != ndim or dense.shape[0] != state.shape[0]:
        raise _mismatch(name, *[one.shape for one in tensors])
    if state.lengths is not None:  # PyTorch spreads it over what has no gaps
        without = Jagged(state.values, state.offsets, None, state.ragged)
        raise _mismatch(name, *[tuple((state if is_jagged(one) else without).outer) for one in tensors])
    if dense.shape[state.ragged] != 1:  # it must be as long as the longest entry
        dense = dense.expand(*[longest(state) if d == state.ragged else one for d, one in enumerate(dense.shape)])
    return unpadded(dense, state)


def _shown_part(name: str) -> None:
    """Declare an attribute that shows a part of each element."""
    answers(f"{name}.__get__")(lambda self: with_values(self, getattr(state_of(self).values, name)))


_shown_part("real")
_shown_part("imag")


@answers("zero_")
def _zero_(self: Tensor) -> Tensor:
    state_of(self).values.zero_()
    return self


@answers("fill_")
def _fill_(self: Tensor, value: Any) -> Tensor:
    state_of(self).values.fill_(value)
    return self


@answers("copy_")
def _copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    if not (is_jagged(self) and is_jagged(src)):
        expected = "self" if not is_jagged(self) else "src"
        raise ValueError("NestedTensor copy_default(self: jt_all, src: jt_all, non_blocking: any?): expected "
                         f"{expected} to be a jagged layout NestedTensor")  # fmt: skip
    if self.shape != src.shape and [a.shape for a in self.unbind()] != [b.shape for b in src.unbind()]:
        raise RuntimeError(f"copy_(): expected compatible input and src shapes, but got: {self.shape} and {src.shape}")
    state_of(self).values.copy_(state_of(src).values)
    self._spec = state_of(self).spec
    return self


LIKE = words("empty_like full_like ones_like rand_like randint_like randn_like zeros_like")


def _like(func: Any, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The result of a function that makes a tensor like another: with its entries."""
    wanted = kwargs.pop("requires_grad", False)
    kwargs.pop("layout", None)
    made = func(state_of(input).values.detach(), *args, **kwargs)
    result = with_values(input if made.device == input.device else input.to(made.device), made)
    return result.requires_grad_() if wanted else result


NEW = frozenset(("new_empty", "new_ones", "new_zeros"))


def _new(func: Any, input: Tensor, *size: Any, **kwargs: Any) -> Tensor:
    given = kwargs.get("size", size[0] if len(size) == 1 else size)
    if not isinstance(given, (tuple, list)) or len(given):
        raise RuntimeError("new_empty() not supported for NJT with shape != ()")
    return func(state_of(input).values, *size, **kwargs)


@answers("new_tensor")
def _new_tensor(self: Tensor, data: Any, **kwargs: Any) -> Tensor:
    return state_of(self).values.new_tensor(data, **kwargs)

"""Random tensors: ``rand``, ``randn``, ``randint``, ``randperm``, and samples whose parameters are tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

import numpy as np

from tapegrad._src.bindings.bounds import negative, not_in_unit_interval, not_nonnegative, refuse_elements
from tapegrad._src.bindings.declaration.declarations import MADE, Computes, Out
from tapegrad._src.bindings.declaration.factory import (
    OPTIONS,
    Target,
    TensorOptions,
    checked_size,
    device_like,
    is_integer,
    no_overload,
    size_of_arguments,
    target,
    type_name,
)
from tapegrad._src.bindings.declaration.registry import out_writer, public
from tapegrad._src.bindings.declaration.scalars import element, is_number, unsupported
from tapegrad._src.bindings.layouts import copy_strides, laid_out
from tapegrad._src.bindings.state.generator import Sample, next_key, one_by_one, sampled, stream_of
from tapegrad._src.bindings.writes.in_place import check_castable
from tapegrad._src.execution.array_functions import random as sampling
from tapegrad._src.execution.data.dtypes import BOOL, COMPLEX, FLOATING, dtype, float32, float64, int64, uint32
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.lifted import drawn_apart, fresh_examples, sizes_of
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.ops import random as ops
from tapegrad.ops.arithmetic import add, mul
from tapegrad.ops.checks import cpp_name
from tapegrad.ops.kinds import broadcast_shapes, cast
from tapegrad.ops.samplers import bernoulli_number

_GENERATORS = ("torch.Generator generator, Tensor out = None", "Tensor out = None")
_SIZE = tuple(f"tuple of ints size, *, {given}, {OPTIONS}" for given in _GENERATORS)
_RANDINT = tuple(
    f"{bounds}, tuple of ints size, *, {given}, {OPTIONS}"
    for bounds in ("int high", "int low, int high")
    for given in _GENERATORS
)
_RANDPERM = tuple(f"int n, *, {given}, {OPTIONS}" for given in _GENERATORS)

_MADE, _SAMPLED = MADE._replace(random=True), Out(random=True, resizes=True)
_UNIFORM = sampling.uniform, "check_uniform_bounds", (0.0, 1.0)
_NORMAL = sampling.normal, "normal_kernel_cpu", (0.0, 1.0)

# A size -------------------------------------------------------------------------------------------------------------


def _standard(
    function: str, distribution: tuple, shape: tuple[int, ...], made: Target, generator: Any, strides: Any = None
) -> Tensor:
    what, kernel, parameters = distribution
    if made.dtype.category < FLOATING:
        raise unsupported(kernel, made.dtype)
    return sampled(function, generator, what, made.spec(shape), *parameters, strides=strides)


def _size(function: str, size: tuple, options: Any) -> tuple[int, ...]:
    if not size and "size" not in options:
        raise no_overload(function, (), options, _SIZE)
    return size_of_arguments(function, size, options)


@public("torch", out=_MADE)
def rand(*size: Any, generator: Any = None, **options: Unpack[TensorOptions]) -> Tensor:
    """Numbers between 0 and 1, 1 excluded, of a size; of the default dtype if none is given.

    >>> torch.rand(2, 3).shape
    torch.Size([2, 3])
    """
    shape = _size("rand", size, options)
    return _standard("rand", _UNIFORM, shape, target("rand", options), generator)


@public("torch", out=_MADE)
def randn(*size: Any, generator: Any = None, **options: Unpack[TensorOptions]) -> Tensor:
    """Normal numbers of mean 0 and variance 1, of a size; of the default dtype if none is given."""
    shape = _size("randn", size, options)
    return _standard("randn", _NORMAL, shape, target("randn", options), generator)


@public("torch")
def rand_like(input: Tensor, *, generator: Any = None, **options: Unpack[TensorOptions]) -> Tensor:
    """Numbers between 0 and 1, of the size, dtype and device of ``input``."""
    made = target("rand_like", options, input.dtype, device_like(input), like=True)
    strides = copy_strides("rand_like", input, options.get("memory_format"))
    return laid_out(_standard("rand_like", _UNIFORM, tuple(input.shape), made, generator, strides), strides)


@public("torch")
def randn_like(input: Tensor, *, generator: Any = None, **options: Unpack[TensorOptions]) -> Tensor:
    """Normal numbers, of the size, dtype and device of ``input``."""
    made = target("randn_like", options, input.dtype, device_like(input), like=True)
    strides = copy_strides("randn_like", input, options.get("memory_format"))
    return laid_out(_standard("randn_like", _NORMAL, tuple(input.shape), made, generator, strides), strides)


# Whole numbers ------------------------------------------------------------------------------------------------------


@public("torch", out=_MADE)
def randint(*args: Any, generator: Any = None, **options: Any) -> Tensor:
    """``randint(high, size)``, ``randint(low, high, size)``: whole numbers in [low, high); ``low`` is 0 if not given.

    The dtype is int64 if none is given.

    Raises:
        RuntimeError: an empty range, or one that does not fit into the dtype.

    >>> torch.randint(5, 6, (3,))
    tensor([5, 5, 5])
    """
    names = ("low", "high", "size") if len(args) + ("size" in options) + ("high" in options) > 2 else ("high", "size")
    given = dict(zip(names, args, strict=False))
    given |= {name: options.pop(name) for name in ("low", "high", "size") if name in options}
    if len(args) > len(names) or not {"high", "size"} <= given.keys():
        raise no_overload(
            "randint", args, {name: given[name] for name in given if name not in names[: len(args)]}, _RANDINT
        )
    low, high = given.get("low", 0), given["high"]
    if not is_integer(high) and len(names) == 2:
        raise TypeError(f"randint(): argument 'high' (position 1) must be int, not {type_name(high)}")
    if not (is_integer(low) and is_integer(high)):
        raise no_overload("randint", args, {}, _RANDINT)
    shape = checked_size("randint", given["size"], len(names))
    return _integers(shape, target("randint", options, int64), int(low), int(high), generator)


@public("torch")
def randint_like(input: Tensor, *args: Any, generator: Any = None, **options: Any) -> Tensor:
    """Whole numbers from ``low`` (0) up to ``high``, of the size and dtype of ``input``.

    Raises:
        TypeError: the bounds are no integers.

    >>> torch.randint_like(torch.ones(2), 5, 6)
    tensor([5., 5.])
    """
    given = dict(zip(("high",) if len(args) + ("high" in options) == 1 else ("low", "high"), args, strict=False))
    given |= {name: options.pop(name) for name in ("low", "high") if name in options}
    if "high" not in given or not all(map(is_integer, given.values())):
        raise no_overload("randint_like", [input, *args], {}, (f"Tensor input, int high, *, {OPTIONS}",))
    made = target("randint_like", options, input.dtype, device_like(input), like=True)
    strides = copy_strides("randint_like", input, options.get("memory_format"))
    low, high = int(given.get("low", 0)), int(given["high"])
    return laid_out(_integers(tuple(input.shape), made, low, high, generator, strides), strides)


def _integers(
    shape: tuple[int, ...], made: Target, low: int, high: int, generator: Any, strides: Any = None
) -> Tensor:
    check_range(low, high, made.dtype)
    return sampled("randint", generator, sampling.integers, made.spec(shape), low, high, strides=strides)


_DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
"""The bits of a whole number that a floating dtype keeps."""


def check_range(low: int, high: int, d: dtype) -> None:
    """Refuse a range of whole numbers that is empty or that a dtype can't hold; warn if it holds them with gaps.
    Raises RuntimeError: PyTorch's messages. ValueError: a bound of more than 64 bits.
    """
    if not (-(2**63) <= low < 2**63 and high < 2**63):
        raise ValueError("Overflow when unpacking long long")
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if d.category == COMPLEX:
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    least, largest = _limits(d)
    for name, number in (("from", low), ("to - 1", high - 1)):
        if not least <= number <= largest:
            raise RuntimeError(f"{name} is out of bounds for {cpp_name(d)}")
        digits = _DIGITS.get(d.name, 64)
        if abs(number) > 2**digits:
            warn(
                f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations "
                f"{cpp_name(d)} can support discrete uniform distribution only within this range. This warning "
                "will become an error in version 1.7 release, please fix the code in advance"
            )


def _limits(d: dtype) -> tuple[float, float]:
    if d.category == FLOATING:
        largest = 3.3895313892515355e38 if d.name == "bfloat16" else float(np.finfo(d.numpy).max)
        return -largest, largest
    return (0, 1) if d.category == 0 else (int(np.iinfo(d.numpy).min), int(np.iinfo(d.numpy).max))


def whole_limit(d: dtype) -> int:
    """One more than the largest number that ``random_()`` draws: the largest without gaps that a dtype has."""
    if d.category == FLOATING:
        return 2 ** _DIGITS[d.name] + 1
    return 2 if d.category == 0 else min(int(np.iinfo(d.numpy).max) + 1, 2**63 - 1)


@public("torch", out=_MADE)
def randperm(n: Any = None, *, generator: Any = None, **options: Unpack[TensorOptions]) -> Tensor:
    """The numbers below ``n`` in a random order; int64 if no dtype is given.

    Raises:
        RuntimeError: a negative ``n``, or one that does not fit into the dtype.

    >>> torch.randperm(4).sort().values
    tensor([0, 1, 2, 3])
    """
    if n is None:
        raise no_overload("randperm", (), options, _RANDPERM)
    if not is_integer(n):
        raise TypeError(f"randperm(): argument 'n' (position 1) must be int, not {type_name(n)}")
    (count,) = checked_size("randperm", (n,))
    made = target("randperm", options, int64)
    if made.dtype.category in (0, COMPLEX):
        raise unsupported("randperm", made.dtype)
    element(count, made.dtype)
    made.room(count)
    stream, levels = stream_of("randperm", generator), drawn_apart() if thread.levels else ()
    orders = stream.order((*sizes_of(levels), count), made.dtype, made.device)
    return fresh_examples(orders, made.spec((count,)), levels)


# Parameters that are tensors ----------------------------------------------------------------------------------------


_NORMAL_SIGNATURES = (
    "Tensor mean, Tensor std, *, torch.Generator generator = None, Tensor out = None",
    "Tensor mean, float std = 1, *, torch.Generator generator = None, Tensor out = None",
    "float mean, Tensor std, *, torch.Generator generator = None, Tensor out = None",
    f"float mean, float std, tuple of ints size, *, torch.Generator generator = None, Tensor out = None, {OPTIONS}",
)


@public("torch")
def normal(
    mean: Any, std: Any = 1.0, size: Any = None, *, generator: Any = None, out: Any = None,
    **options: Unpack[TensorOptions],
) -> Tensor:  # fmt: skip
    """Normal numbers of these means and standard deviations; tensors broadcast, two numbers need a ``size``.

    The dtype is that of ``mean`` if it is a tensor, else of ``std``. Gradients are zeros. Those that are written into
    ``out`` are drawn in its dtype; if ``std`` is a number, for each of its elements.

    Raises:
        RuntimeError: a negative or complex standard deviation.

    >>> torch.normal(torch.zeros(2), 1.0).shape, torch.normal(0.0, 1.0, (2, 3)).shape
    (torch.Size([2]), torch.Size([2, 3]))
    """
    tensors = isinstance(mean, Tensor) or isinstance(std, Tensor)
    numbers = [value for value in (mean, std) if not isinstance(value, Tensor)]
    if not all(map(is_number, numbers)) or tensors == isinstance(size, (tuple, list)):
        raise no_overload("normal", [mean, std] if size is None else [mean, std, size], {}, _NORMAL_SIGNATURES)
    if out is not None:
        into, drawn = (_SAMPLED, _normal_like(out)) if tensors else (_MADE, normal)
        given = (mean, std) if tensors else (mean, std, size)
        return out_writer.content("normal", into, drawn, out, given, {"generator": generator, **options})
    check_deviation("normal", std)
    if tensors:
        return _normal_of_tensors(mean, std, generator)
    made = target("normal", options)
    distribution = sampling.normal, "normal_kernel_cpu", (float(mean), float(std))
    return _standard("normal", distribution, checked_size("normal", size), made, generator)


def check_deviation(function: str, std: Any) -> None:
    """Refuse a standard deviation that is complex or negative."""
    if not isinstance(std, Tensor):
        if std < 0:
            raise RuntimeError(f"{function} expects std >= 0.0, but found std {std:g}")
        return
    if std.dtype.is_complex:
        raise RuntimeError("normal expects standard deviation to be non-complex")
    what = "normal expects all elements of std >= 0.0"
    refuse_elements(std, negative, anywhere=True, complaint=lambda _: RuntimeError(what))


def _normal_of_tensors(mean: Any, std: Any, generator: Any) -> Tensor:
    tensors = [value for value in (mean, std) if isinstance(value, Tensor)]
    shape = broadcast_shapes([tensor.shape for tensor in tensors])
    d, on = tensors[0].dtype, tensors[0].device
    if d.category < FLOATING:
        raise unsupported("normal_kernel_cpu", d)
    spread = 1.0 if isinstance(std, Tensor) else float(std)
    key = next_key("normal", generator, on, *tensors, sample=lambda: Sample(sampling.normal, shape, d, (0.0, spread)))
    if key.dtype is not uint32 and isinstance(std, Tensor):
        key = cast(mul(key, std.detach()), dtype=d)
    if not isinstance(mean, Tensor):
        return ops.normal_of_std(float(mean), std, key, shape=shape, dtype=d)
    if isinstance(std, Tensor):
        return ops.normal(mean, std, key, shape=shape, dtype=d)
    return ops.normal_of_mean(mean, float(std), key, shape=shape, dtype=d)


def _normal_like(out: Tensor) -> Callable[..., Tensor]:
    """A function that draws normal numbers in the dtype of a tensor; where all have one deviation, as many as it has
    elements."""

    def draw(mean: Any, std: Any, generator: Any) -> Tensor:
        check_deviation("normal", std)
        sized = [value.shape for value in (mean, std if isinstance(std, Tensor) else out) if isinstance(value, Tensor)]
        spread = 1.0 if isinstance(std, Tensor) else float(std)
        made = target("normal", {"dtype": out.dtype, "device": out.device})
        distribution = sampling.normal, "normal_kernel_cpu", (0.0, spread)
        drawn = _standard("normal", distribution, broadcast_shapes(sized), made, generator)
        if isinstance(std, Tensor):
            drawn = _castable(mul(drawn, std), out.dtype)
        return _castable(add(drawn, mean), out.dtype)

    return draw


def _castable(result: Tensor, to: dtype) -> Tensor:
    check_castable(result.dtype, to)
    return cast(result, dtype=to)


def check_probabilities(p: Tensor) -> None:
    """Refuse what is no probability: nan, or outside of [0, 1]."""
    refuse_elements(
        p, not_in_unit_interval, anywhere=True,
        complaint=lambda _: RuntimeError(
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If "
            "so, please report an enhancement request to PyTorch.)"
        ),
    )  # fmt: skip


_BERNOULLI = "bernoulli_tensor_cpu_self_"


@public(
    "torch", "Tensor",
    out=Out(random=True, resizes=True, resized="", computes=Computes(BOOL, _BERNOULLI, real=True, converts=True)),
)
def bernoulli(input: Tensor, p: Any = None, *, generator: Any = None) -> Tensor:
    """1 with the probability that ``input`` has there, else 0; with a number ``p``, that probability everywhere.

    Raises:
        RuntimeError: a probability outside of [0, 1].
    """
    if p is not None:
        return _bernoulli_of_number(input, p, generator)
    if input.dtype.category != FLOATING:
        raise unsupported(_BERNOULLI if input.dtype.is_complex else "bernoulli_tensor_cpu_p_", input.dtype)
    check_probabilities(input)
    return ops.bernoulli(input, next_key("bernoulli", generator, input.device, input, sample=lambda: chances(input)))


def chances(p: Tensor) -> Sample:
    """The numbers that decide on a probability that each element of a tensor has; with 53 bits where it has as many."""
    return Sample(sampling.uniform, tuple(p.shape), float64 if p.dtype is float64 else float32, (0.0, 1.0))


def _bernoulli_of_number(input: Tensor, p: Any, generator: Any) -> Tensor:
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    if thread.levels:
        drawn_apart(input)
    spec = Spec.of(input.shape, input.dtype, input.device)
    sample = sampled("bernoulli", generator, sampling.bernoulli, spec, float(p))
    recorded = input._spec.requires_grad and thread.modes.grad
    return bernoulli_number(input, sample) if recorded or input._spec.dual else sample


@public(
    "torch", "Tensor",
    out=Out("multinomial expects Long tensor out, got: {O}", history="none", resized="", random=True),
)  # fmt: skip
def multinomial(input: Tensor, num_samples: Any, replacement: bool = False, *, generator: Any = None) -> Tensor:
    """Indices of the last dimension of ``input`` (1-dim or 2-dim), drawn in proportion to its elements.

    Returns int64 of shape (..., num_samples); without replacement they differ.

    Raises:
        RuntimeError: PyTorch's messages, for weights that are negative, not finite or all zero, and for too many
        samples.

    >>> torch.multinomial(torch.tensor([0.0, 1.0]), 2, replacement=True)
    tensor([1, 1])
    """
    if not is_integer(num_samples):
        raise TypeError(f"multinomial(): argument 'num_samples' (position 2) must be int, not {type_name(num_samples)}")
    _check_multinomial(input, int(num_samples), replacement)
    count, again = int(num_samples), bool(replacement) and num_samples != 1
    if again:
        found = one_by_one("multinomial", generator, "chosen", int64, input, settings=(count,))
        if found is not None:
            return found

    def clocks() -> Sample:
        return Sample(sampling.exponential, tuple(input.shape), input.dtype, (1.0,))

    key = next_key("multinomial", generator, input.device, input, sample=clocks)
    return ops.multinomial(input, key, num_samples=count, replacement=bool(replacement))


def _check_multinomial(input: Tensor, num_samples: int, replacement: bool) -> None:
    if input.dtype.category != FLOATING:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {input.dtype.scalar_name}")
    if input.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > input.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if input.shape[-1] > 2**24:
        raise RuntimeError("number of categories cannot exceed 2^24")
    if replacement and num_samples > 1:
        what = "invalid multinomial distribution (encountering probability entry"
        refuse_elements(
            input, _no_weight, anywhere=True,
            complaint=lambda found: RuntimeError(f"{what} {'= infinity or NaN' if found.number else '< 0'})"),
        )  # fmt: skip
    no_weights = "probability tensor contains either `inf`, `nan` or element < 0"
    refuse_elements(input, _no_weight, anywhere=True, complaint=lambda _: RuntimeError(no_weights))
    nothing = "invalid multinomial distribution (sum of probabilities <= 0)"
    refuse_elements(input, _adds_up_to_0, anywhere=True, complaint=lambda _: RuntimeError(nothing))


def _no_weight(x: Any) -> Any:
    """Which are no weights, and whether each of them is at least 0."""
    return ~((x >= 0) & (x < float("inf"))), x >= 0


def _adds_up_to_0(weights: Any) -> Any:
    return weights.astype("float64").sum(-1) == 0


@public("torch")
def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """Poisson numbers with the means ``input``, of its dtype. Gradients are zeros.

    Raises:
        RuntimeError: a negative mean.
    """
    if input.dtype.category != FLOATING:
        raise unsupported("poisson_cpu", input.dtype)
    what = "invalid Poisson rate, expected rate to be non-negative"
    refuse_elements(input, not_nonnegative, anywhere=True, complaint=lambda _: RuntimeError(what))
    found = one_by_one("poisson", generator, "poisson", input.dtype, input)
    return ops.poisson(input, found if found is not None else next_key("poisson", generator, input.device, input))

"""Tensors without data (``_make_wrapper_subclass``) and classes with a ``__torch_dispatch__``, beside PyTorch's."""

import copy
import importlib

import pytest
import torch
from dispatching import dispatch_of, logging_mode
from harness import agree, attempt

import tapegrad

pytestmark = [pytest.mark.parity, pytest.mark.once("classes see what is called")]


def pair_of(lib, log):
    """A class whose instances wrap two tensors, and do everything with both."""
    tree_map = importlib.import_module(f"{lib.__name__}.utils._pytree").tree_map
    correct = dispatch_of(lib).return_and_correct_aliasing

    class Pair(lib.Tensor):
        __torch_function__ = lib._C._disabled_torch_function_impl

        @staticmethod
        def __new__(cls, a, b):
            return lib.Tensor._make_wrapper_subclass(
                cls, a.size(), strides=a.stride(), dtype=a.dtype, device=a.device, requires_grad=a.requires_grad
            )

        def __init__(self, a, b):
            self.a, self.b = a, b

        def __repr__(self):
            return f"Pair({self.a.tolist()}, {self.b.tolist()})"

        def __tensor_flatten__(self):
            return ["a", "b"], None

        @staticmethod
        def __tensor_unflatten__(inner, context, size, stride):
            return Pair(inner["a"], inner["b"])

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            log.append(str(func))
            kwargs = kwargs or {}
            both = [
                func(*tree_map(part, args), **tree_map(part, kwargs))
                for part in (lambda x: x.a if isinstance(x, Pair) else x, lambda x: x.b if isinstance(x, Pair) else x)
            ]
            if isinstance(both[0], lib.Tensor):
                return correct(func, args, kwargs, Pair(*both))
            if isinstance(both[0], (tuple, list)):
                return type(both[0])(Pair(*one) for one in zip(*both, strict=True))
            return both[0]

    return Pair


def numbers(lib, *shape):
    return lib.arange(float(lib.Size(shape).numel())).reshape(shape)


def made(lib, log=None, *shape):
    shape = shape or (2, 3)
    return pair_of(lib, [] if log is None else log)(numbers(lib, *shape), numbers(lib, *shape) + 1)


def texts(lib, *expressions):
    """What expressions of a pair ``x`` give, as texts, and the operators that its class saw."""
    log = []
    x = made(lib, log)
    return [(repr(one(x)), log.copy(), log.clear())[:2] for one in expressions]


def values(lib):
    F = lib.nn.functional
    return texts(
        lib, lambda x: x, lambda x: x * 2, lambda x: x + x, lambda x: 1 - x, lambda x: x.sum(), lambda x: x @ x.t(),
        lambda x: lib.cat([x, x]), lambda x: x.split(1), lambda x: (x * 0).sum(-1), lambda x: x.max(0).values,
        lambda x: lib.where(x.a > 2, x, x * 0), lambda x: F.embedding(lib.tensor([0, 1]), x), lambda x: x.chunk(2, 1),
        lambda x: numbers(lib, 2, 3) + x, lambda x: F.layer_norm(x, (3,)).sum(), lambda x: lib.stack([x, x]).shape,
        lambda x: [row.shape for row in x], lambda x: x.sum().item(), lambda x: bool(x.sum() > 0),
        lambda x: x.to(lib.float64),
    )  # fmt: skip


def attributes(lib):
    return texts(
        lib, lambda x: (x.shape, x.stride(), x.dtype, str(x.device), x.requires_grad, x.ndim, x.numel(), x.is_leaf),
        lambda x: (type(x).__name__, len(x), str(x.layout), dispatch_of(lib).is_traceable_wrapper_subclass(x)),
        lambda x: attempt(x.numpy), lambda x: isinstance(lib.nn.Parameter(x), lib.nn.Parameter),
        lambda x: dispatch_of(lib).transform_subclass(x, lambda name, one: one * 2),
    )  # fmt: skip


def makes(lib):
    return texts(
        lib, lambda x: x.detach(), lambda x: x.clone(), lambda x: lib.zeros_like(x), lambda x: x.new_zeros(2),
        lambda x: lib.ones_like(x), lambda x: x.view(3, 2), lambda x: x[0], lambda x: x.unsqueeze(0), lambda x: x.t(),
    )  # fmt: skip


def writes(lib):
    log = []
    x = made(lib, log)
    found = [repr(x.add_(1)), repr(x)]
    x[0] = 5.0
    found += [repr(x), repr(lib.add(x, x, out=made(lib)))]
    return found, repr(made(lib).copy_(x)), log


def gradients(lib):
    log = []
    w = made(lib, log).requires_grad_()
    (w * w).sum().backward()
    first = repr(w.grad), w.is_leaf
    y = lib.nn.functional.relu(w.exp() @ numbers(lib, 3, 2)).sum()
    (second,) = lib.autograd.grad(y, w)
    rounded = [[round(n, 3) for row in part.tolist() for n in row] for part in (second.a, second.b)]
    return first, y.grad_fn.name(), rounded, log


def layers(lib):
    layer = lib.nn.Linear(3, 2)
    with lib.no_grad():
        layer.weight.fill_(0.5), layer.bias.fill_(0.25)
    plain = layer.weight.detach()
    layer.weight = lib.nn.Parameter(pair_of(lib, [])(plain, plain * 2))
    optimizer = lib.optim.SGD(layer.parameters(), 0.5)
    layer(numbers(lib, 4, 3)).sum().backward()
    found = repr(layer.weight.grad), repr(layer.bias.grad)
    optimizer.step()
    return found, repr(layer.weight), repr(layer.bias), isinstance(layer.weight, lib.nn.Parameter)


def copies(lib):
    x = made(lib)
    other = copy.deepcopy(x)
    other.add_(1)
    return repr(x), repr(other)


def quantized(lib):
    """A weight in small integers that is multiplied as floats; gradients of the other factor go through it."""
    aten = lib.ops.aten
    tree_map = importlib.import_module(f"{lib.__name__}.utils._pytree").tree_map

    class Quantized(lib.Tensor):
        @staticmethod
        def __new__(cls, q, scale):
            return lib.Tensor._make_wrapper_subclass(cls, q.shape, dtype=lib.float32)

        def __init__(self, q, scale):
            self.q, self.scale = q, scale

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            if func in (aten.t.default, aten.detach.default):
                return Quantized(func(args[0].q), args[0].scale)
            args = tree_map(lambda x: x.q.to(lib.float32) * x.scale if isinstance(x, Quantized) else x, args)
            return func(*args, **(kwargs or {}))

    weight, x = Quantized(lib.tensor([[1, 2], [3, 4]], dtype=lib.int8), 0.5), lib.ones(1, 2, requires_grad=True)
    y = lib.nn.functional.linear(x, weight)
    y.sum().backward()
    return y, x.grad, type(y).__name__, repr(weight)


def subclasses_with_data(lib):
    log = []

    class Plain(lib.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            log.append(str(func))
            return super().__torch_dispatch__(func, types, args, kwargs or {})

    y = Plain([1.0, 2.0]) * 2
    return y, type(y).__name__, log


def modes_come_first(lib):
    log = []
    x = made(lib, log)
    with logging_mode(lib) as mode:
        (x + 1).sum()
    return mode.seen, log


def not_answered(lib):
    class Silent(lib.Tensor):
        @staticmethod
        def __new__(cls):
            return lib.Tensor._make_wrapper_subclass(cls, (2,))

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    return attempt(lambda: Silent() + 1)[1]


@pytest.mark.parametrize("program", [
    values, attributes, makes, writes, gradients, layers, copies, quantized, subclasses_with_data, modes_come_first,
    not_answered,
], ids=lambda program: program.__name__)  # fmt: skip
def test_program(program):
    agree(program)


def test_refusals():
    class WithoutDispatch(tapegrad.Tensor):
        pass

    make = tapegrad.Tensor._make_wrapper_subclass
    with pytest.raises(TypeError, match="WithoutDispatch must define __torch_dispatch__"):
        make(WithoutDispatch, (2,))
    with pytest.raises(TypeError, match="does not inherit from Tensor"):
        make(int, (2,))
    with pytest.raises(TypeError, match="argument 'size'.*must be tuple of ints, not str"):
        make(type(made(tapegrad)), "2")
    with pytest.raises(RuntimeError, match="floating point and complex"):
        make(type(made(tapegrad)), (2,), dtype=tapegrad.int64, requires_grad=True)


def test_the_text_of_what_has_none():
    assert repr(torch.zeros(1)) == repr(tapegrad.zeros(1))

    class Opaque(tapegrad.Tensor):
        @staticmethod
        def __new__(cls):
            return tapegrad.Tensor._make_wrapper_subclass(cls, (2, 3))

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return cls()

    assert repr(Opaque()) == "Opaque(..., dtype=torch.float32, device=cpu, size=(2, 3))"


def test_writes_are_counted_and_refused():
    def program(lib):
        Pair, x = pair_of(lib, []), lib.tensor([1.0, 2.0])
        p, leaf = Pair(x.clone(), x * 2), Pair(x.clone(), x * 2).requires_grad_()
        p.add_(1), p.sin_(), p.zero_(), p.fill_(2.0)
        saved = leaf * leaf
        found = [p._version, attempt(lambda: leaf.mul_(2)), leaf._version]
        with lib.no_grad():
            leaf.add_(1)
        return *found, leaf._version, attempt(saved.sum().backward)[2].partition(" Hint")[0], attempt(p.tolist)

    agree(program)


def test_data_shares_what_is_wrapped():
    def program(lib):
        Pair, x = pair_of(lib, []), lib.tensor([1.0, 2.0])
        leaf = Pair(x.clone(), x * 2).requires_grad_()
        leaf.data.add_(1)
        return repr(leaf), repr(leaf.data), type(leaf.data) is Pair, leaf._version, leaf.data.requires_grad

    agree(program)

"""Function transforms of tensors that wrap others, whose class has a ``__torch_dispatch__``: beside PyTorch's."""

import numpy as np
import pytest
import torch

import tapegrad

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

X = np.arange(6.0).reshape(2, 3) / 2


def wrapping(m):
    """A class of tensors that wrap others, and notes the operators that it is asked for."""

    class Wrapping(m.Tensor):
        seen = []

        @staticmethod
        def __new__(cls, inner):
            return m.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

        def __init__(self, inner):
            self.inner = inner

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            cls.seen.append(str(func))
            over = m.utils._pytree.tree_map
            args, kwargs = over(lambda x: x.inner if isinstance(x, cls) else x, (args, kwargs or {}))
            return over(lambda x: cls(x) if isinstance(x, m.Tensor) else x, func(*args, **kwargs))

    return Wrapping


def shown(m, kind, found):
    """The classes and the numbers of what was found."""
    leaves = m.utils._pytree.tree_leaves(found)
    return [type(leaf).__name__ for leaf in leaves], [
        (leaf.inner if isinstance(leaf, kind) else leaf).detach().numpy() for leaf in leaves
    ]


def outside(m, x):
    """A gradient of a gradient, the outer one on the tape."""
    x.requires_grad_()
    m.func.grad(lambda a: (a**3).sum())(x).sum().backward()
    return x.grad


def of_module(m, w, x):
    """The gradient of a module's parameters, which are wrapped."""
    layer, given = m.nn.Linear(3, 2).double(), {"weight": w, "bias": type(w)(x[:, 0])}
    return m.func.grad(lambda given: m.func.functional_call(layer, given, (x,)).sum())(given)


FUNCTIONS = {
    "product": lambda m, a: (a.sin() * a).sum(),
    "matrices": lambda m, a: (a @ a.t()).sum(),
    "a kink": lambda m, a: m.relu(a - 1).sum(),
    "softmax": lambda m, a: m.softmax(a, -1)[:, 0].sum(),
    "views": lambda m, a: a.view(3, 2)[0].sum(),
    "with dense ones": lambda m, a: (a * m.ones(3, dtype=m.float64)).sum(),
    "in place": lambda m, a: (a * 1).mul_(2).sum(),
    "joined": lambda m, a: m.cat([a, a]).exp().sum(),
    "detached": lambda m, a: (a.detach() * a).sum(),
    "a choice": lambda m, a: m.where(a > 1, a * a, 0.0).sum(),
    "norm": lambda m, a: m.nn.functional.layer_norm(a, (3,)).exp().sum(),
}
TRANSFORMS = {
    **{name: lambda m, w, x, f=f: m.func.grad(lambda a: f(m, a))(w) for name, f in FUNCTIONS.items()},
    "value": lambda m, w, x: m.func.grad_and_value(lambda a: (a * a).sum())(w),
    "two arguments": lambda m, w, x: m.func.grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(w, x),
    "captured": lambda m, w, x: m.func.grad(lambda b: (w * b).sum())(x),
    "made inside": lambda m, w, x: m.func.grad(lambda b: (type(w)(x) * b).sum())(x),
    "not used": lambda m, w, x: m.func.grad(lambda a: m.ones(3, dtype=m.float64).sum())(w),
    "vjp": lambda m, w, x: m.func.vjp(lambda a: a.sin(), w)[1](w),
    "vjp, a dense cotangent": lambda m, w, x: m.func.vjp(lambda a: a.sin(), w)[1](x),
    "jvp": lambda m, w, x: m.func.jvp(lambda a: a.sin() * a, (w,), (w,)),
    "twice": lambda m, w, x: m.func.grad(lambda a: m.func.grad(lambda b: (b**3).sum())(a).sum())(w),
    "vmap": lambda m, w, x: m.vmap(lambda a: (a * a).sum())(w),
    "vmap of a product": lambda m, w, x: m.vmap(lambda a, b: a.sin() @ b, in_dims=(0, None))(w, x[0]),
    "vmap of a gradient": lambda m, w, x: m.vmap(m.func.grad(lambda a: (a**3).sum()))(w),
    "jacrev": lambda m, w, x: m.func.jacrev(lambda a: a.sin())(w),
    "jacfwd": lambda m, w, x: m.func.jacfwd(lambda a: a.sin())(w),
    "hessian": lambda m, w, x: m.func.hessian(lambda a: (a**3).sum())(w),
    "on the tape outside": lambda m, w, x: outside(m, w),
    "a module": lambda m, w, x: of_module(m, w, x),
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.once("shown operators run at once")
def test_transforms(name):
    found = []
    for m in (torch, tapegrad):
        kind = wrapping(m)
        found.append(shown(m, kind, TRANSFORMS[name](m, kind(m.tensor(X)), m.tensor(X))))
    (classes, numbers), (our_classes, our_numbers) = found
    assert our_classes == classes
    for ours, theirs in zip(our_numbers, numbers, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def test_inside_they_are_tensors():
    for m in (torch, tapegrad):
        kind, seen = wrapping(m), []
        m.func.grad(lambda a, seen=seen: seen.append(type(a)) or (a * 2).sum())(kind(m.tensor(X)))
        assert seen == [m.Tensor]


@pytest.mark.once("shown operators run at once")
def test_operators_on_batches_have_names_of_their_own():
    """PyTorch makes others of them; a class is not to take one on a batch for the one on an example."""
    kind = wrapping(tapegrad)
    x = tapegrad.tensor(X)
    tapegrad.vmap(lambda a: (a * a).sum())(kind(x))
    assert kind.seen == ["aten.mul.Tensor", "tapegrad.vmapped.default"]
    kind.seen.clear()
    tapegrad.func.grad(lambda a: (a * a).sum())(kind(x))
    assert [name for name in kind.seen if "detach" not in name][:3] == [
        "aten.mul.Tensor", "aten.sum.default", "aten.ones_like.default"
    ]  # fmt: skip

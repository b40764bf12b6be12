"""Printing: `tensor_str` against PyTorch's `repr`, string for string."""

from contextlib import contextmanager

import numpy as np
import pytest
import torch as pytorch

from tapegrad._src.execution.data import dtypes
from tapegrad._src.tensor import printing

pytestmark = pytest.mark.parity

nan, inf = float("nan"), float("inf")
SHAPES = [(), (0,), (1,), (7,), (30,), (0, 3), (2, 0), (2, 3), (1, 1, 1), (2, 3, 4), (3, 0, 2), (2, 2, 2, 2),
          (1001,), (10, 101), (3, 5, 80), (1200, 1), (1, 1, 1100)]  # fmt: skip
OPTIONS = [
    {"precision": 2}, {"precision": 0}, {"precision": 8}, {"linewidth": 30}, {"linewidth": 3}, {"linewidth": 120},
    {"threshold": 5}, {"threshold": 0, "edgeitems": 1}, {"threshold": 2, "edgeitems": 0},
    {"threshold": 0, "edgeitems": 0}, {"profile": "full"}, {"profile": "short"}, {"profile": "short", "precision": 3},
    {"profile": "unheard of"}, {"sci_mode": True}, {"sci_mode": False},
]  # fmt: skip
STEPS = [0.0, 1, 1000, 1000.5, 1001, 0.1, 1e-4, 0.9999e-4, 1e8, 1e8 + 1, 99999.99996, 65504, 5e-324, 1e300, -1]

KINDS = {
    "plain": lambda rng, shape: rng.standard_normal(shape),
    "whole": lambda rng, shape: np.round(rng.standard_normal(shape) * 10.0 ** rng.integers(0, 10)),
    "scaled": lambda rng, shape: rng.standard_normal(shape) * 10.0 ** rng.integers(-12, 12),
    "wide": lambda rng, shape: rng.standard_normal(shape) * 10.0 ** rng.integers(-8, 8, shape),
    "steps": lambda rng, shape: rng.choice(STEPS, shape),
    "nan and inf": lambda rng, shape: np.where(
        rng.random(shape) < 0.6, rng.choice([nan, inf, -inf], shape), rng.standard_normal(shape)
    ),
    "zeros": lambda rng, shape: np.where(rng.random(shape) < 0.4, -inf, rng.choice([0.0, -0.0], shape)),
}


def tensor_of(name, kind, shape, seed=0):
    """A PyTorch tensor of a dtype, filled with one kind of numbers."""
    rng = np.random.default_rng([seed, *map(ord, name + kind)])
    d = getattr(dtypes, name)
    numbers = KINDS[kind](rng, shape)
    if d.is_complex:
        numbers = np.stack([numbers, KINDS["plain" if seed % 2 else kind](rng, shape)], axis=-1).view(complex)[..., 0]
    elif d.category < dtypes.FLOATING:
        numbers = np.nan_to_num(np.clip(numbers, -(2.0**62) if d.is_signed else 0, 2.0**62))
    return pytorch.from_numpy(np.asarray(numbers)).to(getattr(pytorch, name))


def ours(tensor, **keywords):
    """`tensor_str` of a PyTorch tensor."""
    d = getattr(dtypes, str(tensor.dtype).removeprefix("torch."))
    data = tensor.detach()
    small = d.numpy.kind == "V" or "float8" in d.name  # not a type of numpy's own
    with np.errstate(invalid="ignore"):  # ml_dtypes has NaN for what does not fit
        array = data.float().numpy().astype(d.numpy) if small else data.numpy()
    grad_fn_name = tensor.grad_fn.name() if tensor.grad_fn else None
    return printing.tensor_str(
        array, dtype=d, requires_grad=tensor.requires_grad, grad_fn_name=grad_fn_name, **keywords
    )


@contextmanager
def both(**options):
    """Both libraries with these print options."""
    try:
        for library in (pytorch, printing):
            library.set_printoptions(**options)
        yield
    finally:
        for library in (pytorch, printing):
            library.set_printoptions(profile="default")


PRINTED = [d.name for d in dtypes.ALL_DTYPES if d is not dtypes.complex32]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PRINTED)
def test_numbers(name, kind):
    for seed, shape in enumerate(SHAPES):
        tensor = tensor_of(name, kind, shape, seed)
        assert ours(tensor) == repr(tensor), shape


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_options(options, kind):
    with both(**options):
        assert printing.get_printoptions() == pytorch._tensor_str.get_printoptions()
        for seed, shape in enumerate(SHAPES):
            if np.prod(shape) < 500 or "threshold" in options:
                for name in ("float32", "int64", "complex64"):
                    tensor = tensor_of(name, kind, shape, seed)
                    assert ours(tensor) == repr(tensor), (name, shape)


@pytest.mark.parametrize(
    "values",
    [
        [nan, 1.0], [nan, 1.5], [1e9, 1.0], [1e-5, 1.0], [1000.5, 1.0], [-0.0, 1.0], [0.0, 0.0], [5e8], [5e-324, 1.0],
        [1e308, 1e-308], [1e8], [1e8 + 1], [1e-4], [1000.0, 1.0], [1001.0, 1.0], [1000.4, 1.0004], nan, -inf, -0.0,
        [complex(1, -0.0)], [complex(nan, inf)], complex(1e10, 1), [1 + 2j, 3.5 - 1j], [[1 + 1e9j], [2 - 1j]],
        [True, False], True, [2**63 - 1, -(2**63)], 7, [[]], [[], []],
    ],
    ids=repr,
)  # fmt: skip
def test_edge_cases(values):
    for tensor in (pytorch.tensor(values), pytorch.tensor(np.asarray(values))):  # NumPy's numbers are doubles
        assert ours(tensor) == repr(tensor)


@pytest.mark.parametrize("default", ["float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", ["float32", "float64", "float16", "bfloat16", "complex64", "complex128", "int32"])
def test_default_dtype_is_not_shown(name, default):
    pytorch.set_default_dtype(getattr(pytorch, default))
    try:
        for shape in [(), (3,), (0,), (0, 2)]:
            tensor = tensor_of(name, "plain", shape)
            assert ours(tensor, default_dtype=getattr(dtypes, default)) == repr(tensor)
    finally:
        pytorch.set_default_dtype(pytorch.float32)


@pytest.mark.parametrize("count", range(1, 26))
def test_suffixes_wrap(count):
    for name in ("float32", "float64", "bfloat16", "complex128"):
        leaf = tensor_of(name, "plain", (count,)).requires_grad_()
        for tensor in (leaf, leaf * 2, leaf.reshape(1, -1), leaf.sum(), leaf[:0], leaf[:0, None] + 1):
            assert ours(tensor) == repr(tensor)


def test_subclass():
    class Named(pytorch.Tensor):
        pass

    named = pytorch.arange(100.0).reshape(2, 50).as_subclass(Named)
    text = printing.tensor_str(np.arange(100, dtype=np.float32).reshape(2, 50), dtype=dtypes.float32,
                               class_prefix="Named(")  # fmt: skip
    assert text == repr(named)


def test_parameter():
    parameter = pytorch.nn.Parameter(pytorch.ones(2, 3))
    assert "Parameter containing:\n" + ours(parameter) == repr(parameter)


@pytest.mark.parametrize(("name", "requires_grad"), [("float64", False), ("float32", True)])
def test_device(name, requires_grad):
    """The device comes first among the suffixes. PyTorch prints "..." for meta's numbers, hence the empty tensor."""
    meta = pytorch.empty(0, 3, device="meta", dtype=getattr(pytorch, name), requires_grad=requires_grad)
    text = printing.tensor_str(
        np.empty((0, 3)), dtype=getattr(dtypes, name), device_suffix="meta", requires_grad=requires_grad
    )
    assert text.replace("[]", "...") == repr(meta)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
@pytest.mark.parametrize("count", [2, 40])
def test_tangent(count):
    primal, tangent = pytorch.ones(count), pytorch.arange(float(count))
    with pytorch.autograd.forward_ad.dual_level():
        dual = repr(pytorch.autograd.forward_ad.make_dual(primal, tangent))
    assert ours(primal, tangent=ours(tangent)) == dual


def test_the_oracle_can_fail():
    assert ours(pytorch.tensor([1.5])) != repr(pytorch.tensor([2.5]))

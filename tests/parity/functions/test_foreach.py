"""``torch._foreach_*`` beside PyTorch's: values, gradients, what is refused."""

import numpy as np
import pytest
import torch

import tapegrad

pytestmark = pytest.mark.parity

NAMES = sorted(name for name in dir(torch) if name.startswith("_foreach_"))
OPERANDS = {
    "add": ["1.5", "ys", "[1.5, 2]", "lib.tensor(2.0)", "ys, alpha=2", "lib.tensor(2.0), alpha=3", "[]", "ys[:1]",
            "'a'", "1, alpha=2", "lib.ones(2)"],
    "sub": ["1.5", "ys", "[1.5, 2]", "ys, alpha=2", "ys[:1]"],
    "mul": ["1.5", "ys", "[1.5, 2]", "lib.tensor(2.0)", "lib.ones(2)", "[2.0]"],
    "div": ["1.5", "ys", "[1.5, 2]", "lib.tensor(2.0)", "ys[:1]"],
    "pow": ["2", "ys", "[1.5, 2]", "exponent=2"],
    "maximum": ["0.7", "ys", "[0.6, 0.7]", "ys[:1]"],
    "minimum": ["0.7", "ys", "[0.6, 0.7]", "[0.6]"],
    "clamp_max": ["0.7", "ys", "[0.6, 0.7]"],
    "clamp_min": ["0.7", "ys", "[0.6, 0.7]"],
    "lerp": ["ys, 0.3", "ys, [0.3, 0.4]", "ys, zs", "ys[:1], 0.3", "ys, [0.3]"],
    "addcmul": ["ys, zs", "ys, zs, 2", "ys, zs, [2, 3.5]", "ys, zs, value=2", "ys, zs, lib.tensor([2, 3.5])",
                "ys, zs, lib.ones(3)", "ys, zs, lib.ones(2, 2)", "ys, zs[:1]", "ys, zs, [2.0]",
                "ys, zs, scalars=[1, 2]"],
    "addcdiv": ["ys, zs", "ys, zs, 2", "ys, zs, [2, 3.5]", "ys[:1], zs"],
    "copy_": ["ys", "ys[:1]"],
    "mm": ["zs"],
    "norm": ["", "1", "float('inf')", "2, dtype=lib.float32"],
    "powsum": ["", "3", "3, dtype=lib.float32"],
}  # fmt: skip
CALLS = [
    f"{name}({', '.join(filter(None, ('xs', operands)))})"
    for name in NAMES
    for operands in OPERANDS.get(name[9:], OPERANDS.get(name[9:-1], [""]))
]
CALLS += """
_foreach_pow(2.0, xs)
_foreach_abs([])
_foreach_abs_([])
_foreach_abs(1)
_foreach_add_(xs, 1j)
_foreach_max([lib.ones(0)])
_foreach_add(self=xs, other=ys)
_foreach_add(self=xs, scalars=[1, 2])
""".strip().splitlines()

NO_GRADIENTS = ("lib.tensor([2, 3.5])", "_copy_", "_powsum", "_maximum_", "_minimum_")
"""What PyTorch has no derivatives for."""


def lists(lib, grads):
    def one(seed, *shape):
        rng = np.random.default_rng(seed)
        return lib.tensor(rng.uniform(0.2, 0.9, shape).tolist(), dtype=lib.float64, requires_grad=grads)

    return [[one(start, 2, 2), one(start + 1, 3, 3)] for start in (0, 2, 4)]


def outcome(lib, call):
    """Results and gradients, or what was raised."""
    leaves = lists(lib, not any(part in call for part in NO_GRADIENTS))
    xs, ys, zs = ([leaf * 1 for leaf in some] for some in leaves)
    try:
        results = eval(f"lib.{call}", {"lib": lib, "xs": xs, "ys": ys, "zs": zs, "float": float})
    except Exception as error:
        return [type(error).__name__, str(error)]
    flat = [leaf for some in leaves for leaf in some]
    floating = [result for result in results if result.requires_grad]
    seeds = [(result * result).sum() for result in floating]
    grads = lib.autograd.grad(seeds, flat, allow_unused=True) if floating else []
    same = [one is other for one, other in zip(results, xs, strict=True)]
    shown = [None if grad is None else grad.numpy() for grad in grads]
    return [type(results).__name__, same, *[result.detach().numpy() for result in results], *shown]


@pytest.mark.parametrize("call", CALLS)
def test_each(call):
    mine, theirs = outcome(tapegrad, call), outcome(torch, call)
    assert len(mine) == len(theirs), (mine, theirs)
    for one, other in zip(mine, theirs, strict=True):
        if isinstance(other, np.ndarray) and one is not None:
            np.testing.assert_allclose(one, other, rtol=1e-6 if other.dtype == np.float32 else 1e-9, strict=True)
        elif other is None or one is None:
            assert not np.any(one if other is None else other)  # no gradient, or zeros
        else:
            assert one == other


def test_leaves_are_not_written_to():
    for lib in (tapegrad, torch):
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place"):
            lib._foreach_add_([lib.ones(2, requires_grad=True)], 1)
        x = lib.tensor([4])
        with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
            lib._foreach_add_([x], 1.5)
        assert x.item() == 4

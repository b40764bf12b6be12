"""``torch.quasirandom``: Sobol sequences are PyTorch's, bit for bit."""

import copy
import pickle

import numpy as np
import pytest
import torch.quasirandom  # noqa: F401
from harness import attempt
from transcripts import MODULES

import tapegrad
from tapegrad._src.bindings.state.generator import in_use

pytestmark = [pytest.mark.parity, pytest.mark.once("computed on the host")]


def drawn(module, dimension, how, **settings):
    engine = module.quasirandom.SobolEngine(dimension, **settings)
    found = [engine.draw(n, dtype=getattr(module, dtype)) for n, dtype in how]
    return [str(engine), engine.num_generated, engine.quasi.tolist(), *(one.numpy() for one in found)]


def assert_same(theirs, ours):
    assert ours[:3] == theirs[:3]
    for mine, wanted in zip(ours[3:], theirs[3:], strict=True):
        assert mine.dtype == wanted.dtype
        np.testing.assert_array_equal(mine, wanted)


@pytest.mark.parametrize("dimension", [1, 3, 1000])
@pytest.mark.parametrize("how", [
    [(1, "float32"), (1, "float32"), (6, "float64")],
    [(17, "float64"), (40, "float32")], [(1, "float16"), (9, "float64")],
])  # fmt: skip
def test_points(dimension, how):
    assert_same(*(drawn(module, dimension, how) for module in MODULES))


@pytest.mark.parametrize("seed", [None, 7])
def test_scrambled(seed):
    kept = in_use()
    tapegrad.random.use("pytorch")
    try:
        seen = []
        for module in MODULES:
            module.manual_seed(3)
            seen.append(drawn(module, 5, [(1, "float32"), (20, "float64")], scramble=True, seed=seed))
        assert_same(*seen)
    finally:
        tapegrad.random.use(kept)


def test_scrambled_points_are_even_with_any_numbers():
    points = tapegrad.quasirandom.SobolEngine(4, scramble=True, seed=1).draw_base2(6)
    assert all(((points * 64).long().sort(dim=0).values[:, place] == tapegrad.arange(64)).all() for place in range(4))


@pytest.mark.parametrize("steps", [(0, 5), (1, 5), (3, 1), (1, 1000003)])
def test_some_are_left_out(steps):
    seen = []
    for module in MODULES:
        engine = module.quasirandom.SobolEngine(6)
        engine.draw(steps[0]) if steps[0] else None
        seen.append([str(engine.fast_forward(steps[1])), engine.num_generated, [], engine.draw(3).numpy()])
        seen[-1].append(engine.reset().draw(2).numpy())
    assert_same(*seen)


def test_engines_are_copied_and_write_to_what_they_get():
    engine = tapegrad.quasirandom.SobolEngine(3)
    engine.draw(5)
    others = [copy.deepcopy(engine), pickle.loads(pickle.dumps(engine))]
    out = tapegrad.empty(0)
    assert engine.draw(4, out=out) is out and out.shape == (4, 3)
    assert all((other.draw(4) == out).all() for other in others)


@pytest.mark.parametrize("call", [
    lambda m: m.quasirandom.SobolEngine(0), lambda m: m.quasirandom.SobolEngine(21202),
    lambda m: m.quasirandom.SobolEngine(2).fast_forward(3).draw_base2(2),
    lambda m: m.quasirandom.SobolEngine(2).draw_base2(2).tolist(),
    lambda m: m.quasirandom.SobolEngine(2).draw(3, dtype=m.float16),
    lambda m: m.quasirandom.SobolEngine(2).draw(2, dtype=m.bfloat16),
])  # fmt: skip
def test_refusals(call):
    theirs, ours = (attempt(lambda module=module: call(module)) for module in MODULES)
    assert ours == theirs

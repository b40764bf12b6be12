"""The rules of strides against PyTorch's, on random layouts: of new results, of copies, of views."""

import random

import pytest
import torch as pytorch
from harness import attempt

from tapegrad._src.tensor import geometry

pytestmark = pytest.mark.parity


def laid_out(draw, shape):
    """A tensor of PyTorch of this shape: dense in some order of its dimensions, with gaps, or with strange strides."""
    axes = draw.sample(range(len(shape)), len(shape))
    gaps = draw.choice([(0,), (0, 1)])
    tensor = pytorch.empty([shape[axis] + draw.choice(gaps) for axis in axes])
    for place, axis in enumerate(axes):
        tensor = tensor.narrow(place, 0, shape[axis])
    tensor = tensor.permute([axes.index(axis) for axis in range(len(shape))])
    if draw.random() < 0.1:
        tensor = pytorch.empty(999).as_strided(shape, [draw.choice([0, 1, 2, 3, 6]) for _ in shape])
    return tensor


def operand(draw, shape):
    """A tensor that broadcasts to a shape."""
    kept = [1 if draw.random() < 0.2 else length for length in shape]
    first = draw.randrange(len(kept) + 1) if draw.random() < 0.2 else 0
    return laid_out(draw, kept[first:])


def geometry_of(tensor):
    return geometry.Geometry(tuple(tensor.shape), tensor.stride(), tensor.storage_offset())


@pytest.mark.parametrize("seed", range(4))
def test_strides_of_results(seed):
    draw = random.Random(seed)
    functions = {1: pytorch.neg, 2: pytorch.mul, 3: pytorch.addcmul}
    for _ in range(500):
        shape = [draw.choice([0, 1, 2, 2, 3]) for _ in range(draw.randrange(5))]
        operands = [operand(draw, shape) for _ in range(draw.choice([1, 2, 3]))]
        result = functions[len(operands)](*operands)
        given = [(tuple(x.shape), x.stride()) for x in operands]
        assert geometry.elementwise_strides(tuple(result.shape), given) == result.stride(), given


@pytest.mark.parametrize("seed", range(4))
def test_strides_of_copies(seed):
    draw = random.Random(seed)
    for _ in range(500):
        x = laid_out(draw, [draw.choice([0, 1, 2, 2, 3]) for _ in range(draw.randrange(6))])
        shape, strides, _ = geometry_of(x)
        for copy in (x.clone(), pytorch.empty_like(x), x.to(pytorch.float64)):
            assert geometry.preserved_strides(shape, strides) == copy.stride(), (shape, strides)
        assert geometry.is_contiguous(shape, strides) == x.is_contiguous()
        assert geometry.is_dense(shape, strides) == pytorch.ops.aten.is_non_overlapping_and_dense(x)
        if len(shape) in geometry.CHANNELS_LAST:
            order = pytorch.channels_last if len(shape) == 4 else pytorch.channels_last_3d
            assert geometry.is_channels_last(shape, strides) == x.is_contiguous(memory_format=order)
            assert geometry.channels_last_strides(shape) == pytorch.empty(shape, memory_format=order).stride()


def views_of(draw, x):
    """Views of a tensor, each with its geometry by the rules."""
    given, lengths = geometry_of(x), tuple(x.shape)
    if lengths:
        axis, other = (draw.randrange(len(lengths)) for _ in range(2))
        step, start = draw.choice([1, 2, 3]), draw.randrange(lengths[axis] + 1)
        part = [slice(None)] * axis + [slice(start, None, step)]
        sliced = x[tuple(part)]
        yield sliced, geometry.sliced(given, axis, start, sliced.shape[axis], step)
        yield x.transpose(axis, other), geometry.transposed(given, axis, other)
        yield x.unfold(axis, start, step), geometry.unfolded(given, axis, start, step)
        yield x.squeeze((axis,)), geometry.squeezed(given, (axis,))
        if start < lengths[axis]:
            yield x.select(axis, start), geometry.selected(given, axis, start)
        if axis != other:
            offset = draw.randrange(-2, 3)
            yield x.diagonal(offset, axis, other), geometry.diagonal(given, offset, axis, other)
    at = draw.randrange(len(lengths) + 1)
    yield x.unsqueeze(at), geometry.unsqueezed(given, at)
    target = [2] * draw.randrange(2) + [draw.choice([1, 2]) if length == 1 else length for length in lengths]
    yield x.expand(target), geometry.expanded(given, tuple(target))


def divided(draw, count):
    """A random shape of so many elements."""
    lengths = []
    while count > 1 or draw.random() < 0.2:
        length = draw.choice([n for n in range(1, count + 1) if count % n == 0])
        lengths.insert(draw.randrange(len(lengths) + 1), length)
        count //= length
    return tuple(lengths)


@pytest.mark.parametrize("seed", range(4))
def test_geometry_of_views(seed):
    draw = random.Random(seed)
    for _ in range(200):
        x = laid_out(draw, [draw.choice([0, 1, 2, 3, 4]) for _ in range(draw.randrange(4))])
        for view, expected in views_of(draw, x):
            assert geometry_of(view) == expected, geometry_of(x)
        if x.numel():
            shape = divided(draw, x.numel())
            theirs = attempt(lambda x=x, shape=shape: x.view(shape))
            ours = geometry.viewed(geometry_of(x), shape)
            assert ours == (None if isinstance(theirs, list) else geometry_of(theirs)), (geometry_of(x), shape)


def test_a_wrong_rule_is_found(monkeypatch):
    monkeypatch.setattr(geometry, "_lies_outside", lambda *args: 0)
    with pytest.raises(AssertionError):
        test_strides_of_results(0)
    with pytest.raises(AssertionError):
        test_strides_of_copies(0)

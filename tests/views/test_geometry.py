"""Geometry against NumPy: the strides of a view name the elements that the view has."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from tapegrad._src.tensor import geometry
from tapegrad._src.tensor.geometry import Geometry

pytestmark = pytest.mark.once("strides alone, no operators")

ROW = np.arange(24)
CUBE = Geometry((2, 3, 4), (12, 4, 1))


def shown(place):
    """The elements of a row that lie at a place."""
    return as_strided(ROW[place.offset :], place.shape, [stride * ROW.itemsize for stride in place.strides])


VIEWS = {
    "permuted": (geometry.permuted(CUBE, (2, 0, 1)), lambda x: x.transpose(2, 0, 1)),
    "transposed": (geometry.transposed(CUBE, 0, 2), lambda x: x.swapaxes(0, 2)),
    "selected": (geometry.selected(CUBE, 1, 2), lambda x: x[:, 2]),
    "sliced": (geometry.sliced(CUBE, 2, 1, 2, 2), lambda x: x[:, :, 1::2]),
    "squeezed": (geometry.squeezed(geometry.sliced(CUBE, 0, 1, 1, 1), (0, 1)), lambda x: x[1]),
    "unsqueezed": (geometry.unsqueezed(CUBE, 1), lambda x: x[:, None]),
    "expanded": (geometry.expanded(CUBE, (2, 2, 3, 4)), lambda x: np.broadcast_to(x, (2, 2, 3, 4))),
    "diagonal": (geometry.diagonal(CUBE, 1, 1, 2), lambda x: np.diagonal(x, 1, 1, 2)),
    "diagonal_below": (geometry.diagonal(CUBE, -1, 2, 0), lambda x: np.diagonal(x, -1, 2, 0)),
    "unfolded": (geometry.unfolded(CUBE, 2, 3, 1), lambda x: sliding_window_view(x, 3, 2)),
    "viewed": (geometry.viewed(CUBE, (6, 2, 2)), lambda x: x.reshape(6, 2, 2)),
    "viewed_by_columns": (
        geometry.viewed(geometry.permuted(CUBE, (2, 0, 1)), (2, 2, 6)),
        lambda x: x.transpose(2, 0, 1).reshape(2, 2, 6),
    ),
}


@pytest.mark.parametrize(("place", "view"), VIEWS.values(), ids=VIEWS)
def test_views(place, view):
    np.testing.assert_array_equal(shown(place), view(shown(CUBE)), strict=True)
    assert geometry.extent(place) == shown(place).max() + 1


def test_what_no_strides_can_show():
    columns = geometry.transposed(Geometry((2, 3), (3, 1)), 0, 1)
    assert geometry.viewed(columns, (6,)) is None
    assert geometry.viewed(columns, (3, 2, 1)) == Geometry((3, 2, 1), (1, 3, 3))


@pytest.mark.parametrize("place", [place for place, _ in VIEWS.values()], ids=VIEWS)
def test_overlap_and_density(place):
    elements = shown(place).reshape(-1)
    overlaps = len(set(elements)) < len(elements)
    assert overlaps <= geometry.may_overlap(*place[:2])
    assert geometry.overlaps_itself(*place[:2]) <= overlaps
    filled = not overlaps and elements.max() - elements.min() + 1 == len(elements)
    assert geometry.is_dense(*place[:2]) == filled
    assert geometry.is_contiguous(*place[:2]) == (filled and list(elements) == sorted(elements))


def test_nothing_lies_nowhere():
    nothing = Geometry((2, 0), (1, 7), 5)
    assert geometry.extent(nothing) == 0
    assert geometry.is_contiguous(*nothing[:2]) and geometry.is_dense(*nothing[:2])
    assert not geometry.overlaps_itself(*nothing[:2])

"""Histograms, beside PyTorch's."""

import numpy as np
import pytest
from harness import agree, attempt, same, same_error
from samples import array

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

A, V = array(2, 3), array(4)


POINTS = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [2.0, 2.0]])

HISTOGRAMS = {
    "bins": lambda torch, x: torch.histogram(x, 4),
    "range": lambda torch, x: torch.histogram(x, bins=3, range=(-1.0, 1.0)),
    "density": lambda torch, x: x.histogram(4, density=True),
    "weight": lambda torch, x: torch.histogram(x, 3, weight=x * x, density=True),
    "edges": lambda torch, x: torch.histogram(x, torch.tensor([-2.0, -1.0, 0.5, 2.0], dtype=x.dtype)),
    "edges that fall": lambda torch, x: torch.histogram(x, torch.tensor([1.0, 0.0, -1.0], dtype=x.dtype)),
    "constant": lambda torch, x: torch.histogram(torch.ones(3), 3),
    "empty": lambda torch, x: torch.histogram(x[:0], 2),
    "nan in a range": lambda torch, x: torch.histogram(x / (x * 0), 2, range=(0, 1)),
    "on the edges": lambda torch, x: torch.histogram(torch.arange(7.0), 3),
    "points": lambda torch, x: torch.histogramdd(torch.tensor(POINTS.tolist()), [2, 3]),
    "points, one number": lambda torch, x: torch.histogramdd(x.reshape(1, 2, 3), 2, density=True),
    "points, range": lambda torch, x: torch.histogramdd(torch.tensor(POINTS.tolist()), [2, 3], range=[0.0, 1, 0, 2]),
    "points, weight": lambda torch, x: torch.histogramdd(x, 2, weight=x[:, 0]),
    "points, edges": lambda torch, x: torch.histogramdd(
        torch.tensor(POINTS.tolist()), [torch.tensor([0.0, 1.0, 2.0]), torch.tensor([0.0, 2.0])]
    ),
    "points of no dimension": lambda torch, x: torch.histogramdd(torch.ones(2, 0), []),
}


@pytest.mark.parametrize("case", HISTOGRAMS)
def test_histograms(case):
    same(HISTOGRAMS[case], A, grads=False)


def test_histograms_are_recorded_and_refuse():
    def program(torch):
        x = torch.tensor(A.tolist(), requires_grad=True)
        hist, edges = torch.histogram(x, 3)
        boxes = torch.histogramdd(x, 2)
        between = torch.histogramdd(x, [torch.tensor([-2.0, 0.0, 2.0])] * 3)
        outputs = (hist, edges, boxes.hist, *boxes.bin_edges, between.hist)
        names = [out.grad_fn.name() for out in outputs]
        return names, [attempt(lambda out=out: out.sum().backward()) for out in outputs], repr(hist), between.bin_edges

    agree(program)


HISTOGRAM_ERRORS = {
    "no bins": lambda torch, x: torch.histogram(x, 0),
    "int": lambda torch, x: torch.histogram(torch.arange(4), 3),
    "half": lambda torch, x: torch.histogram(x.half(), 3),
    "nan": lambda torch, x: torch.histogram(x / (x * 0), 3),
    "range, order": lambda torch, x: torch.histogram(x, 3, range=(2.0, 1.0)),
    "range, infinite": lambda torch, x: torch.histogram(x, 3, range=(1.0, float("inf"))),
    "range, three": lambda torch, x: torch.histogram(x, 3, range=(1.0, 2.0, 3.0)),
    "edges, dtype": lambda torch, x: torch.histogram(x, torch.ones(3)),
    "edges, matrix": lambda torch, x: torch.histogram(x, torch.ones(2, 2, dtype=x.dtype)),
    "edges, none": lambda torch, x: torch.histogram(x, torch.ones(0, dtype=x.dtype)),
    "edges, one": lambda torch, x: torch.histogram(x, torch.ones(1, dtype=x.dtype)),
    "weight, dtype": lambda torch, x: torch.histogram(x, 3, weight=x.float()),
    "weight, shape": lambda torch, x: torch.histogram(x, 3, weight=x[0]),
    "points, vector": lambda torch, x: torch.histogramdd(x[0], [2]),
    "points, bins": lambda torch, x: torch.histogramdd(x, [2, 2]),
    "points, edges": lambda torch, x: torch.histogramdd(x, [x[0]]),
    "points, weight": lambda torch, x: torch.histogramdd(x, 2, weight=x[0]),
    "points, range": lambda torch, x: torch.histogramdd(x, 2, range=[0.0, 1.0]),
    "points, no integers": lambda torch, x: torch.histogramdd(x, [2, "a", 3]),
    "points, mixed": lambda torch, x: torch.histogramdd(x, [x[0], 2, 3]),
}


@pytest.mark.parametrize("case", HISTOGRAM_ERRORS)
def test_histogram_errors(case):
    same_error(HISTOGRAM_ERRORS[case], A)

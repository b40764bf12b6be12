"""Putting tensors together and taking them apart, against PyTorch."""

import numpy as np
import pytest
from expressions import expression
from harness import same, same_error
from samples import array

import tapegrad

pytestmark = pytest.mark.parity

A, B, V, W, S, E = array(2, 3), array(2, 3, seed=1), array(3), array(3, seed=1), array(), array(0, 3)
EMPTY = array(0)
N = np.arange(6).reshape(2, 3)
Z = array(2, 3, dtype="complex128")

TOGETHER = """
torch.cat([x, y])
torch.cat((x, y), 1)
torch.cat([x, y], dim=-1)
torch.cat([x, y], axis=1)
torch.cat(tensors=[x])
torch.concat([x, x, y])
torch.concatenate((x, y[:1]))
torch.stack([x, y])
torch.stack([x, y], 1)
torch.stack((x, y, x), dim=-1)
torch.hstack([x, y])
torch.hstack([x[0], y[0]])
torch.hstack([x[0, 0], y[0, 0]])
torch.vstack([x, y])
torch.vstack([x[0], y[0]])
torch.row_stack([x, y[0]])
torch.dstack([x, y])
torch.dstack([x[0], y[0]])
torch.dstack([x[0, 0], y[0, 0]])
torch.column_stack([x, y])
torch.column_stack([x[0], y[0]])
torch.column_stack([x[:, 0], y])
torch.block_diag(x, y)
torch.block_diag(x, y[0], x[0, 0])
torch.meshgrid(x[0], y[0], indexing="ij")
torch.meshgrid([x[0], y[0, :2]], indexing="xy")
torch.meshgrid(x[0], y[0], x[1], indexing="xy")
torch.meshgrid(x[0, 0], y[0], indexing="ij")
torch.meshgrid(x[0], indexing="xy")
""".strip().splitlines()


@pytest.mark.parametrize("text", TOGETHER)
def test_together(text):
    same(expression(text), A, B)


@pytest.mark.parametrize("name", ["cat", "stack"])
@pytest.mark.parametrize("dim", [0, 1, -1, -2])
def test_what_was_put_together_before_is_put_together_again(name, dim):
    def program(torch, x, y):
        put = getattr(torch, name)
        return [put([x, y], dim), put([x, y], dim), put((y, x), dim=dim), put([x, x + 1, y], dim)]

    same(program, A, B)


@pytest.mark.parametrize("text", ["torch.{}([x, y], 3)", "torch.{}([x, y], -4)", "torch.{}([x, y[0]])", "torch.{}([])"])
@pytest.mark.parametrize("name", ["cat", "stack"])
def test_what_is_refused_is_refused_after_others_were_put_together(name, text):
    expression(f"torch.{name}([x, y])")(tapegrad, tapegrad.tensor(A), tapegrad.tensor(B))
    same_error(expression(text.format(name)), A, B)


@pytest.mark.parametrize("text", [
    "torch.cat([x, y])", "torch.cat([y, x], 1)", "torch.cat([y, y])", "torch.cat([y, y], 1)", "torch.cat([y, x, y])",
])  # fmt: skip
def test_tensors_without_elements_do_not_count(text):
    same(expression(text), A, EMPTY)


def test_empty_dimensions():
    same(expression("torch.cat([x, y, x])"), A, E)
    same(expression("torch.stack([x, x], 1)"), E)


@pytest.mark.parametrize("other", [N, Z, array(2, 3, dtype="float32"), A > 0], ids=lambda a: a.dtype.name)
@pytest.mark.parametrize("text", [
    "torch.cat([x, y])", "torch.cat([y, x])", "torch.stack([x, y])", "torch.hstack([x, y])",
])  # fmt: skip
def test_promotion(text, other):
    same(expression(text), A, other)


@pytest.mark.parametrize("text", [
    "torch.cat([x, x.to(torch.float16)])", "torch.cat([x.to(torch.uint8), x.to(torch.float16)])",
    "torch.cat([x.to(torch.bfloat16), x.to(torch.float16)])", "torch.stack([x[0, 0], x.to(torch.int32)[0, 0]])",
    "torch.cat([x > 0, x > 1])", "torch.block_diag(x > 0, x > 1)", "torch.block_diag(x.to(torch.int32), x > 0)",
])  # fmt: skip
def test_promotion_of_constants(text):
    same(expression(text), A, grads=False)


APART = """
x.chunk(2)
x.chunk(2, 1)
x.chunk(5, dim=-1)
torch.chunk(x, chunks=1, dim=1)
x.split(1)
x.split(2, 1)
x.split(7, dim=1)
x.split([1, 1])
x.split((1, 0, 2), dim=1)
torch.split(x, 2, dim=1)
torch.split(x, split_size_or_sections=[1, 2], dim=-1)
x.split_with_sizes([1, 2], 1)
x.unsafe_split_with_sizes([1, 2], 1)
x.unsafe_split(1)
torch.unsafe_chunk(x, 2, 1)
x.tensor_split(2)
x.tensor_split(2, 1)
x.tensor_split(4, dim=1)
x.tensor_split((1,), 1)
x.tensor_split((1, 5), 1)
x.tensor_split((-1,), 1)
x.tensor_split((2, 1), 1)
torch.tensor_split(x, L([1]), 1)
torch.tensor_split(x, L(2), dim=1)
torch.hsplit(x, 3)
torch.hsplit(x[0], [1])
torch.vsplit(x, 2)
torch.vsplit(x, (1,))
torch.dsplit(x[None], 3)
x.unbind()
x.unbind(1)
torch.unbind(x, dim=-1)
tuple(x)
[row.sum() for row in x]
""".strip().splitlines()


@pytest.mark.parametrize("text", APART)
def test_apart(text):
    same(expression(text), A)


@pytest.mark.parametrize("text", [
    "x.split(2)", "x.split(0)", "x.chunk(3)", "x.unbind(1)", "x.unbind()", "x.split([0])",
])  # fmt: skip
def test_apart_without_elements(text):
    same(expression(text), E)


@pytest.mark.parametrize("text", ["x.split(1)[1]", "x.unbind(1)[2]", "x.chunk(3, 1)[0] * x.chunk(3, 1)[2]",
                                  "x.split([1, 2], 1)[1]"])  # fmt: skip
def test_some_outputs_unused(text):
    same(expression(text), A)


@pytest.mark.parametrize("text", """
torch.cat([])
torch.cat([x, y[0]])
torch.cat([x, torch.zeros(3, 3)], 1)
torch.cat([x[0, 0], y])
torch.cat([x, y], 2)
torch.cat(x)
torch.cat([x, 1])
torch.cat(5)
torch.stack([])
torch.stack([x, y[0]])
torch.stack([x, y], 3)
torch.stack(x)
torch.stack([x, 1])
torch.hstack([])
torch.hstack([x, y[0]])
torch.vstack([x, y[0, :2]])
torch.dstack([])
torch.column_stack([x[0, 0], y[0]])
torch.meshgrid(x[0], y[0].float(), indexing="ij")
torch.meshgrid(x[0], y[0], indexing="a")
torch.meshgrid()
x.chunk(0)
x[0, 0].chunk(2)
x.split(0)
x.split(-1)
x.split([1, 2])
x.split([1, -1])
x.split(2, 2)
x[0, 0].split(1)
x.tensor_split(0)
x[0, 0].tensor_split(2)
torch.hsplit(x, 2)
torch.hsplit(x[0, 0], 2)
torch.vsplit(x[0], 2)
torch.dsplit(x, 2)
x[0, 0].unbind()
x.unbind(2)
""".strip().splitlines())  # fmt: skip
def test_errors(text):
    same_error(expression(text), A, B)


def test_grid_of_matrices():
    match = "torch.meshgrid: Expected 0D or 1D tensor in the tensor list"
    same_error(expression("torch.meshgrid(x, x)"), A, match=match)


def test_out():
    def program(torch, x):
        out = torch.zeros(4, 3, dtype=x.dtype)
        returned = torch.cat([x, x], out=out)
        return out, returned is out

    same(program, A, grads=False)

"""Shapes and views against PyTorch, and what all that moves elements has in common."""

import numpy as np
import pytest
from expressions import expression
from harness import agree, attempt, same, same_error, warned
from samples import array

pytestmark = pytest.mark.parity

A, V, S, E = array(2, 3), array(3), array(), array(0, 3)
ONES = array(1, 3, 1)
CUBE = array(2, 3, 4)
Z = array(2, 3, dtype="complex128")
N = np.arange(6).reshape(2, 3)
FLAGS = A > 0

MATRIX = """
x.view(3, 2)
x.view((3, 2))
x.view(-1)
x.view(1, -1, 2)
x.view(size=(6,))
x.view(2, 3)
x.reshape(3, 2)
x.reshape(2, 3)
x.reshape([-1, 2])
torch.reshape(x, (6,))
torch.reshape(x, shape=(6,))
x.view_as(x.t())
x.reshape_as(x[:, :, None])
x.flatten()
x.flatten(0)
torch.flatten(x, start_dim=0, end_dim=1)
x[0].flatten()
x.unflatten(1, (3, 1))
x.unflatten(-1, (-1, 1))
torch.unflatten(x, dim=0, sizes=(1, 2))
x.ravel()
x[0].ravel()
x.transpose(0, 1)
x.transpose(-1, -1)
torch.transpose(x, 0, -1)
x.swapaxes(0, 1)
torch.swapaxes(x, axis0=0, axis1=1)
torch.swapdims(x, dim0=0, dim1=1)
x.t()
x[0].t()
x.T
x.mT
x.H
x.mH
x.adjoint()
x.permute(1, 0)
x.permute((-1, 0))
x.permute(dims=(1, 0))
torch.permute(x, (1, 0))
x.movedim(0, 1)
x.movedim((0, 1), (1, 0))
torch.moveaxis(x, source=0, destination=-1)
x.squeeze()
x.squeeze(0)
x.squeeze(-1)
x.squeeze((0, 1))
torch.squeeze(x, dim=())
x.unsqueeze(0)
x.unsqueeze(-1)
torch.unsqueeze(x, dim=1)
x.expand(2, 3)
x.expand(2, -1, 3)
x.expand((4, 2, 3))
x.expand(size=(2, 2, 3))
x.expand_as(x)
x.broadcast_to((2, 2, 3))
torch.broadcast_to(x[:1], (2, 3))
torch.broadcast_tensors(x, x[0])
torch.broadcast_tensors(x[:, :1], x[:1])
x.contiguous()
x.clone()
torch.clone(x, memory_format=torch.preserve_format)
torch.atleast_1d(x)
torch.atleast_2d(x[0])
torch.atleast_3d(x)
torch.atleast_3d(x[0])
torch.atleast_1d(x, x[0])
torch.atleast_2d((x[0], x))
""".strip().splitlines()


@pytest.mark.parametrize("text", MATRIX)
@pytest.mark.filterwarnings("ignore:The use of `x.T`", "ignore:The default behavior for interpolate")
def test_of_a_matrix(text):
    same(expression(text), A)


@pytest.mark.parametrize("text", """
x.permute(2, 0, 1)
x.movedim(0, -1)
x.movedim((0, 1), (-1, 0))
x.mT
x.adjoint()
x.flatten(1)
x.flatten(0, 1)
x.flatten(-2, -1)
x.flatten(1, 1)
x.squeeze()
""".strip().splitlines())  # fmt: skip
def test_of_three_dimensions(text):
    same(expression(text), CUBE)


@pytest.mark.parametrize("text", """
x.view(1)
x.reshape(())
x.reshape(1, 1)
x.flatten()
x.ravel()
x.transpose(0, -1)
x.t()
x.permute(())
x.movedim(0, 0)
x.squeeze()
x.squeeze(0)
x.squeeze(-1)
x.unsqueeze(0)
x.unsqueeze(-1)
x.expand(2)
x.expand(())
torch.atleast_1d(x)
torch.atleast_2d(x)
torch.atleast_3d(x)
x.clone()
x.mT
x.mH
x.adjoint()
""".strip().splitlines())  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_without_dimensions(text):
    same(expression(text), S)


@pytest.mark.parametrize("text", """
x.view(3, 0)
x.view(-1, 3)
x.view(0, 7)
x.reshape(-1)
x.flatten()
x.T
x.squeeze()
x.expand(2, 0, 3)
x.unsqueeze(1)
""".strip().splitlines())  # fmt: skip
def test_without_elements(text):
    same(expression(text), E)


@pytest.mark.parametrize("text", """
x.H
x.mH
x.adjoint()
x.T
x.view(6)
""".strip().splitlines())  # fmt: skip
def test_of_complex_numbers(text):
    same(expression(text), Z)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int64", "int32", "uint8", "bool"])
@pytest.mark.parametrize("text", [
    "x.view(6)", "x.t()", "x.expand(2, 2, 3)", "x.repeat(2, 1)", "x.flip(0)", "x.roll(1)", "x.tril()", "x.diagonal()",
    "F.pad(x, (1, -1))", "x.select(0, 1)", "x.unfold(1, 2, 1)", "x.narrow(1, 0, 2)", "torch.diag_embed(x)", "x.clone()",
    "x.repeat_interleave(2, 0)", "x.select_scatter(x[0], 0, 1)",
])  # fmt: skip
def test_dtypes(text, dtype):
    program = expression(text)
    same(lambda torch, x: program(torch, x.to(getattr(torch, dtype)).detach()), A, grads=False)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("text", ["x.expand(4, 2, 3)", "x.repeat(3, 1)", "F.pad(x, (3, 3), mode='replicate')", "x[0]"])
def test_gradients_of_narrow_dtypes(text, dtype):
    program = expression(text)
    same(lambda torch, x: program(torch, x.to(getattr(torch, dtype))), A, rtol=2e-2, atol=2e-2, second=False)


@pytest.mark.parametrize("text", """
x.size()
x.size(0)
x.size(-1)
x.size(dim=1)
x.shape.numel()
x.dim(), x.ndimension(), x.ndim
x.numel(), x.nelement()
x.stride(), x.stride(0), x.stride(-1)
x.is_contiguous(), x.storage_offset()
len(x)
torch.zeros(2, 0, 3).stride()
L(1.0).stride(), L(1.0).size(), L(1.0).dim(), L(1.0).numel()
torch.broadcast_shapes((2, 1), (3,), 1)
torch.broadcast_shapes((0, 1), (3,))
torch.broadcast_shapes()
x.flatten(0, 0) is x, x.contiguous() is x, torch.atleast_1d(x) is x
x.view(6)._base is x, x[0][1]._base is x, x.view(6).view(3, 2)._base is x, x.clone()._base is None
x.split(1)[0]._base is x, x.unbind()[1]._base is x, x.expand(2, 2, 3)._base is x, x[[0]]._base is None
""".strip().splitlines())  # fmt: skip
def test_questions(text):
    def program(torch, x):
        answer = expression(text)(torch, x)
        return list(answer) if isinstance(answer, torch.Size) else answer

    same(program, A)


@pytest.mark.parametrize("text", """
x.view(4)
x.view(-1, -1)
x.view(-1, 4)
x.view(0, -1)
x.view(-2, 3)
torch.zeros(0, 3).view(-1, 0)
torch.zeros(0, 3).view(0, -1)
x.view()
x.view(2.0, 3)
x.view((2, 3), 1)
x.reshape(4)
x.reshape()
x.transpose(0, 2)
torch.zeros(2, 2, 2).t()
x[0].mT
x[0].mH
x[0].H
torch.zeros(2, 2, 2).H
x.permute(0)
x.permute(0, 0)
x.permute(0, 2)
x.movedim((0,), (0, 1))
x.movedim((0, 0), (0, 1))
x.squeeze(2)
x.squeeze((0, 0))
L(1.0).squeeze(1)
x.unsqueeze(3)
x.unsqueeze(-4)
x.expand(3)
x.expand(3, 3)
x.expand(-1, 2, 3)
x.expand(2, -2)
torch.broadcast_tensors(x, torch.zeros(4))
torch.broadcast_shapes((2, 3), (4,))
torch.broadcast_shapes((2, 1), (3,), 5)
torch.broadcast_shapes((2, -1), (3,))
x.flatten(2)
x.flatten(1, 0)
x.unflatten(1, (2, 2))
x.unflatten(1, ())
x.unflatten(2, (3,))
x.size(2)
len(L(1.0))
list(L(1.0))
""".strip().splitlines())  # fmt: skip
def test_errors(text):
    same_error(expression(text), A)


@pytest.mark.parametrize("text", ["x.view('a')", "x.expand(2, 'a')"])  # fmt: skip
def test_errors_of_some_kind(text):
    same_error(expression(text), A, match="")


def test_warnings():
    for text in ("x.T", "torch.meshgrid(x, x)"):
        def program(torch, x, text=text):
            torch.set_warn_always(True)
            try:
                with pytest.warns(UserWarning, match="deprecated|indexing argument"):
                    return expression(text)(torch, x)
            finally:
                torch.set_warn_always(False)

        same(program, V)


def test_numbers_are_no_matrices():
    def program(torch):
        acts = [
            lambda x: x.T, lambda x: x.mT, lambda x: x.H, lambda x: x.mH, lambda x: x.adjoint(), torch.adjoint
        ]  # fmt: skip
        torch.set_warn_always(True)
        try:
            tensors = torch.tensor(1 + 2j), torch.tensor(1.0), torch.ones(2, 2), torch.ones(2, 2, 2)
            return [warned(lambda act=act, x=x: attempt(lambda: act(x))) for x in tensors for act in acts]
        finally:
            torch.set_warn_always(False)

    agree(program)


@pytest.mark.parametrize("text", [
    "x.view(6)", "x[0]", "x[1:]", "x.t()", "x.expand(2, 2, 3)", "torch.cat([x, x])", "x.tril()", "x[0, 1:]",
])  # fmt: skip
def test_backward_twice_through_what_saves_no_tensor(text):
    def program(torch, x):
        y = expression(text)(torch, x).sum()
        y.backward()
        y.backward()
        return x.grad

    same(program, A, grads=True, second=False)


@pytest.mark.parametrize(("text", "fields"), [
    ("x.transpose(0, 1)", ["dim0", "dim1"]), ("x.permute(1, 0)", ["dims"]), ("x.squeeze(0)", ["dim"]),
    ("x.unsqueeze(1)", ["dim"]), ("x[1]", ["dim", "index"]), ("x[:, 1:]", ["dim", "start", "step"]),
    ("x.tril(1)", ["diagonal"]), ("x.repeat(2, 1)", ["repeats"]), ("x.flip(0)", ["dims"]),
    ("x.roll(1, 0)", ["shifts", "dims"]), ("x.rot90()", ["k", "dims"]), ("x.diagonal(1)", ["offset", "dim1", "dim2"]),
    ("x.unfold(1, 2, 1)", ["dimension", "size", "step"]), ("torch.cat([x, x], 1)", ["dim"]),
    ("torch.stack([x, x], 1)", ["dim"]), ("x.split(2, 1)[0]", ["dim", "split_size"]),
    ("x.split([1, 2], 1)[0]", ["dim", "split_sizes"]), ("x.unbind(1)[0]", ["dim"]),
    ("x.view(6)", ["self_sym_sizes"]), ("x.expand(2, 2, 3)", ["self_sym_sizes"]),
])  # fmt: skip
def test_saved_fields(text, fields):
    def program(torch, x):
        node = expression(text)(torch, x).grad_fn
        return [list(v) if isinstance(v, tuple) else v for v in (getattr(node, f"_saved_{field}") for field in fields)]

    same(program, A)

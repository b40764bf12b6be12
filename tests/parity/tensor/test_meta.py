"""The device ``meta``: shapes, dtypes, strides and graphs without data, as PyTorch has them."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import torch as pytorch
from harness import Programs, agree, attempt

import tapegrad

PROGRAMS = program = Programs()


def seen(*tensors):
    """What can be seen of tensors that have no data."""
    return [
        [
            repr(x), str(x.dtype).split(".")[-1], list(x.shape), list(x.stride()), str(x.device), x.requires_grad,
            x.is_meta, x._version, None if x.grad_fn is None else x.grad_fn.name(),
        ]
        for x in tensors
    ]  # fmt: skip


def leaf(torch, *shape):
    return torch.ones(*shape or (2, 3), device="meta", requires_grad=True)


def like(torch, *shape):
    return torch.ones(*shape or (2, 3), device="meta")


# -- made --------------------------------------------------------------------------------------------------------------


@program
def factories(torch):
    on = {"device": "meta"}
    return seen(
        torch.empty(2, 3, **on), torch.zeros(2, 3, dtype=torch.int64, **on), torch.ones((), **on),
        torch.full((2,), 3.0, **on), torch.arange(5, **on), torch.linspace(0, 1, 5, **on), torch.eye(3, **on),
        torch.logspace(0, 1, 3, **on), torch.tensor([[1, 2], [3, 4]], **on), torch.as_tensor([1.5], **on),
        torch.scalar_tensor(2.0, **on), torch.empty_strided((2, 3), (10, 20), **on), torch.tril_indices(3, 3, **on),
        torch.hann_window(3, **on), torch.empty(2, 0, **on), torch.tensor(1j, **on), torch.empty(2, device="meta:1"),
        torch.ones(2, dtype=torch.bfloat16, **on), torch.empty(2, requires_grad=True, **on),
    )  # fmt: skip


@program
def made_like_others(torch):
    x, m = torch.ones(2, 3).t(), like(torch)
    return seen(
        torch.empty_like(x, device="meta"), torch.zeros_like(x, device="meta"), torch.ones_like(m), m.new_zeros(3),
        m.new_tensor([1.0]), x.new_zeros(3, device="meta"), torch.rand_like(m), torch.full_like(m, 2.0), m.clone(),
        torch.zeros(2, 3, out=torch.empty(0, device="meta")),
    )  # fmt: skip


@program
def random_numbers(torch):
    on = {"device": "meta"}
    p = like(torch, 3, 4)
    return seen(
        torch.rand(2, **on), torch.randn(2, generator=torch.Generator(), **on), torch.randint(5, (2,), **on),
        torch.randperm(5, **on), torch.bernoulli(p), torch.multinomial(p, 2), torch.normal(p, 1.0), torch.poisson(p),
        torch.nn.functional.dropout(p), p.normal_(), p.uniform_(), p.random_(), p.bernoulli_(), p.exponential_(),
        p.geometric_(0.5), p.cauchy_(), p.log_normal_(),
    )  # fmt: skip


@program
def nothing_is_drawn(torch):
    torch.manual_seed(3)
    expected = torch.rand(3).tolist()
    torch.manual_seed(3)
    torch.rand(3, device="meta"), torch.bernoulli(like(torch)), torch.randperm(3, device="meta")
    return torch.rand(3).tolist() == expected


@program
def moved_there(torch):
    x = torch.ones(2, requires_grad=True)
    y = x.to("meta")
    grad = torch.autograd.grad((y * y).sum(), y)[0]
    return seen(y, grad, y.double(), y.to("meta", torch.float16)), y.to("meta") is y, attempt(y.sum().backward)


@program
def as_the_default(torch):
    with torch.device("meta"):
        inside = seen(torch.ones(2), torch.tensor([1, 2]), torch.randn(2)), repr(torch.ones(2, device="cpu"))
    torch.set_default_device("meta")
    try:
        after = seen(torch.zeros(3)), str(torch.get_default_device()), repr(torch.ones(2, device="cpu"))
    finally:
        torch.set_default_device(None)
    return inside, after, str(torch.zeros(1).device)


@program
def sizes_that_no_memory_holds(torch):
    x = torch.empty(1 << 40, device="meta", requires_grad=True)
    y = x[4:].sin().reshape(-1, 3) @ torch.ones(3, 2, device="meta")
    y.sum().backward()
    w = torch.empty(1 << 20, 1 << 20, device="meta")
    w[3] = 1.0
    w.t().mul_(2)
    return seen(y, x.grad, w @ w, w, w[:, 7]), x.grad.nbytes, w.untyped_storage().nbytes()


@program
def text(torch):
    x = like(torch)
    scalar = torch.ones((), device="meta")
    formatted = [f"{x}", f"{scalar}", str(x), attempt(lambda: f"{scalar:.2f}"), repr(torch.nn.Parameter(x))]
    return formatted, repr(x.untyped_storage()), x.untyped_storage().data_ptr(), x.data_ptr(), x.get_device(), x.type()


@program
def copies(torch):
    x, t = leaf(torch), like(torch).t()
    made = [copy.copy(t), copy.deepcopy(t), copy.deepcopy(x), pickle.loads(pickle.dumps(x))]
    return seen(*made, pickle.loads(pickle.dumps(t)), torch.tensor([x.detach()[0, 0].shape[0:0] == ()], device="meta"))


# -- operators, views, writes ------------------------------------------------------------------------------------------


@program
def operators_with_gradients(torch):
    x, w, b = leaf(torch), leaf(torch, 5, 3), leaf(torch, 5)
    y = torch.nn.functional.linear(x, w, b).relu()
    y.pow(2).mean().backward()
    return seen(y, x.grad, w.grad, b.grad)


@program
def a_convolution(torch):
    x, w = leaf(torch, 2, 3, 8, 8), leaf(torch, 4, 3, 3, 3)
    y = torch.nn.functional.max_pool2d(torch.nn.functional.conv2d(x, w), 2)
    y.sum().backward()
    return seen(y, x.grad, w.grad)


@program
def gradients_accumulate(torch):
    x = leaf(torch)
    (x * x).sum().backward()
    (x * x).sum().backward()
    twice = (x * x).sum()
    twice.backward()
    return seen(x.grad), attempt(twice.backward)


@program
def second_order(torch):
    x = leaf(torch)
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    g.sum().backward()
    return seen(g, x.grad)


@program
def hooks_and_seeds(torch):
    x, shapes = leaf(torch), []
    x.register_hook(lambda g: shapes.append(repr(g)))
    y = x * 2
    y.backward(like(torch))
    x.sum().backward(torch.tensor(1.0))
    return shapes, seen(x.grad), attempt(lambda: (x * 2).backward(torch.ones(2, 3)))


@program
def views(torch):
    x = leaf(torch)
    y = x * 1
    made = [y.t(), y[0], y[:, 1:], y.expand(4, 2, 3), y.view(3, 2), y.diagonal(), y.unfold(1, 2, 1), *y.unbind()]
    return seen(*made), [v._base is y for v in made], seen(*list(x.detach()))


@program
def writes(torch):
    x = leaf(torch)
    y = x * 1
    row = y[0]
    row.mul_(2)
    y[:, 1] = 3.0
    y.t().add_(1)
    y[0, 0] = torch.ones(())
    y[1] = torch.ones(3)
    y[torch.tensor([0])] = like(torch, 1, 3)
    y[like(torch) > 0] = 2.0
    (y * y).sum().backward()
    return seen(y, row, x.grad)


@program
def what_was_written_to_is_refused(torch):
    x = leaf(torch)
    y = x.exp()
    y.add_(1)
    return attempt(y.sum().backward), attempt(lambda: x.add_(1))


@program
def copies_from_other_devices(torch):
    m, source = like(torch), torch.ones(2, 3, requires_grad=True)
    m.copy_(source)
    return seen(m), attempt(lambda: torch.ones(2, 3).copy_(m)), attempt(lambda: torch.ones(3).copy_(m[0]))


@program
def indexing(torch):
    x = like(torch, 3, 4)
    tensors = seen(x[[0, 2]], x[torch.tensor([0, 1])], x[:, torch.tensor([1], device="meta")], x[torch.tensor(1)])
    return tensors, attempt(lambda: x[5]), attempt(lambda: x[torch.ones((), device="meta", dtype=torch.int64)])


@program
def memory(torch):
    x = like(torch)
    x.resize_(5)
    x.untyped_storage().resize_(40)
    y = torch.ones(3, requires_grad=True)
    return seen(x, x.view(torch.int32)), [
        attempt(lambda: setattr(y, "data", like(torch, 3))), attempt(lambda: x.set_(torch.ones(3))),
        attempt(lambda: setattr(leaf(torch, 3), "grad", torch.ones(3))), attempt(x.pin_memory), x.is_pinned(),
        x.is_shared(), attempt(x.share_memory_), attempt(x.__dlpack__), attempt(x.__dlpack_device__),
        attempt(lambda: torch.Generator("meta")),
    ]  # fmt: skip


@program
def transforms(torch):
    x, func = like(torch, 3), torch.func
    return seen(
        func.vmap(torch.sin)(x), func.grad(lambda v: v.sin().sum())(x), func.jacrev(torch.sin)(x),
        func.jacfwd(torch.sin)(x), func.hessian(lambda v: (v**3).sum())(x), *func.jvp(torch.sin, (x,), (x,)),
        func.vmap(func.grad(torch.sin))(x), torch.autograd.functional.jacobian(torch.sin, x),
    )  # fmt: skip


@program
def checkpoints(torch):
    x = leaf(torch)
    from_utils = __import__(f"{torch.__name__}.utils.checkpoint", fromlist=["checkpoint"])
    from_utils.checkpoint(torch.sin, x, use_reentrant=False).sum().backward()
    return seen(x.grad)


# -- refused -----------------------------------------------------------------------------------------------------------


@program
def there_are_no_elements(torch):
    x, scalar = like(torch), torch.ones((), device="meta")
    whole = torch.ones((), device="meta", dtype=torch.int64)
    return [
        attempt(scalar.item), attempt(x.item), attempt(lambda: float(scalar)), attempt(lambda: int(scalar)),
        attempt(lambda: complex(scalar)), attempt(whole.__index__), attempt(lambda: bool(scalar)),
        attempt(lambda: bool(x)), attempt(x.tolist), attempt(x.numpy), attempt(lambda: x.numpy(force=True)),
        attempt(lambda: np.asarray(x)), attempt(lambda: x.to("cpu")), attempt(x.cpu), attempt(leaf(torch).numpy),
        attempt(lambda: 3.0 in x), attempt(lambda: torch.full((2,), scalar)), attempt(lambda: torch.tensor([scalar])),
        attempt(lambda: torch.as_tensor(x, device="cpu")), attempt(lambda: x.type_as(torch.ones(2))),
    ]  # fmt: skip


@program
def what_depends_on_elements(torch):
    x = like(torch)
    whole = torch.ones(3, device="meta", dtype=torch.int64)
    return [
        attempt(x.nonzero), attempt(lambda: x[x > 0]), attempt(lambda: torch.where(x > 0)), attempt(x.argwhere),
        attempt(lambda: torch.unique(x)), attempt(lambda: torch.unique(x, dim=0)),
        attempt(lambda: torch.unique_consecutive(x)), attempt(lambda: torch.masked_select(x, x > 0)),
        attempt(lambda: torch.bincount(whole)), attempt(lambda: torch.repeat_interleave(whole, whole)),
        attempt(lambda: torch.equal(x, x.clone())), attempt(lambda: torch.allclose(x, x)),
        attempt(lambda: torch.nn.functional.one_hot(whole)), attempt(lambda: torch.ones(2, 3)[x > 0]),
        attempt(lambda: torch.tensor_split(torch.ones(2), whole)),
    ]  # fmt: skip


@program
def what_does_not(torch):
    x = like(torch, 3, 4)
    whole = torch.ones(3, device="meta", dtype=torch.int64)
    return seen(
        torch.histc(x), x.isfinite(), x.count_nonzero(), torch.nn.functional.one_hot(whole, 3),
        torch.repeat_interleave(whole, whole, output_size=5), x.max(1).indices, *x.sort(), torch.isin(x, x),
        torch.nn.functional.cross_entropy(x, whole), x.masked_fill(x > 0, 1.0),
        torch.linalg.det(x[:, :3]), torch.fft.fft(x),
    )  # fmt: skip


@program
def two_devices(torch):
    x, y = like(torch, 2), torch.ones(2)
    zero, number = torch.ones((), device="meta"), torch.tensor(2.0)
    mixed = seen(x + number, number + x, number * zero, torch.where(x > 0, x, number))
    return mixed, [
        attempt(lambda: x + y), attempt(lambda: y + x), attempt(lambda: zero + y), attempt(lambda: y + zero),
        attempt(lambda: torch.cat([x, y])), attempt(lambda: torch.dot(x, y)), attempt(lambda: torch.stack([x, y])),
        attempt(lambda: torch.where(x > 0, x, y)), attempt(lambda: torch.nn.functional.mse_loss(x, y)),
        attempt(lambda: torch.add(y, 1, out=x)), attempt(lambda: torch.add(x, 1, out=y)),
    ]  # fmt: skip


@program
def compared_by_what_is_there(torch):
    x, close = like(torch, 3), torch.testing.assert_close
    others = x, torch.ones(3), like(torch, 2), x.double()
    return [attempt(lambda y=y: close(x, y)) for y in others], close(x, torch.ones(3), check_device=False)


@program
def a_number_gets_no_gradient_from_there(torch):
    x, number = leaf(torch, 2), torch.tensor(2.0, requires_grad=True)
    y = x * number
    (grad,) = torch.autograd.grad(y.sum(), x)
    return seen(grad), attempt((x * number).sum().backward)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program(program):
    def quiet(torch):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return program(torch)

    agree(quiet)


@pytest.mark.parametrize(
    "attempted",
    [
        lambda torch, m, c: m @ c,
        lambda torch, m, c: c @ m,
        lambda torch, m, c: c.clone().add_(m),
        lambda torch, m, c: c[0, 0].clone().add_(m[0, 0]),
        lambda torch, m, c: m.clone().add_(c),
        lambda torch, m, c: c[m[0].long()],
        lambda torch, m, c: m.gather(0, c.long()),
    ],
)
def test_a_mixture_that_pytorch_reads_as_found_is_refused(attempted):
    """PyTorch computes these with whatever is in memory, or leaves out the check; here they say what is wrong."""
    attempted(pytorch, pytorch.ones(2, 2, device="meta"), pytorch.ones(2, 2))
    with pytest.raises(RuntimeError, match="is not on the expected device"):
        attempted(tapegrad, tapegrad.ones(2, 2, device="meta"), tapegrad.ones(2, 2))


def test_what_only_needs_shapes_is_there_where_pytorch_has_no_kernel():
    torch = tapegrad
    x = torch.ones(3, 3, device="meta")
    assert torch.linalg.lstsq(x, x).solution.shape == (3, 3)
    assert torch.combinations(x[0]).shape == (3, 2)
    with pytest.raises(NotImplementedError, match="attempted to run this operator with Meta tensors"):
        pytorch.combinations(pytorch.ones(3, device="meta"))


def test_a_captured_call_takes_and_gives_tensors_without_data():
    torch = tapegrad
    w, m = torch.ones(3, requires_grad=True), torch.ones(3, device="meta")

    @torch.compile
    def step(x, n):
        loss = (x * w).sum()
        loss.backward()
        return loss, n + m, torch.zeros(2, device="meta")

    for count in range(1, 5):
        loss, n, z = step(torch.ones(3), torch.ones(2, 3, device="meta"))
        assert loss.item() == 3 and w.grad.tolist() == [float(count)] * 3
        assert (n.shape, n.device.type, z.shape) == ((2, 3), "meta", (2,))


def test_nothing_is_compiled(monkeypatch):
    torch = tapegrad
    x = torch.ones(7, 11, device="meta", requires_grad=True)
    monkeypatch.setattr("jax._src.compiler.compile_or_get_cached", None)
    y = (x.sin() @ torch.randn(11, 13, device="meta")).cumsum(0)
    y[2:, ::3].mul_(2)
    y.pow(2).mean().backward()
    assert x.grad.shape == (7, 11)

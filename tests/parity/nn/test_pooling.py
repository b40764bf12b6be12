"""Pooling and its inverse, beside PyTorch's."""

import numpy as np
import pytest
from case_tables import case_of, of
from harness import agree, same, same_error

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

NAN, INF = float("nan"), float("inf")

PLANE = of(1, 2, 4, 5)
LINE = of(1, 2, 5)
CUBE = of(1, 2, 3, 4, 3)

POOLS = {
    "max, 1d": (lambda F, x: F.max_pool1d(x, 2), LINE),
    "max, 1d, ties": (lambda F, x: F.max_pool1d(x, 2), np.array([[[3.0, 3.0, 1.0, 3.0]]])),
    "max, 1d, nan": (lambda F, x: F.max_pool1d(x, 2, padding=1), np.array([[[NAN, 1.0, 2.0, NAN, 3.0]]])),
    "max, 1d, padding": (lambda F, x: F.max_pool1d(x, 2, stride=1, padding=1), np.array([[[-3.0, -2.0]]])),
    "max, 1d, indices": (lambda F, x: F.max_pool1d(x, 2, return_indices=True), LINE),
    "max, 2d": (lambda F, x: F.max_pool2d(x, 2), PLANE),
    "max, 2d, indices": (lambda F, x: F.max_pool2d(x, 2, return_indices=True), PLANE),
    "max, 2d, all": (
        lambda F, x: F.max_pool2d(x, (2, 3), (1, 2), (1, 1), dilation=(2, 1), ceil_mode=True, return_indices=True),
        PLANE,
    ),
    "max, 2d, no batch": (lambda F, x: F.max_pool2d(x, 3, 1), PLANE[0]),
    "max, 2d, empty batch": (lambda F, x: F.max_pool2d(x, 2), PLANE[:0]),
    "max, 2d, overlapping": (lambda F, x: F.max_pool2d(x, 2, 1), PLANE),
    "max, 2d, all -inf": (lambda F, x: F.max_pool2d(x, 2, padding=1, return_indices=True), np.full((1, 1, 3, 3), -INF)),
    "max, 2d, nans": (lambda F, x: F.max_pool2d(x, 2, return_indices=True), np.array([[[[NAN, 1.0], [2.0, NAN]]]])),
    "max, 2d, ties in tiles": (
        lambda F, x: F.max_pool2d(x, (2, 3), return_indices=True), (np.arange(72.0) ** 2 % 5).reshape(1, 3, 4, 6)
    ),
    "max, 2d, ints": (lambda F, x: F.max_pool2d(x, 2, padding=1), np.array([[[-5, -3], [-2, -9]]])),
    "max, 3d": (lambda F, x: F.max_pool3d(x, 2, return_indices=True), CUBE),
    "adaptive max, 1d": (lambda F, x: F.adaptive_max_pool1d(x, 3), LINE),
    "adaptive max, 2d": (lambda F, x: F.adaptive_max_pool2d(x, (3, None), return_indices=True), PLANE),
    "adaptive max, 3d": (lambda F, x: F.adaptive_max_pool3d(x, 2), CUBE),
    "unpool": (lambda F, x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), of(1, 2, 4, 4)),
    "unpool, size": (lambda F, x: F.max_unpool1d(*F.max_pool1d(x, 2, return_indices=True), 2, output_size=(5,)), LINE),
    "avg, 1d": (lambda F, x: F.avg_pool1d(x, 2, 1), LINE),
    "avg, 1d, padding": (lambda F, x: F.avg_pool1d(x, 2, padding=1), np.array([[[2.0, 2.0, 2.0]]])),
    "avg, 2d": (lambda F, x: F.avg_pool2d(x, 2), PLANE),
    "avg, 2d, all": (lambda F, x: F.avg_pool2d(x, (2, 3), 2, (1, 1), ceil_mode=True), PLANE),
    "avg, 2d, inside": (lambda F, x: F.avg_pool2d(x, 2, 2, 1, ceil_mode=True, count_include_pad=False), PLANE),
    "avg, 2d, divisor": (lambda F, x: F.avg_pool2d(x, 2, divisor_override=3), PLANE),
    "avg, 2d, no batch": (lambda F, x: F.avg_pool2d(x, 2), PLANE[0]),
    "avg, 2d, ints": (lambda F, x: F.avg_pool2d(x, 2), np.array([[[-5, -3], [-2, -9]]])),
    "avg, 3d": (lambda F, x: F.avg_pool3d(x, 2), CUBE),
    "adaptive avg, 1d": (lambda F, x: F.adaptive_avg_pool1d(x, 3), LINE),
    "adaptive avg, 1d, overlapping": (lambda F, x: F.adaptive_avg_pool1d(x, 2), np.array([[[1.0, 2.0, 3.0]]])),
    "adaptive avg, 1d, longer": (lambda F, x: F.adaptive_avg_pool1d(x, 7), LINE),
    "adaptive avg, 2d": (lambda F, x: F.adaptive_avg_pool2d(x, (3, None)), PLANE),
    "adaptive avg, 2d, one": (lambda F, x: F.adaptive_avg_pool2d(x, 1), PLANE),
    "adaptive avg, 2d, none": (lambda F, x: F.adaptive_avg_pool2d(x, 0), PLANE),
    "adaptive avg, 3d": (lambda F, x: F.adaptive_avg_pool3d(x, 2), CUBE),
    "lp, 1d": (lambda F, x: F.lp_pool1d(x, 2, 2), LINE),
    "lp, 2d": (lambda F, x: F.lp_pool2d(x, 3, 2), np.abs(PLANE)),
}
NO_POOL_NAMES = ("unpool, size",)
NEVER_BACKWARD_POOLS = ("adaptive avg, 2d, none",)  # PyTorch refuses


@case_of(POOLS)
def test_pools(case):
    program, x = POOLS[case]
    same(lambda torch, x: program(torch.nn.functional, x), x,
         names=case not in NO_POOL_NAMES, grads=case not in NEVER_BACKWARD_POOLS)  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_pool_dtypes(dtype):
    def program(torch, x):
        F, x = torch.nn.functional, x.to(getattr(torch, dtype))
        return F.max_pool2d(x, 2), F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, 3), F.interpolate(x, 7, mode="bilinear")

    same(program, PLANE, second=False, names=False, rtol=2e-2, atol=1e-2)


def pool_errors():
    for dims, shape in ((1, (1, 3, 4)), (2, (1, 3, 4, 4)), (3, (1, 3, 4, 4, 4))):
        x = np.ones(shape)
        for name in ("max_pool", "avg_pool"):
            for label, args in {
                "kernel 0": (0,), "negative kernel": (-2,), "stride 0": (2, 0), "negative stride": (2, -1),
                "negative padding": (2, 2, -1), "wide padding": (2, 2, 2), "kernels": ((2,) * (dims + 1),),
                "strides": (2, (2,) * (dims + 1)), "paddings": (2, 2, (1,) * (dims + 1)), "float": (2.5,),
                "too big": (9,),
            }.items():  # fmt: skip
                yield f"{name}{dims}d, {label}", f"{name}{dims}d", args, x
            yield f"{name}{dims}d, dimensions", f"{name}{dims}d", (2,), x[None]
            yield f"{name}{dims}d, channels", f"{name}{dims}d", (2,), x[:, :0]
            yield f"{name}{dims}d, bool", f"{name}{dims}d", (2,), x > 0
            yield f"{name}{dims}d, complex", f"{name}{dims}d", (2,), x + 0j
        for name in ("adaptive_avg_pool", "adaptive_max_pool"):
            for label, args in {"negative": (-1,), "sizes": ((2,) * (dims + 1),)}.items():
                yield f"{name}{dims}d, {label}", f"{name}{dims}d", args, x
            yield f"{name}{dims}d, dimensions", f"{name}{dims}d", (2,), x[None]
            yield f"{name}{dims}d, few", f"{name}{dims}d", (2,), x[0, 0]
            yield f"{name}{dims}d, empty", f"{name}{dims}d", (2,), x[..., :0]
            yield f"{name}{dims}d, int", f"{name}{dims}d", (2,), x.astype("int32")


DIFFERENT_POOL_ERRORS = (
    "avg_pool1d, negative stride",  # PyTorch shows the plane that it makes of the line
    "avg_pool3d, too big",  # its own words
    "max_pool1d, complex",  # another kernel when a gradient is wanted
)


@pytest.mark.parametrize(("case", "name", "args", "x"), [
    pytest.param(*each, id=each[0]) for each in pool_errors() if each[0] not in DIFFERENT_POOL_ERRORS
])  # fmt: skip
def test_pool_errors(case, name, args, x):
    same_error(lambda torch, x: getattr(torch.nn.functional, name)(x, *args), x)


MORE_POOL_ERRORS = {
    "divisor": (lambda F, x: F.avg_pool2d(x, 2, divisor_override=0), PLANE),
    "max, dilation": (lambda F, x: F.max_pool2d(x, 2, dilation=0), PLANE),
    "unpool, dtype": (lambda F, x: F.max_unpool2d(x, x.int(), 2), PLANE),
    "unpool, size": (lambda F, x: F.max_unpool2d(x, x.long(), 2, output_size=(99, 99)), PLANE),
    "of a number": (lambda F, x: F.avg_pool2d(x[0, 0, 0, 0], 2, 0), PLANE),
    "of a line": (lambda F, x: F.avg_pool2d(x[0, 0, 0], 2), PLANE),
    "norm of a line": (lambda F, x: F.lp_pool2d(x[0, 0, 0], 2, 2), PLANE),
    "unpool, index": (lambda F, x: F.max_unpool2d(x, x.long() * 0 + 99999, 2), PLANE),
}


@case_of(MORE_POOL_ERRORS)
def test_more_pool_errors(case):
    program, x = MORE_POOL_ERRORS[case]
    same_error(lambda torch, x: program(torch.nn.functional, x), x)


LINES = {
    "max": lambda F, x: F.max_pool1d(x, 2),
    "max, indices": lambda F, x: F.max_pool1d(x, 2, return_indices=True)[0],
    "their indices": lambda F, x: F.max_pool1d(x, 2, return_indices=True)[1],
    "mean": lambda F, x: F.avg_pool1d(x, 2),
    "adaptive mean": lambda F, x: F.adaptive_avg_pool1d(x, 2),
    "mean of all": lambda F, x: F.adaptive_avg_pool1d(x, 1),
    "adaptive max": lambda F, x: F.adaptive_max_pool1d(x, 2),
    "adaptive indices": lambda F, x: F.adaptive_max_pool1d(x, 2, return_indices=True)[1],
    "unpooled": lambda F, x: F.max_unpool1d(x, (x.detach() * 0).long(), 2),
    "norm": lambda F, x: F.lp_pool1d(x, 2.0, 2),
    "max of integers": lambda F, x: F.max_pool1d(x.detach().long(), 2, return_indices=True)[0],
}


@pytest.mark.parametrize("shape", [(2, 3, 4), (3, 4)])
@pytest.mark.parametrize("requires_grad", [True, False])
@pytest.mark.parametrize("name", LINES)
def test_lines_are_pooled_as_planes(name, requires_grad, shape):
    """Where PyTorch does so the result is a view of planes, with their node behind it."""

    def program(torch):
        x = torch.arange(24.0)[: 24 if len(shape) == 3 else 12].view(shape).requires_grad_(requires_grad)
        y = LINES[name](torch.nn.functional, x)
        base = y._base
        account = [y._is_view(), None if base is None else (base.shape, base.stride())]
        node = y.grad_fn
        while node is not None:
            account.append(node.name())
            node = node.next_functions[0][0] if node.next_functions else None
        y.mul_(2)
        account += [y.grad_fn and y.grad_fn.name(), base is not None and base.tolist()]
        if y.requires_grad:
            account += [torch.autograd.grad(y.sum(), x)[0]]
        return account

    agree(program)


CONSTANT = {
    "avg_pool1d": "F.avg_pool1d(x, 2)", "avg_pool2d": "F.avg_pool2d(x, 2)",
    "avg_pool3d": "F.avg_pool3d(x[None], (1, 2, 2))",
    "adaptive_avg_pool1d": "F.adaptive_avg_pool1d(x, 3)", "adaptive_avg_pool2d": "F.adaptive_avg_pool2d(x, 3)",
    "max_pool1d": "F.max_pool1d(x, 2)", "max_pool2d": "F.max_pool2d(x, 2)",
    "max_pool3d": "F.max_pool3d(x[None], (1, 2, 2))",
    "adaptive_max_pool2d": "F.adaptive_max_pool2d(x, 3)", "area": "F.interpolate(x[None], 3, mode='area')",
    "reflect": "F.pad(x, (1, 2), 'reflect')", "replicate": "F.pad(x, (1, 2), 'replicate')",
    "fractional": "F.fractional_max_pool2d(x, 2, 3, _random_samples=torch.full((1, 2, 2), 0.3, dtype=x.dtype))",
    "nll_loss": "F.nll_loss(x[0], torch.tensor([0, 1, 2, 3, 4]))",
    "nll_loss2d": "F.nll_loss(x, torch.ones(2, 5).long())",
    "bias": "F.conv1d(x.detach(), torch.ones(3, 5, 2, dtype=x.dtype), x[0, :3, 0])",
    "layer": "F.layer_norm(x.detach(), (5,), None, x[0, 0])",
    "batch": "F.batch_norm(x.detach(), None, None, None, x[0, :, 0], True)",
}  # fmt: skip


@pytest.mark.parametrize("name", CONSTANT)
def test_gradients_of_gradients_that_are_zeros(name):
    """They have a history, and its zeros are zeros even where nan comes from above."""

    def program(torch):
        x = torch.tensor(of(2, 5, 5).tolist(), dtype=torch.float64, requires_grad=True)
        y = eval(CONSTANT[name], {"torch": torch, "F": torch.nn.functional, "x": x})
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        above = torch.full_like(g, float("nan"))
        again = torch.autograd.grad(g, x, above, allow_unused=True)[0] if g.requires_grad else "constant"
        return g.tolist(), g.requires_grad, again.tolist() if isinstance(again, torch.Tensor) else again

    agree(program)


def test_names_and_orders_of_zeros():
    def program(torch):
        x = torch.tensor(of(1, 4, 4).tolist(), requires_grad=True)
        y = torch.nn.functional.max_pool2d(x * x, 2)
        (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
        (pooled,) = torch.autograd.grad(torch.nn.functional.avg_pool2d(x, 2).sum(), x, create_graph=True)
        return g.grad_fn.name(), h.tolist(), pooled.grad_fn.name(), pooled.is_leaf

    agree(program)

"""Operators that programs register, beside PyTorch's."""

import pytest
import torch
from harness import attempt

import tapegrad

pytestmark = pytest.mark.parity


def registered(lib):
    """An operator with a setting, a backward, and a fake one."""

    @lib.library.custom_op("w::scaled", mutates_args=())
    def scaled(x: lib.Tensor, factor: float = 2.0, *, shift: int = 0) -> lib.Tensor:
        return x * factor + shift

    def setup(ctx, inputs, keyword_only_inputs, output):
        ctx.factor = inputs[1]

    scaled.register_autograd(lambda ctx, g: (g * ctx.factor, None), setup_context=setup)
    lib.library.register_fake("w::scaled", lambda x, factor=2.0, *, shift=0: lib.empty_like(x))
    return scaled


def calls(lib):
    scaled = registered(lib)
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    y = scaled(x, 3.0) + lib.ops.w.scaled(x, shift=1) + lib.ops.w.scaled.default(x)
    y.sum().backward()
    return y.tolist(), x.grad.tolist(), repr(scaled), scaled(x.detach()).requires_grad


def several_results(lib):
    @lib.library.custom_op("w::halves", mutates_args=())
    def halves(x: lib.Tensor) -> tuple[lib.Tensor, lib.Tensor]:
        return x[:1].clone(), x[1:].clone()

    halves.register_autograd(lambda ctx, g, h: lib.cat([g, h]))
    x = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
    one, other = halves(x)
    (one.sum() * 5 + (other**2).sum()).backward()
    return x.grad.tolist()


def writes(lib):
    @lib.library.custom_op("w::add_one", mutates_args={"x"})
    def add_one(x: lib.Tensor) -> None:
        x.add_(1)

    x = lib.zeros(2)
    add_one(x)
    return x.tolist(), attempt(lambda: add_one.register_autograd(lambda ctx, g: g))[:2]


def on_meta(lib):
    return registered(lib)(lib.ones(2, 3, device="meta")).shape, registered(lib)(lib.ones(2, device="meta")).is_meta


def without_a_backward(lib):
    @lib.library.custom_op("w::plain", mutates_args=())
    def plain(x: lib.Tensor) -> lib.Tensor:
        return x.clone()

    return attempt(lambda: plain(lib.ones(2, requires_grad=True)).sum().backward()), attempt(
        lambda: plain(lib.ones(2, device="meta"))
    )


def gives_its_input(lib):
    @lib.library.custom_op("w::same", mutates_args=())
    def same(x: lib.Tensor) -> lib.Tensor:
        return x

    kind, name, text = attempt(lambda: same(lib.ones(2)))
    return kind, name, text.partition("): ")[2]


def schemas(lib):
    cpu = lib.device("cpu")

    def many(x: lib.Tensor, y: lib.Tensor | None, z: list[int], a: float = 1.5, b: bool = True, c: str = "k", *,
             d: int, e: float | None = None, f: lib.dtype = lib.float32, g: int | float | bool = 3,
             h: lib.device = cpu) -> tuple[lib.Tensor, lib.Tensor]: ...  # fmt: skip

    def lists(x: lib.Tensor, y: "list[lib.Tensor]") -> list[lib.Tensor]: ...

    def nothing(x: lib.Tensor) -> None: ...

    infer = lib.library.infer_schema
    lists.__annotations__["y"] = list[lib.Tensor]
    return [
        infer(many, mutates_args=()),
        infer(lists, mutates_args={"x"}),
        infer(nothing, mutates_args="unknown", op_name="w::nothing"),
    ]


def lists_of_tensors(lib):
    """Registered functions see lists where the operator takes and gives them."""
    seen = []

    @lib.library.custom_op("w::joined", mutates_args=())
    def joined(xs: list[lib.Tensor], dim: int) -> tuple[list[lib.Tensor], int]:
        return [lib.cat(xs, dim), xs[0] * 2], 5

    def setup(ctx, inputs, output):
        ctx.lengths = [len(x) for x in inputs[0]]
        seen.append([type(inputs[0]).__name__, type(output[0]).__name__, output[1]])

    def backward(ctx, grads, number):
        seen.append([type(grads).__name__, number, ctx.needs_input_grad])
        return list(grads[0].split(ctx.lengths)), None

    joined.register_autograd(backward, setup_context=setup)
    x, y = lib.tensor([1.0, 2.0], requires_grad=True), lib.tensor([3.0])
    found, number = joined([x, y], 0)
    (found[0] * lib.tensor([1.0, 2.0, 3.0])).sum().backward()
    return [part.tolist() for part in found], type(found).__name__, number, x.grad.tolist(), seen


def needed_gradients(lib):
    """A backward that is an operator itself, and asks what is needed."""

    @lib.library.custom_op("w::times", mutates_args=())
    def times(x: lib.Tensor, y: lib.Tensor) -> lib.Tensor:
        return x * y

    def backward(ctx, g):
        x, y = ctx.saved_tensors
        first, second = ctx.needs_input_grad
        return times(g, y) if first else None, times(g, x) if second else None

    times.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    x, y = lib.tensor([1.0, 2.0], requires_grad=True), lib.tensor([3.0, 4.0])
    (first,) = lib.autograd.grad(times(x, times(x, y)).sum(), x, create_graph=True)
    return first.tolist(), lib.autograd.grad(first.sum(), x)[0].tolist()


def under_vmap(lib):
    @lib.library.custom_op("w::plus", mutates_args=())
    def plus(x: lib.Tensor, y: lib.Tensor, n: int) -> tuple[lib.Tensor, lib.Tensor]:
        return x + n * y, x - y

    def mapped():
        return [part.tolist() for part in lib.vmap(lambda x, y: plus(x, y, 2), (0, None))(x, x[0])]

    x, seen = lib.arange(6.0).reshape(2, 3), []
    without = mapped()

    @lib.library.register_vmap("w::plus")
    def rule(info, in_dims, x, y, n):
        seen.append([info.batch_size, in_dims, list(x.shape), list(y.shape)])
        first, second = plus(x.movedim(in_dims[0], 0), y, n)
        return (first, second), (0, 0)

    return without, mapped(), seen


@pytest.mark.parametrize(
    "program",
    [
        calls, several_results, writes, on_meta, without_a_backward, gives_its_input, schemas, lists_of_tensors,
        needed_gradients, under_vmap,
    ],
    ids=lambda p: p.__name__,
)  # fmt: skip
def test_program(program):
    assert program(tapegrad) == program(torch)


def test_mistakes():
    def untyped(x): ...

    def unreturned(x: int): ...

    def said(lib):
        infer = lib.library.infer_schema
        return [
            attempt(lambda: infer(untyped, mutates_args=())),
            attempt(lambda: infer(unreturned, mutates_args=())),
            attempt(lambda: infer(unreturned, mutates_args={"q"})),
            attempt(lambda: lib.library.register_fake("w::nowhere", lambda: 0))[:2],
        ]

    assert said(tapegrad) == said(torch)


def test_a_compiled_step():
    scaled = registered(tapegrad)
    x = tapegrad.tensor([1.0, 2.0], requires_grad=True)

    @tapegrad.compile
    def step():
        x.grad = None
        loss = scaled(x, 3.0).sum()
        loss.backward()
        return loss

    for _ in range(3):
        assert step().item() == 9.0 and x.grad.tolist() == [3.0, 3.0]

"""Operators that programs register, beside PyTorch's."""

import numpy as np
import pytest
import torch
from dispatching import logging_mode
from harness import agree, attempt

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


# -- libraries of operators --------------------------------------------------------------------------------------------


def named(lib, name):
    """The name of a namespace of this test's own: PyTorch keeps operators as long as the process runs."""
    return f"{name}_{lib.__name__}"


def library(lib, name):
    ns = named(lib, name)
    made = lib.library.Library(ns, "DEF")
    return made, getattr(lib.ops, ns)


def defined(lib):
    made, ops = library(lib, "defined")
    found = [made.define("foo(Tensor x, int n=2) -> Tensor"), made.impl("foo", lambda x, n=2: x * n, "CPU")]
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    y = ops.foo(x)
    found += [y.tolist(), y.grad_fn.name(), ops.foo.default(x, n=5).tolist(), ops.foo.overloads()]
    made.define("ov.a(Tensor x) -> Tensor"), made.define("ov.b(Tensor x, int n) -> Tensor")
    made.impl("ov.a", lambda x: x + 1, "CPU"), made.impl("ov.b", lambda x, n: x + n, "CPU")
    one = lib.ones(1)
    found += [ops.ov(one).item(), ops.ov(one, 5).item(), ops.ov.b(one, 7).item(), ops.ov.overloads()]
    made.define("kw(Tensor x, *, float s=1.0, int[]? dims=None, Scalar z=2, str m='a', bool f=False) -> Tensor")
    return [*found, str(ops.kw.default._schema).partition("::")[2], lib._C._dispatch_has_kernel(ops.foo.default.name())]


def wrong_calls(lib):
    made, ops = library(lib, "wrong")
    made.define("foo(Tensor x, int n=2) -> Tensor"), made.define("kw(Tensor x, *, float s=1.0) -> Tensor")
    made.impl("foo", lambda x, n: x * n, "CPU")
    x = lib.ones(1)
    calls = (
        lambda: ops.foo(1), ops.foo, lambda: ops.foo(x, q=2), lambda: ops.foo(x, 1, 2), lambda: ops.foo(x, 1.5),
        lambda: ops.kw(x, 2.0), lambda: ops.foo(lib.ones(1, device="meta")), lambda: ops.bar, lambda: ops.foo.other,
        lambda: made.define("other::foo(Tensor x) -> Tensor"), lambda: lib.library.Library("x", "WHAT"),
        lambda: made.impl("foo", lambda x: x, "NOKEY"), lambda: made.impl("foo", 3),
    )  # fmt: skip
    tail, own = "(Error occurred", f"_{lib.__name__}"
    found = [[str(part).replace(own, "").partition(tail)[0] for part in attempt(call)] for call in calls]
    again = attempt(lambda: made.define("foo(Tensor x) -> Tensor"))
    return found, again[1], again[2].replace(own, "").partition(" Duplicate")[0], attempt(lambda: ops.kw(x))[1]


def kinds_of_kernels(lib):
    made, ops = library(lib, "kinds")
    made.define("comp(Tensor x) -> Tensor"), made.impl("comp", lambda x: x.sin() * 2, "CompositeImplicitAutograd")
    made.define("all(Tensor x) -> Tensor"), made.impl("all", lambda x: x.sin() * 2, "CompositeExplicitAutograd")
    made.define("ag(Tensor x) -> Tensor"), made.impl("ag", lambda x: x * 3, "CPU")

    class Tripled(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with lib._C._AutoDispatchBelowAutograd():
                return ops.ag(x)

        @staticmethod
        def backward(ctx, g):
            return g * 30

    made.impl("ag", Tripled.apply, "Autograd")
    found = []
    for op in (ops.comp, ops.ag):
        x = lib.ones(2, requires_grad=True)
        op(x).sum().backward()
        found.append(x.grad)
    return found, ops.comp(lib.ones(2, device="meta")).shape, ops.all(lib.ones(2, requires_grad=True)).requires_grad


def functions_of_the_module(lib):
    ns = named(lib, "functions")
    lib.library.define(f"{ns}::two", "(Tensor x, Tensor y) -> (Tensor, Tensor)")
    lib.library.impl(f"{ns}::two", "cpu")(lambda x, y: (x + y, x - y))
    two = getattr(lib.ops, ns).two
    lib.library.register_autograd(f"{ns}::two", lambda ctx, a, b: (a + 2 * b, a - b))
    lib.library.register_fake(f"{ns}::two")(lambda x, y: (lib.empty_like(x), lib.empty_like(x)))
    x = lib.ones(2, requires_grad=True)
    sum(two(x, x * 1)).sum().backward()
    meta = two(lib.ones(2, device="meta"), lib.ones(2, device="meta"))
    return x.grad, [one.shape for one in meta], lib.library.get_ctx()


def goes_away(lib):
    ns = named(lib, "away")
    with lib.library._scoped_library(ns, "FRAGMENT") as made:
        made.define("b(Tensor x) -> Tensor"), made.impl("b", lambda x: x + 1, "CPU")
        found = getattr(lib.ops, ns).b(lib.ones(1))
    return found, hasattr(getattr(lib.ops, ns), "b")


def autocasts(lib):
    made, ops = library(lib, "autocasts")
    made.define("ac(Tensor x, Tensor y) -> Tensor")
    made.impl("ac", lambda x, y: (x.float() + y.float()).to(x.dtype), "CPU")
    lib.library.register_autocast(ops.ac.default, "cpu", lib.bfloat16)
    with lib.autocast("cpu"):
        inside = str(ops.ac(lib.ones(2), lib.ones(2)).dtype)
    return inside, str(ops.ac(lib.ones(2), lib.ones(2)).dtype), attempt(
        lambda: lib.library.register_autocast(ops.ac.default, "tpu", lib.bfloat16))  # fmt: skip


def counts_writes(lib):
    @lib.library.custom_op("w::increased", mutates_args={"x"})
    def increased(x: lib.Tensor, by: float) -> None:
        x.numpy()[:] += by

    x, y = lib.zeros(2), lib.ones(2, requires_grad=True).exp()
    increased(x, 1.0)
    increased(y.detach(), 1.0)
    return x, x._version, attempt(y.sum().backward)[2].partition(" Hint")[0]


def sees_arrays(lib):
    @lib.library.custom_op("w::sine", mutates_args=())
    def sine(x: lib.Tensor) -> lib.Tensor:
        return lib.from_numpy(np.sin(x.numpy()))

    return sine(lib.tensor([1.0, 2.0])), lib.vmap(sine)(lib.tensor([[1.0, 2.0], [3.0, 4.0]]))


def checked(lib):
    sound = registered(lib)

    @lib.library.custom_op("w::unsound", mutates_args=())
    def unsound(x: lib.Tensor) -> lib.Tensor:
        x.add_(1)
        return x.clone()

    x = lib.tensor([1.0, 2.0], requires_grad=True)
    check = lib.library.opcheck
    unknown = attempt(lambda: check(sound, (x,), test_utils="test_nothing"))
    return check(sound, (x, 3.0)), attempt(lambda: check(unsound, (x.detach(),)))[1:], unknown[1]


def seen_by_modes(lib):
    sine = registered(lib)
    with logging_mode(lib) as mode:
        sine(lib.ones(2, requires_grad=True), 3.0).sum().backward()
    return mode.seen


def results_of_another_kind(lib):
    def one(annotation, kernel):
        one.count += 1
        kernel.__annotations__ = {"x": lib.Tensor, "return": annotation}
        op = lib.library.custom_op(f"w::kind{one.count}", kernel, mutates_args=())
        return attempt(lambda: op(lib.ones(2)))

    one.count = 0
    Tensor = lib.Tensor
    return (
        one(Tensor, lambda x: 3), one(Tensor, lambda x: [3]), one(tuple[Tensor, Tensor], lambda x: x * 2),
        one(list[Tensor], lambda x: 3), one(None, lambda x: x * 2), one(int, lambda x: 3.5), one(float, lambda x: 3),
        one(list[Tensor], lambda x: (x * 1,)), one(tuple[Tensor, int], lambda x: [x * 2, 2]),
        one(Tensor, lambda x: None),
    )  # fmt: skip


def kernels_of_another_kind(lib):
    made, ops = library(lib, "kernels")
    for name, returns in (("one", "Tensor"), ("two", "(Tensor, Tensor)"), ("none", "()")):
        made.define(f"{name}(Tensor x) -> {returns}")
        made.impl(name, lambda x: 3, "CPU")
    x = lib.ones(2)
    return [attempt(lambda: getattr(ops, name)(x)) for name in ("one", "two", "none")]  # noqa: B023 - called at once


def kernels_that_are_off(lib):
    op = lib.library.custom_op("w::off", lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor")
    op.register_kernel("cpu", lambda x: x * 3)
    with op.set_kernel_enabled("cpu", False):
        inside = op(lib.ones(1))
    return inside, op(lib.ones(1))


def names_that_are_not_there(lib):
    ops = lib.ops
    return (
        hasattr(ops, "no_such_library"), hasattr(ops.no_such_library, "op"), attempt(lambda: ops.no_such_library.op),
        attempt(lambda: lib.library.define("nameless", "(Tensor x) -> Tensor")),
    )  # fmt: skip


def declared_wrongly(lib):
    def written(x: lib.Tensor, n: int) -> lib.Tensor: ...

    op = registered(lib)
    mapped = lib.library.custom_op("w::mapped", lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor")
    mapped.register_vmap(lambda info, in_dims, x: x)
    return (
        attempt(lambda: lib.library.infer_schema(written, mutates_args=("n",))),
        attempt(lambda: op(lib.ones(2), "a")), attempt(lambda: lib.vmap(mapped)(lib.ones(2, 2))),
    )  # fmt: skip


def checks_of_pytorchs_own(lib):
    check, aten = lib.library.opcheck, lib.ops.aten
    return check(aten.sin.default, (lib.ones(2),)), attempt(lambda: check(aten.sin, (lib.ones(2),)))[:2]


@pytest.mark.parametrize("program", [
    defined, wrong_calls, kinds_of_kernels, functions_of_the_module, goes_away, autocasts, counts_writes, sees_arrays,
    checked, seen_by_modes, results_of_another_kind, kernels_of_another_kind, kernels_that_are_off,
    names_that_are_not_there, declared_wrongly, checks_of_pytorchs_own,
], ids=lambda program: program.__name__)  # fmt: skip
@pytest.mark.once("PyTorch registers a name once")
def test_libraries(program):
    agree(program)


def test_what_there_is_no_dispatcher_for():
    made = tapegrad.library.Library("w", "FRAGMENT")
    with pytest.raises(NotImplementedError, match="there is no dispatcher"):
        made.fallback(lambda: 0)
    with pytest.raises(NotImplementedError, match="only kernels of aten get dispatch keys"):
        made.impl("neg", lambda x: x, "CPU", with_keyset=True)

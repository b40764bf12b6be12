"""``autograd.functional`` on both: products and whole matrices, how results are nested, and what is refused."""

import forward_mode  # noqa: F401 - for what it does
import pytest
from harness import Programs, agree, attempt

import tapegrad

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()

PRODUCTS = ("vjp", "jvp")
SECOND = ("vhp", "hvp")


def vector(torch, *, grad=False):
    return torch.tensor([0.5, -1.0, 2.0], requires_grad=grad)


def other(torch, *, grad=False):
    return torch.tensor([1.5, 0.25, -0.5], requires_grad=grad)


def cube(x):
    return x * x * x


def pair(x, y):
    return x * y, (x * x).sum()


def total(x, y):
    return (x * x * y * x).sum()


def each_product(torch, *args, names=PRODUCTS, **options):
    functional = torch.autograd.functional
    return [attempt(lambda name=name: getattr(functional, name)(*args, **options)) for name in names]


def each_matrix(torch, *args, names=("jacobian", "hessian"), **options):
    return each_product(torch, *args, names=names, **options)


# Products -------------------------------------------------------------------------------------------------------------


@program
def products_of_one_input(torch):
    x, v = vector(torch), other(torch)
    return [
        each_product(torch, cube, x, v),
        each_product(torch, lambda x: (cube(x),), x, (v,))[0],
        each_product(torch, lambda x: x.sum(), x[:1]),
        each_product(torch, lambda x: x.cumsum(0), (x,), (v,)),
        each_product(torch, cube, x, v.double()),
    ]


@program
def products_of_two_inputs(torch):
    x, y = vector(torch), other(torch)
    return [
        each_product(torch, pair, (x, y), (y, torch.tensor(2.0)), names=["vjp"]),
        each_product(torch, pair, (x, y), (y, x), names=["jvp"]),
        each_product(torch, lambda x, y: x * x, (x, y), (y, x), names=["jvp"]),
        each_product(torch, lambda x, y: x * x, (x, y), y, names=["vjp"]),
        each_product(torch, total, (x, y), (y, x), names=SECOND),
        each_product(torch, lambda x, y: (x * x).sum(), (x, y), (y, x), names=SECOND),
    ]


@program
def products_with_a_hessian(torch):
    x, v = vector(torch), other(torch)
    return [
        each_product(torch, lambda x: cube(x).sum(), x, v, names=SECOND),
        each_product(torch, lambda x: cube(x), x[:1], names=SECOND),
        each_product(torch, lambda x: (x * 2).sum(), x, v, names=SECOND),
        each_product(torch, lambda x: torch.tensor(1.0), x, v, names=SECOND),
    ]


@program
def products_that_are_differentiable(torch):
    functional, account = torch.autograd.functional, []
    for name in PRODUCTS + SECOND:
        x, v = vector(torch, grad=True), other(torch, grad=True)
        function = cube if name in PRODUCTS else lambda x: cube(x).sum()
        out, product = getattr(functional, name)(function, x, v, create_graph=True)
        account += [out, product, torch.autograd.grad((product * product).sum(), [x, v]), x.grad, v.grad]
    return account


@program
def without_a_graph_of_the_inputs_there_is_none(torch):
    x, v = vector(torch), other(torch)
    grads = vector(torch, grad=True), other(torch, grad=True)
    return [
        each_product(torch, cube, x, v, create_graph=True),
        each_product(torch, cube, x, v, create_graph=True, strict=True),
        each_product(torch, cube, *grads),
        each_product(torch, cube, x, grads[1], create_graph=True),
    ]


@program
def vectors_that_do_not_fit(torch):
    x, v = vector(torch), other(torch)
    return [
        each_product(torch, cube, x, v[:2]),
        each_product(torch, cube, x, (v, v)),
        each_product(torch, cube, x),
        each_product(torch, cube, x, 3),
        each_product(torch, cube, x, [v]),
        each_product(torch, cube, x, (v, 3)),
        each_product(torch, pair, (x, x), (v, v)),
        each_product(torch, pair, (x, x), v),
        each_product(torch, pair, (x, x)),
        each_product(torch, lambda x: cube(x).sum(), x, v[:2], names=SECOND),
        each_product(torch, total, (x, x), (v, v[0]), names=SECOND),
        each_product(torch, total, (x, x), v, names=SECOND),
        each_product(torch, total, (x, x), names=SECOND),
        each_product(torch, cube, x, v + 0j),
    ]


ALL = (*PRODUCTS, *SECOND, "jacobian", "hessian")


@program
def inputs_and_outputs_of_other_kinds(torch):
    x = vector(torch)
    outputs = (3, None, [x], (x, 3), (), (x,), x[:0])
    return [
        *[each_product(torch, cube, given, names=ALL) for given in (3, [x], (x, 3))],
        *[each_product(torch, lambda x, out=out: out, x, x, names=PRODUCTS + SECOND) for out in outputs],
        *[each_matrix(torch, lambda x, out=out: out, x) for out in outputs],
        each_matrix(torch, lambda: x, ()),
    ]


@program
def integers_have_no_jacobian(torch):
    x = torch.tensor([1, 2])
    return [each_product(torch, cube, x, x), each_matrix(torch, cube, x)]


# Strict ---------------------------------------------------------------------------------------------------------------


@program
def strict_products(torch):
    x, v = vector(torch, grad=True), other(torch)
    constant, second = torch.tensor([1.0, 1.0, 1.0]), lambda x, y: y * y * y
    account = []
    for create_graph in (False, True):
        options = {"strict": True, "create_graph": create_graph}
        account += [
            each_product(torch, lambda x: constant, x, v, **options),
            each_product(torch, lambda x: x * 2, x, v, **options),
            each_product(torch, lambda x: x.clone(), x, v, **options),
            each_product(torch, second, (x, x), v, names=["vjp"], **options),
            each_product(torch, second, (x, x), (v, v), names=["jvp"], **options),
            each_product(torch, lambda x: (x, constant), x, v, names=["jvp"], **options),
            each_product(torch, lambda x: constant.sum(), x, v, names=SECOND, **options),
            each_product(torch, lambda x: (x * 2).sum(), x, v, names=SECOND, **options),
            each_product(torch, lambda x: (x * x).sum(), x, v, names=SECOND, **options),
            each_product(torch, lambda x: cube(x).sum(), x, v, names=SECOND, **options),
            each_product(torch, lambda x, y: (y * y).sum(), (x, x), (v, v), names=SECOND, **options),
            each_product(torch, lambda x, y: (x * 2 + y * y).sum(), (x, x), (v, v), names=SECOND, **options),
            each_product(torch, lambda x, y: (x * x + y * y).sum(), (x, x), (v, v), names=SECOND, **options),
        ]
    return account


@program
def strict_matrices(torch):
    x, account = vector(torch, grad=True), []
    for create_graph in (False, True):
        options = {"strict": True, "create_graph": create_graph}
        account += [
            each_matrix(torch, lambda x: torch.tensor(1.0), x, **options),
            each_matrix(torch, lambda x: (x * 2).sum(), x, **options),
            each_matrix(torch, lambda x: (x * x).sum(), x, **options),
            each_matrix(torch, lambda x: cube(x).sum(), x, **options),
            each_matrix(torch, lambda x, y: (y * y).sum(), (x, x), **options),
            each_matrix(torch, lambda x, y: (x * 2 + y * y).sum(), (x, x), **options),
            each_matrix(torch, lambda x, y: (x * y, y * y), (x, x), names=["jacobian"], **options),
            each_matrix(torch, lambda x: cube(x).sum(), x, vectorize=True, **options),
        ]
    return account


# Jacobians and Hessians -----------------------------------------------------------------------------------------------


def matrices_of_all_nestings(torch, **options):
    x, y = vector(torch), other(torch)
    return [
        each_matrix(torch, cube, x, names=["jacobian"], **options),
        each_matrix(torch, lambda x: (cube(x), x.sum()), x, names=["jacobian"], **options),
        each_matrix(torch, pair, (x, y), names=["jacobian"], **options),
        each_matrix(torch, lambda x, y: x * x, (x, y), names=["jacobian"], **options),
        each_matrix(torch, lambda x: (cube(x),), (x,), names=["jacobian"], **options),
        each_matrix(torch, lambda x: x[:2, None] * torch.ones(2, 3), x, names=["jacobian"], **options),
        each_matrix(torch, lambda x: torch.ones(2), x, names=["jacobian"], **options),
        each_matrix(torch, lambda x: (x * x, x.argmax()), x, names=["jacobian"], **options),
    ]


@program
def jacobians_by_rows(torch):
    return matrices_of_all_nestings(torch)


@program
def jacobians_in_one_batch(torch):
    return matrices_of_all_nestings(torch, vectorize=True)


@program
def jacobians_in_forward_mode(torch):
    return matrices_of_all_nestings(torch, vectorize=True, strategy="forward-mode")


@program
def hessians(torch):
    x, y, account = vector(torch), other(torch), []
    for options in ({}, {"vectorize": True}, {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}):
        account += [
            each_matrix(torch, lambda x: cube(x).sum(), x, names=["hessian"], **options),
            each_matrix(torch, total, (x, y), names=["hessian"], **options),
            each_matrix(torch, lambda x: cube(x).sum()[None, None], (x,), names=["hessian"], **options),
            each_matrix(torch, cube, x, names=["hessian"], **options),
            each_matrix(torch, lambda x: (x.sum(),), x, names=["hessian"], **options),
        ]
    return account


@program
def matrices_of_nothing(torch):
    nothing = torch.ones(0)
    x, forward = vector(torch), {"vectorize": True, "strategy": "forward-mode"}
    return [
        each_matrix(torch, lambda x: x * 2, nothing, names=["jacobian"]),
        each_matrix(torch, lambda x: x * 2, nothing, names=["jacobian"], vectorize=True),
        each_matrix(torch, lambda x: x * 2, nothing, names=["jacobian"], **forward),
        each_matrix(torch, lambda x: x[:0], x, names=["jacobian"], vectorize=True),
        each_matrix(torch, lambda x: x.sum(), nothing, names=["jacobian"]),
        each_matrix(torch, lambda x: x.sum(), nothing, names=["jacobian"], vectorize=True),
    ]


@program
def matrices_that_are_differentiable(torch):
    account, functional = [], torch.autograd.functional
    for options in ({}, {"vectorize": True}):
        x, y = vector(torch, grad=True), other(torch, grad=True)
        first = functional.jacobian(cube, x, create_graph=True, **options)
        second = functional.hessian(total, (x, y), create_graph=True, **options)
        account += [first, second, functional.jacobian(pair, (x, y.detach()), create_graph=True, **options)]
        account.append(torch.autograd.grad((first * first).sum(), x))
        account.append(torch.autograd.grad((second[0][0] * second[0][1]).sum(), [x, y]))
    return account


@program
def jacobians_of_jacobians(torch):
    jacobian, x = torch.autograd.functional.jacobian, vector(torch)[:2]
    twice = jacobian(lambda x: jacobian(cube, x, create_graph=True), x)
    return [twice, jacobian(lambda x: jacobian(lambda x: cube(x).exp(), x, create_graph=True), x, vectorize=True)]


@program
def history_of_a_forward_jacobian(torch):
    x = vector(torch, grad=True)
    options = {"vectorize": True, "strategy": "forward-mode"}
    found = torch.autograd.functional.jacobian(cube, x, **options)
    return [found, torch.autograd.grad(found.sum(), x), x.grad]


@program
def settings_that_do_not_go_together(torch):
    x, forward = vector(torch), {"strategy": "forward-mode"}
    outer = {"outer_jacobian_strategy": "forward-mode"}
    return [
        each_matrix(torch, cube, x, names=["jacobian"], strategy="sideways"),
        each_matrix(torch, cube, x, names=["hessian"], outer_jacobian_strategy="sideways"),
        each_matrix(torch, cube, x, names=["jacobian"], **forward),
        each_matrix(torch, cube, x, names=["jacobian"], create_graph=True, **forward),
        each_matrix(torch, cube, x, names=["jacobian"], strict=True, **forward),
        each_matrix(torch, cube, 3, names=["jacobian"], **forward),
        each_matrix(torch, lambda x: 3, x, names=["jacobian"], vectorize=True, **forward),
        each_matrix(torch, lambda x: [x], x, names=["jacobian"], vectorize=True, **forward),
        each_matrix(torch, lambda x: (), x, names=["jacobian"], vectorize=True, **forward),
        each_matrix(torch, lambda x: cube(x).sum(), x, names=["hessian"], **outer),
        each_matrix(torch, lambda x: cube(x).sum(), x, names=["hessian"], create_graph=True, **outer),
        each_matrix(torch, cube, x, names=["jacobian"], strict=True, vectorize=True),
        each_matrix(torch, cube, x, True, True, True, names=["jacobian"]),
    ]


# Complex numbers ------------------------------------------------------------------------------------------------------


@program
def complex_inputs(torch):
    z, v = torch.tensor([1 + 2j, -0.5j]), torch.tensor([2 - 1j, 1 + 1j])
    real = lambda z: (z * z * z.conj()).real.sum()
    return [
        each_product(torch, lambda z: z * z, z, v),
        each_product(torch, lambda z: z.conj() * z, z, v),
        each_product(torch, lambda z: z.abs(), z, v)[1],
        each_product(torch, real, z, v, names=SECOND),
        each_matrix(torch, lambda z: z * z, z, names=["jacobian"]),
        each_matrix(torch, lambda z: z * z, z, names=["jacobian"], vectorize=True),
        each_matrix(torch, lambda z: z * z, z, names=["jacobian"], vectorize=True, strategy="forward-mode"),
        each_matrix(torch, lambda z: z.real * z.imag, z, names=["jacobian"]),
        each_matrix(torch, real, z, names=["hessian"]),
        each_matrix(torch, real, z, names=["hessian"], vectorize=True),
    ]


# What is left behind --------------------------------------------------------------------------------------------------


@program
def the_inputs_are_left_alone(torch):
    x, y, seen = vector(torch, grad=True), other(torch), []

    def function(a, b):
        seen.append([a is x, a.is_leaf, a.requires_grad, b.requires_grad, b is y])
        a = a * 1
        a.mul_(b)
        return (a * b + x).sum()

    functional = torch.autograd.functional
    functional.vjp(function, (x, y))
    functional.vjp(function, (x, y), create_graph=True)
    functional.hessian(function, (x, y))
    functional.jvp(function, (x, y), (y, y))
    functional.vhp(function, (x, y), (y, y), create_graph=True)
    return [seen, x, y, x.grad, y.grad, x._version, y._version]


@program
def what_is_captured_is_no_input(torch):
    x = vector(torch, grad=True)
    out, product = torch.autograd.functional.vjp(lambda y: x * y, x, other(torch), create_graph=True)
    return [product, torch.autograd.functional.jacobian(lambda y: x * x, x), out]


@program
def an_input_written_to_in_place(torch):
    x = vector(torch)
    account = each_product(torch, lambda a: a.mul_(2), x, x)
    account += each_product(torch, lambda a: (a * 1).mul_(a), x, x)
    return [*account, x, x._version]


@program
def modes_are_restored(torch):
    x, account = vector(torch, grad=True), []

    def fails(x):
        raise ValueError("mine")

    for mode in (torch.enable_grad, torch.no_grad):
        with mode():
            account += [attempt(lambda n=n: getattr(torch.autograd.functional, n)(fails, x)) for n in ALL]
            account.append(each_matrix(torch, fails, x, vectorize=True, strategy="forward-mode", names=["jacobian"]))
            account += [torch.is_grad_enabled(), torch.autograd.forward_ad._current_level]
    return account


@program
def in_no_grad(torch):
    x, v = vector(torch, grad=True), other(torch)
    scalar = lambda x: cube(x).sum()
    with torch.no_grad():
        return [
            each_product(torch, cube, x, v),
            each_product(torch, cube, x, v, create_graph=True),
            each_product(torch, scalar, x, v, names=SECOND, create_graph=True),
            each_matrix(torch, scalar, x),
            each_matrix(torch, scalar, x, create_graph=True),
            each_matrix(torch, cube, x, names=["jacobian"], vectorize=True, strategy="forward-mode"),
        ]


@program
def in_inference_mode(torch):
    x = vector(torch)
    with torch.inference_mode():
        return [each_product(torch, cube, x, x), each_matrix(torch, lambda x: cube(x).sum(), x)]


@program
def inside_a_dual_level(torch):
    functional, forward_ad = torch.autograd.functional, torch.autograd.forward_ad
    options = {"vectorize": True, "strategy": "forward-mode"}
    with forward_ad.dual_level():
        x = forward_ad.make_dual(vector(torch), other(torch))
        out = functional.vjp(cube, x, other(torch))[1]
        kept = functional.vjp(cube, forward_ad.make_dual(vector(torch, grad=True), other(torch)), x, create_graph=True)
        account = [attempt(lambda: functional.jacobian(cube, x, **options)), list(forward_ad.unpack_dual(out))]
        account.append([part for one in kept for part in forward_ad.unpack_dual(one)])
        return [*account, functional.jacobian(cube, x)]


# Gradients in a batch -------------------------------------------------------------------------------------------------


@program
def gradients_in_a_batch(torch):
    x, y, rows = vector(torch, grad=True), other(torch, grad=True), torch.eye(3)

    def batched(outputs, inputs, seeds, **options):
        def run():
            found = torch.autograd.grad(outputs, inputs, seeds, is_grads_batched=True, **options)
            parts = found.items() if isinstance(found, dict) else enumerate(found)
            return [[key, one is not None and [one.detach(), one.requires_grad]] for key, one in parts]

        return attempt(run)

    product = x * y
    z = torch.tensor([1 + 1j, 2j], requires_grad=True)
    return [
        batched((x * x, x.exp()), x, (rows, rows[[1, 0, 2]])),
        batched((x * x, x.exp()), x, (rows, rows[:2])),
        batched((x * x, x.sum()), (x, y), (rows, rows[0])),
        batched((x * x, x.sum()), (x, y), (rows, rows[0]), allow_unused=True),
        batched((x * x, x.sum()), (x, y), (rows, rows[0]), materialize_grads=True),
        batched(x * y * y, {"a": x, "b": y}, rows, create_graph=True),
        batched(product, x, rows, retain_graph=True),
        batched(product, x, rows),
        batched(product, x, rows),
        batched(x, x, rows),
        batched(x.detach(), x, rows),
        batched((x * x, x.sum()), x, (rows, None)),
        batched(x * x, x, rows[:0]),
        batched(x * x, x, rows.double()),
        batched(x * x, x, rows + 0j),
        batched(x * x, x, rows.clone().requires_grad_()),
        batched(x * x, x, rows.clone().requires_grad_(), create_graph=True),
        batched(z * z, z, torch.eye(2) + 0j),
        batched(z.abs(), z, torch.eye(2)),
    ]


VECTORIZED = ({"vectorize": True, "strategy": "forward-mode"}, {"vectorize": True}, {})
SEEN_IN_A_COLUMN = {
    "counted": lambda torch, x, held: x * x,
    "a write": lambda torch, x, held: (held.add_(1), x * held)[1],
    "a write of the input": lambda torch, x, held: x.mul_(2) * held,
    "statistics": lambda torch, x, held: torch.batch_norm(
        x.view(-1, 1), None, None, held[:1], held[1:2], True, 0.1, 1e-5, False
    ),
    "a number": lambda torch, x, held: x * x.sum().item(),
    "a branch": lambda torch, x, held: x * 3 if x.sum() > 0 else x,
    "a constant": lambda torch, x, held: torch.ones(2),
    "nothing": lambda torch, x, held: x[:0],
    "several": lambda torch, x, held: (x.sum(), x[1:] @ x[1:], x.exp()),
    "random": lambda torch, x, held: x * torch.rand(3).ge(-1),
    "of the kind": lambda torch, x, held: 3,
}  # fmt: skip


@pytest.mark.parametrize("name", SEEN_IN_A_COLUMN)
def test_how_often_the_function_is_called_and_what_it_writes(name):
    """Once, by every strategy of ``jacobian``, and by all products."""

    def one(torch, settings):
        calls, held, x, functional = [], torch.ones(3), vector(torch), torch.autograd.functional

        def f(x):
            calls.append(tuple(x.shape))
            return SEEN_IN_A_COLUMN[name](torch, x, held)

        if isinstance(settings, dict):
            found = attempt(lambda: functional.jacobian(f, x, **settings))
        else:
            found = attempt(lambda: getattr(functional, settings)(f, x, vector(torch)))
        return [found, calls, held, held._version, x, x._version]

    agree(lambda torch: [one(torch, settings) for settings in (*VECTORIZED, *PRODUCTS)], rtol=1e-5, atol=1e-6)


def custom_functions(torch):
    class Old(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return 2 * grad * ctx.saved_tensors[0]

        @staticmethod
        def jvp(ctx, tangent):
            return 2 * tangent * ctx.saved_tensors[0]

    class New(Old):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

    class Mapped(New):
        generate_vmap_rule = True

    return Old, New, Mapped


def test_custom_functions_in_a_batch_of_tangents():
    def run(torch):
        functional, account = torch.autograd.functional, []
        for function in custom_functions(torch):
            for x in (vector(torch), vector(torch, grad=True)):
                loss = lambda x, f=function: (f.apply(x) * x).sum()
                account.append(functional.jacobian(lambda x, f=function: f.apply(x) * x, x, **VECTORIZED[0]).detach())
                found = functional.hessian(loss, x, vectorize=True, outer_jacobian_strategy="forward-mode")
                account.append([found.detach(), functional.hessian(loss, x, vectorize=True)])
        return account

    agree(run)


def test_the_standard_basis():
    def run(torch):
        basis = torch.autograd.functional._construct_standard_basis_for
        pair = torch.ones(2), torch.ones(1, 3, dtype=torch.float64)
        return [basis(pair, (2, 3)), basis(pair[:1], (2,)), attempt(lambda: basis(pair, (2,))),
                attempt(lambda: basis((), ()))]  # fmt: skip

    agree(run)


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.__name__ for program in PROGRAMS])
def test_programs(program):
    agree(program, rtol=1e-5, atol=1e-6)


INTO_CAPTURED = {
    "added": lambda b, x: b.add_(x), "copied": lambda b, x: b.copy_(x * x),
    "an element": lambda b, x: b[:1].copy_(x[:1]),
    "all": lambda b, x: b.__setitem__(..., x.sin()), "a constant": lambda b, x: b.add_(1).mul_(x).add_(x),
}  # fmt: skip


@pytest.mark.parametrize("name", INTO_CAPTURED)
def test_columns_of_functions_that_write_to_captured_tensors(name):
    def program(torch):
        seen, functional = [], torch.autograd.functional
        for take in (
            lambda f, x: functional.jacobian(f, x, strategy="forward-mode", vectorize=True),
            lambda f, x: functional.hessian(f, x, outer_jacobian_strategy="forward-mode", vectorize=True),
        ):
            buffer, x = torch.zeros(3), torch.tensor([1.0, 2.0, 3.0])

            def cubes(x, buffer=buffer):
                INTO_CAPTURED[name](buffer, x)
                return (x**3).sum()

            seen += [take(cubes, x), buffer.detach(), buffer.requires_grad, buffer._version]
        return seen

    agree(program)


@pytest.mark.parametrize("read", [lambda b, x: b * x, lambda b, x: b, lambda b, x: x + b.sum(), lambda b, x: x + b[0]])
def test_what_was_captured_and_written_to_is_not_read_in_forward_mode(read):
    buffer = tapegrad.zeros(3)
    with pytest.raises(RuntimeError, match="has no tangents here"):
        tapegrad.autograd.functional.jacobian(
            lambda x: read(buffer.add_(x), x), tapegrad.ones(3), strategy="forward-mode", vectorize=True
        )

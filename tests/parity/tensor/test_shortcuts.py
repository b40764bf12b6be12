"""Public functions that were called so before: what the short way gives, and where it must not be taken.

Every program makes calls of one kind several times, for only the first go the long way: Note [Calls of functions].
"""

import pytest
from harness import Programs, agree, attempt, warned

import tapegrad
from tapegrad.execution import clear_caches
from tapegrad.ops.operator import function_calls

pytestmark = pytest.mark.parity


@pytest.fixture(autouse=True)
def nothing_rests():
    """Functions whose calls had no shortcut for long, in other tests, are looked at again."""
    clear_caches()


PROGRAMS = program = Programs()


def often(function, *args, **kwargs):
    """What a function gives, or refuses, several times."""
    return [attempt(lambda: shown(function(*args, **kwargs))) for _ in range(5)]


def shown(result):
    node = result.grad_fn
    return result.tolist(), str(result.dtype), result.requires_grad, None if node is None else type(node).__name__


@program
def values_and_gradients(torch):
    x, w = (torch.tensor(rows, requires_grad=True) for rows in ([[1.0, -2.0], [0.5, 3.0]], [[0.5, 1.0]]))
    seen, linear = [], torch.nn.functional.linear
    for _ in range(5):
        hidden = torch.maximum(x.relu(), x.tanh().clamp(-1, 0.25)) + linear(x, w)
        loss = hidden.softmax(1).sum(dim=0, keepdim=True).mean() + linear(x, w, None).sum()
        loss.backward()
        seen.append((shown(loss), x.grad.tolist(), w.grad.tolist()))
    return seen


@program
def shapes_as_arguments(torch):
    x = torch.tensor([[1.0, -2.0], [0.5, 3.0]], requires_grad=True)
    norm = torch.nn.functional.layer_norm
    return [often(norm, x, given) for given in (x.shape[1:], x.shape, (2,), torch.Size([3]))]


VIEWS = [
    ("view", (6,)), ("view", (-1,)), ("view", ((3, -1),)), ("reshape", (3, 2)), ("flatten", ()),
    ("reshape", (7,)), ("reshape", (2, 1, 3)),
    ("flatten", (0, 5)), ("unflatten", (1, (1, 3))), ("squeeze", (0,)), ("squeeze", ()), ("unsqueeze", (-1,)),
    ("transpose", (0, 1)), ("transpose", (0, 2)), ("t", ()), ("permute", (1, 0)), ("movedim", (0, -1)),
    ("expand", (2, 2, 3)), ("expand", (4, 3)), ("unbind", (1,)), ("unbind", (True,)), ("split", (2, 1)),
    ("split", ([1, 2], 1)), ("split", (-1, 1)), ("chunk", (2, 1)), ("chunk", (0,)), ("select", (0, -1)),
    ("select", (0, 2)), ("narrow", (1, 1, 2)), ("diagonal", ()), ("__getitem__", (slice(1, None),)),
    ("__getitem__", (slice(True, None),)), ("__getitem__", (slice(None, None, 0),)), ("__getitem__", (1,)),
    ("__getitem__", (2,)), ("__getitem__", (-1.0,)), ("__getitem__", (True,)), ("__getitem__", ((0, slice(1, 3)),)),
    ("__getitem__", ([1, 0],)), ("__getitem__", ((slice(None), None),)), ("__getitem__", ((1, 2),)),
    ("__getitem__", ((1, -4),)), ("__getitem__", ((..., 0),)), ("__getitem__", ((0, None, slice(1, None)),)),
    ("__getitem__", ((None, slice(1, None), 1),)), ("__getitem__", ((slice(None), [1, 0], 0)[::2],)),
]  # fmt: skip


def told_of_view(base, x, name, given):
    """All that can be seen of what a view function gives, or refuses, and of writes through it."""

    def made():
        results = getattr(x, name)(*given)
        seen = []
        for result in results if isinstance(results, tuple) else (results,):
            node = result.grad_fn
            seen.append((shown(result), result.stride(), result.storage_offset(), result._version, result.is_leaf))
            seen.append(
                (result._base is base, result._is_view(), node and [edge[0].name() for edge in node.next_functions])
            )
            seen.append(attempt(lambda result=result: result.mul_(2).tolist()))
            seen.append(
                (x.tolist(), base.tolist(), base._version, attempt(lambda result=result: result.grad_fn.name()))
            )
        return seen

    return attempt(made)


@program
def views(torch):
    def tensors():
        x = torch.arange(6.0).view(2, 3)
        leaf = torch.arange(6.0).reshape(2, 3).clone().requires_grad_()
        made, wide = leaf * 1, torch.arange(12.0)
        part = wide[6:].view(2, 3)
        turned = torch.arange(6.0).view(3, 2).t()
        detached = x.detach()
        return [(x._base, x), (leaf, leaf), (made, made), (wide, part), (turned._base, turned), (x._base, detached)]

    seen = []
    for name, given in VIEWS:
        if torch is tapegrad:
            clear_caches()  # else functions back off, for what is refused is not kept
        for _ in range(5):
            seen += [told_of_view(base, x, name, given) for base, x in tensors()]
            with torch.no_grad():
                seen += [told_of_view(base, x, name, given) for base, x in tensors()]
    with torch.inference_mode():
        seen += [shown(x.t()) for _ in range(5) for _, x in tensors()]
    return seen


@program
def gradients_through_views(torch):
    x, seen = torch.tensor([[1.0, -2.0], [0.5, 3.0]], requires_grad=True), []
    for step in range(5):
        first, second = (x * x).chunk(2, 1)
        total = (first.squeeze(1) * x[0]).sum() + x.t()[1].view(2, 1).expand(2, 3).sum() + second.reshape(-1)[1:].sum()
        y = x * step
        y.view(-1)[1:3].mul_(2)
        (total + y.t().sum()).backward()
        seen.append((total.item(), x.grad.tolist()))
        x.data[0, 0] += 1
    return seen


@program
def numbers_that_are_equal_are_not_the_same(torch):
    x, seen = torch.tensor([[1, -2], [0, 3]]), []
    for given in (1, True, 1.0, 0, 0.0, -0.0, False, -0.0):
        seen.append(often(torch.add, x, given))
        seen.append(often(torch.clamp, x.float(), given))
        seen.append([value.reciprocal().tolist() for value in [x.float().mul(given) for _ in range(4)]])
        seen.append(often(x.sum, given))
        seen.append(often(x.cumsum, given))
    return seen


@program
def tensors_in_lists(torch):
    x, y, seen = torch.tensor([[1.0, 2.0]], requires_grad=True), torch.tensor([[3.0, -4.0]]), []
    for tensors in ([x, y], (x, y), [y, x], [x], [x, y, x], [y, y], []):
        for dim in (0, 1, True, -1):
            seen += often(torch.cat, tensors, dim) + often(torch.stack, tensors, dim)
        seen += often(torch.cat, tensors=tensors) + often(torch.cat, tensors, dim=1)
    for _ in range(4):
        torch.cat([x, y, torch.ones(0)], 1).sum().backward()
    for shape in ((2,), [2], (1, 2)):
        seen += often(torch.nn.functional.layer_norm, y, shape) + often(x.sum, shape) + often(x.sum, (0, 1))
    return seen, x.grad.tolist()


@program
def what_is_refused_is_refused_always(torch):
    for _ in range(4):
        torch.relu(torch.ones(2))
    seen = [often(torch.relu, torch.tensor([True])), often(torch.relu, 1.0), often(torch.relu, [torch.ones(2)])]
    seen.append(often(torch.maximum, torch.ones(2), torch.ones(2, dtype=torch.complex64)))
    return [*seen, often(torch.softmax, torch.ones(2), 1), often(torch.ones(2).sum, 7)]


@program
def what_is_refused_of_elements(torch):
    x, one, zero, seen = torch.tensor([5, 6]), torch.tensor([1, 2]), torch.tensor([1, 0]), []
    for name in ("floor_divide", "remainder", "fmod", "div"):
        named = {"rounding_mode": "floor"} if name == "div" else {}
        seen += often(getattr(torch, name), x, one, **named) + often(getattr(torch, name), x, zero, **named)
    return seen


@program
def the_default_dtype_changes(torch):
    seen, before = [], torch.get_default_dtype()
    try:
        for dtype in (torch.float32, torch.float64, torch.float32):
            torch.set_default_dtype(dtype)
            seen += often(torch.tensor([1, 2]).exp) + often(torch.mul, torch.tensor([1, 2]), 2.5)
    finally:
        torch.set_default_dtype(before)
    return seen


@program
def modes_that_are_switched_on_later(torch):
    x, seen = torch.tensor([0.5, 2.0], requires_grad=True), []
    y, w = x.detach().clone(), torch.ones(2, 2)
    for _ in range(3):
        for mode in (torch.enable_grad(), torch.no_grad(), torch.inference_mode()):
            with mode:
                seen += often(torch.exp, x) + often(torch.add, x, y)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            seen += often(torch.mm, w, w) + often(torch.exp, x) + often(torch.nn.functional.linear, w, w)
        seen += often(torch.mm, w, w)
    return seen


@program
def who_overrides_functions_is_asked(torch):
    class Own(torch.Tensor):
        pass

    class Told(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            names.append(func.__name__)
            return func(*args, **(kwargs or {}))

    names, x = [], torch.ones(2)
    own, kinds = x.as_subclass(Own), []
    for _ in range(3):
        for _ in range(4):
            x.relu(), torch.maximum(x, x)
        with Told():
            x.relu(), torch.maximum(x, x)
        kinds += [type(one).__name__ for one in (own.relu(), torch.maximum(x, own), x.relu()) for _ in range(4)]
    return names, kinds


@program
def results_in_given_tensors_and_in_place(torch):
    x, target = torch.tensor([1.0, -1.0]), torch.zeros(2)
    seen = [torch.exp(x, out=target) is target for _ in range(5)]
    seen += [torch.nn.functional.relu(x.clone(), inplace=True).tolist() for _ in range(5)]
    held = torch.ones(2)
    seen += [torch.nn.functional.relu(held, True) is held for _ in range(5)]
    return seen, target.tolist(), held._version


@program
def calls_that_warn_each_time(torch):
    x, signal = torch.tensor([0.25, 0.5]), torch.ones(1, 2, 4)
    always = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        return [
            warned(lambda: torch.where(x.byte(), x, x))
            + warned(lambda: torch.nn.functional.conv1d(signal, torch.ones(1, 2, 2), padding="same"))
            for _ in range(6)
        ]
    finally:
        torch.set_warn_always(always)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_program(function):
    agree(function)


SHORT = [
    ("relu", ()), ("maximum", (1.0,)), ("sum", (0,)), ("clamp", (-1, 0.5)), ("chunk", (2,)), ("view", (7, 1)),
    ("__getitem__", (slice(1, 4),)),
]  # fmt: skip


@pytest.mark.parametrize(("method", "given"), SHORT)
def test_calls_that_come_again_take_the_short_way(method, given):
    x = tapegrad.ones(7)
    operands = [tapegrad.ones(7) if method == "maximum" else number for number in given]
    for _ in range(4):
        getattr(x, method)(*operands)
    assert [kind for kind in function_calls.values() if kind is not None]
    kinds = [kind for kind in function_calls.recent if kind[0].__name__ in (method, "function") and kind[2] is x._spec]
    assert kinds


def test_lengths_that_are_new_are_not_looked_at_until_calls_come_again():
    lengths = [tapegrad.ones(n) for n in range(1, 200)]
    for _ in range(4):
        values = [x.sinh() for x in lengths[:100]]
    assert len(function_calls) < 50, "a function of which no call has come back for long rests"
    for _ in range(200):
        values = [x.sinh() for x in lengths[:3]]
    kinds = [kind for kind in function_calls.recent if kind[0].__name__ == "sinh"]
    assert {kind[2] for kind in kinds} >= {x._spec for x in lengths[:3]}
    assert [value.tolist() for value in values] == [pytest.approx([1.1752012] * n) for n in (1, 2, 3)]


def test_numbers_that_are_never_the_same_are_not_kept():
    x, before = tapegrad.ones(9), len(function_calls)
    for number in range(50):
        x.clamp(-number, number / 7).mul(number / 3)
    assert len(function_calls) == before

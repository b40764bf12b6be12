"""What compiled steps return, and write to, in inference mode and out of it: what PyTorch gives without compiling."""

import pytest
from harness import agree

import tapegrad

CALLS = 4

pytestmark = pytest.mark.once("a compiled step is recorded in either mode")


def compiled(torch, step):
    return torch.compile(step) if torch is tapegrad else step


def seen(torch, given):
    """What a user sees of what a step returns."""
    if isinstance(given, torch.Tensor):
        version = None if given.is_inference() else given._version
        kept = [given.is_inference(), given._is_view(), version, given.requires_grad, given.is_leaf]
        return [given.detach().numpy().copy(), list(given.stride()), given.storage_offset(), kept]
    if isinstance(given, (tuple, list)):
        tensors = [one for one in given if isinstance(one, torch.Tensor)]
        return [[seen(torch, one) for one in given], len({id(one) for one in tensors})]
    return {key: seen(torch, one) for key, one in given.items()} if isinstance(given, dict) else given


def in_inference(torch, function):
    def step(x):
        with torch.inference_mode():
            return function(x)

    return step


OF_NEW = {
    "detached": lambda y: y.detach(),
    "a view": lambda y: y[1:],
    "a view of a view": lambda y: y[1:][:1],
    "of another shape": lambda y: y.view(3, 1).t(),
    "expanded": lambda y: y.sum().expand(3),
    "data": lambda y: y.data,
    "a view of data": lambda y: y.data[1:],
    "twice": lambda y: (y, y),
    "with views": lambda y: (y, y[1:], y.view(3, 1)),
    "views alone": lambda y: (y[1:], y[:1]),
    "in pieces": lambda y: list(y.unbind()),
    "containers": lambda y: {"none": None, "number": 1.5, "more": [y + 1, (y, "text", None)]},
    "written": lambda y: (y.add_(1), y)[1],
    "written by a view": lambda y: (y[1:].add_(1), y)[1],
    "a written view": lambda y: (y[1:].add_(1), y[1:])[1],
}
OF_OLD = {
    "itself": lambda x: x,
    "a view of it": lambda x: x[1:],
    "detached from it": lambda x: x.detach(),
    "its data": lambda x: x.data,
    "it, expanded": lambda x: x[:1].expand(3),
}


@pytest.mark.parametrize("inference", [False, True], ids=["recording", "inference"])
@pytest.mark.parametrize("what", [*OF_NEW, *OF_OLD])
def test_what_is_returned(what, inference):
    def program(torch):
        def made(x):
            return OF_NEW[what](x * 2) if what in OF_NEW else OF_OLD[what](x)

        step = compiled(torch, in_inference(torch, made) if inference else made)
        return [seen(torch, step(torch.tensor([1.0, 2.0, 3.0]))) for _ in range(CALLS)]

    agree(program)


def test_what_was_made_in_inference_mode_leaves_it():
    def program(torch):
        doubled = in_inference(torch, lambda x: x * 2)
        step = compiled(torch, lambda x: (doubled(x).detach(), doubled(x)[1:]))
        alone = compiled(torch, lambda x: doubled(x).detach())
        x = torch.tensor([1.0, 2.0, 3.0])
        return [[seen(torch, step(x)), seen(torch, alone(x))] for _ in range(CALLS)]

    agree(program)


@pytest.mark.parametrize("place", ["whole", "part", "rebound"])
def test_a_state_made_in_inference_mode_is_written_to_in_it(place):
    def program(torch):
        with torch.inference_mode():
            states = [torch.zeros(3)]

        def step(x):
            with torch.inference_mode():
                if place == "whole":
                    states[0].add_(x)
                elif place == "part":
                    states[0][1:].add_(x[1:])
                else:
                    states[0] = states[0] + x
                return states[0] * 2

        step = compiled(torch, step)
        return [[seen(torch, step(torch.ones(3))), seen(torch, states[0])] for _ in range(CALLS)]

    agree(program)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.* is deprecated")
def test_tangents_and_what_had_them():
    def program(torch):
        forward = torch.autograd.forward_ad

        def step(x):
            with forward.dual_level():
                dual = forward.make_dual(x * 1, torch.ones(3))
                square = dual * dual
                return forward.unpack_dual(square).tangent, square.detach()

        step = compiled(torch, step)
        return [[one.numpy() for one in step(torch.tensor([1.0, 2.0, 3.0]))] for _ in range(CALLS)]

    agree(program)

"""Nested tensors, beside PyTorch's: seeds and gradients of theirs, dense tensors beside them, parts that are none."""

import re

import pytest
from harness import agree, attempt

pytestmark = [pytest.mark.parity, pytest.mark.once("texts and layouts: nothing depends on the order")]


def nested(torch, *lengths):
    parts = [torch.arange(2.0 * n, dtype=torch.float64).view(n, 2) for n in lengths]
    return torch.nested.nested_tensor(parts, layout=torch.jagged, requires_grad=True)


def shown(found):
    """What an action gave or raised, with one name for all ragged lengths."""
    return re.sub(r"j\d+", "j", repr(found)).replace("tapegrad", "torch")


SEEDS = {
    "values": lambda torch, y: y.sin().backward(torch.ones(6, 2)),
    "others": lambda torch, y: y.sin().backward(nested(torch, 1, 2, 3).detach()),
    "of grad": lambda torch, y: torch.autograd.grad(y.sin(), y, torch.ones(6, 2)),
    "of several": lambda torch, y: torch.autograd.backward([y.sin()], [torch.ones(6, 2)]),
    "their own": lambda torch, y: (y.sin().backward(torch.ones_like(y)), y.grad)[1],
}

DENSE = {
    "too short": lambda torch, x: x + torch.ones(3, 2, 2),
    "too long": lambda torch, x: x * torch.ones(3, 5, 2),
    "too short before": lambda torch, x: torch.ones(3, 2, 1) - x,
    "transposed": lambda torch, x: x.transpose(1, 2) + torch.ones(3, 2, 2),
    "as long": lambda torch, x: (x + torch.ones(3, 3, 2)).values().tolist(),
    "of one row": lambda torch, x: (x + torch.ones(3, 1, 2)).values().tolist(),
    "a new one": lambda torch, x: x.new_tensor([1, 2]).dtype.is_floating_point,
}

PARTS = {
    "a list of offsets": lambda torch, x: torch.nested.nested_tensor_from_jagged(torch.ones(2), [0, 2]),
    "a list of values": lambda torch, x: torch.nested.nested_tensor_from_jagged([1.0], torch.tensor([0, 1])),
    "a list of lengths": lambda torch, x: torch.nested.nested_tensor_from_jagged(x.values(), x.offsets(), [1]),
}


@pytest.mark.parametrize("name", [*SEEDS, *DENSE, *PARTS])
def test_what_fits(name):
    program = {**SEEDS, **DENSE, **PARTS}[name]
    agree(lambda torch: shown(attempt(lambda: program(torch, nested(torch, 2, 3, 1)))))


def test_gradients_of_sums_have_memory_of_their_own():
    def program(torch):
        y, seen = nested(torch, 2, 1), []
        y.register_hook(seen.append)
        found = torch.autograd.grad(y.sum(), y)[0]
        y.transpose(1, 2).sum().backward()
        return [shown(one) for one in (found, *seen)]

    agree(program)

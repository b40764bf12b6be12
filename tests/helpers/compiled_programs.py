"""Programs for ``test_compile.py``, each run plainly and compiled, with all that can be seen compared."""

import numpy as np
from leaves import leaf

import tapegrad as torch

RTOL = 1e-5

X = torch.tensor([[0.5, -1.0], [2.0, 0.25], [1.0, 1.0]])
Y = torch.tensor([[1.0], [0.0], [2.0]])


def seen(thing):
    """What a user can see of a thing."""
    if isinstance(thing, torch.Tensor):
        name = None if thing.grad_fn is None else type(thing.grad_fn).__name__
        version = None if thing.is_inference() else thing._version
        marks = thing.requires_grad, thing.is_leaf, version, name, str(thing.dtype), tuple(thing.shape)
        return thing.detach().numpy().copy(), marks, seen(thing.grad) if thing.is_leaf else None
    if isinstance(thing, dict):
        return {key: seen(value) for key, value in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [seen(value) for value in thing]
    if callable(thing):
        return seen(thing())
    return thing


def agree(ours, plain, where):
    """Assert that the same was seen; numbers up to rounding, for XLA fuses what is one program."""
    assert type(ours) is type(plain), (where, ours, plain)
    if isinstance(plain, np.ndarray):
        np.testing.assert_allclose(ours, plain, rtol=RTOL, atol=RTOL / 10, err_msg=where, strict=True)
    elif isinstance(plain, (list, tuple)):
        assert len(ours) == len(plain), (where, ours, plain)
        for index, pair in enumerate(zip(ours, plain, strict=True)):
            agree(*pair, f"{where}[{index}]")
    elif isinstance(plain, dict):
        assert list(ours) == list(plain), (where, ours, plain)
        for key in plain:
            agree(ours[key], plain[key], f"{where}[{key!r}]")
    elif isinstance(plain, str):
        assert ours == plain or ours == "CompiledFunctionBackward", (where, ours, plain)
    else:
        assert ours == plain or abs(ours - plain) < 1e-6 * abs(plain), (where, ours, plain)


def trace(program, wrap, calls):
    """What is seen after each call of a program that is wrapped in something."""
    torch.manual_seed(3)
    step, state = program(wrap)
    found = []
    for number in range(calls):
        result = step(number)
        found.append(seen([result, state, torch.get_rng_state(), torch.is_grad_enabled()]))
    return found


def compare(program, calls=6, replayed=None, **options):
    """Run a program plainly and compiled; ``replayed`` says whether calls must have been replayed, or must not have."""
    made = []

    def wrap(function):
        made.append(torch.compile(function, **options))
        return made[-1]

    plain = trace(program, lambda function: function, calls)
    ours = trace(program, wrap, calls)
    for number, (one, other) in enumerate(zip(ours, plain, strict=True)):
        agree(one, other, f"call {number}")
    if replayed is not None:
        assert bool(made[0].replayed) is replayed, made[0].report()
    return made[0]


def model():
    return [torch.tensor([[0.3], [-0.2]], requires_grad=True), leaf([0.1])]


def loss_of(parameters, x=X, y=Y):
    weight, bias = parameters
    return ((x @ weight + bias - y) ** 2).mean()


def clear(parameters):
    for p in parameters:
        p.grad = None


def descend(parameters, rate=0.1):
    with torch.no_grad():
        for p in parameters:
            p.sub_(p.grad * rate)

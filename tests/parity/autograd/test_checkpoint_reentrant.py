"""``torch.utils.checkpoint`` with ``use_reentrant=True``, and in segments."""

import warnings

import pytest
from checkpoints import checkpoint_of, counted, leaf, name_of
from harness import agree, attempt

# -- reentrant ---------------------------------------------------------------------------------------------------------


def reentrant(torch, function, *args, **options):
    return torch.utils.checkpoint.checkpoint(function, *args, use_reentrant=True, **options)


def reentrant_gradients(torch):
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    function, calls = counted(lambda x, y, n: ((x * y).sin() * n, y.exp()))
    a, b = reentrant(torch, function, x, y, 2.0)
    seen = [len(calls), a.grad_fn.name(), b.requires_grad]
    (a + b).sum().backward()
    return a, b, seen, len(calls), x.grad, y.grad


def reentrant_grad(torch):
    x = leaf(torch, 1.0)
    out = reentrant(torch, lambda x: x.sin().exp(), x)
    seen = [
        attempt(lambda: torch.autograd.grad(out, x, retain_graph=True)),
        attempt(lambda: out.backward(inputs=[x], retain_graph=True)),
    ]
    out.backward()
    return seen, x.grad


def reentrant_nested(torch):
    x = leaf(torch, 1.0)
    function, calls = counted(lambda x: x.sin().exp())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # inside of the first run nothing requires grad
        out = reentrant(torch, lambda x: reentrant(torch, function, x.cos()).tan(), x)
    out.backward()
    return out, x.grad, len(calls)


def reentrant_nothing_requires_grad(torch):
    x = leaf(torch, 1.0)

    def function(x):
        with torch.no_grad():
            return x.sin()

    return attempt(reentrant(torch, function, x).backward)


def reentrant_some_outputs(torch):
    x = leaf(torch, 1.0)
    a, b, c = reentrant(torch, lambda x: (x.sin(), 3, x.detach().exp()), x)
    a.backward()
    return a, b, c, x.grad


def reentrant_dropout(torch):
    x = torch.ones(50, requires_grad=True)
    torch.manual_seed(3)
    out = reentrant(torch, lambda x: torch.nn.functional.dropout(x, 0.5, True).exp(), x)
    out.sum().backward()
    expected = torch.where(out.detach() > 1.5, 2 * out.detach(), torch.zeros(50))
    return bool((x.grad == expected).all())


def reentrant_and_recorded(torch):
    x = leaf(torch, 1.0)
    out = checkpoint_of(torch)(lambda x: reentrant(torch, lambda y: y.sin().exp(), x.cos()).tan())(x)
    out.backward()
    return out, x.grad


def reentrant_with_an_unused_input(torch):
    x, y = leaf(torch, 1.0), leaf(torch, 2.0)
    reentrant(torch, lambda x, y: x.sin(), x, y).backward()
    return x.grad, y.grad


def reentrant_accumulates_in_a_parameter(torch):
    x, w = leaf(torch, 1.0), leaf(torch, 2.0)
    reentrant(torch, lambda x: x.sin() * w, x).backward()
    return x.grad, w.grad


def sequential(torch):
    rows = []
    for use_reentrant in (True, False):
        for segments in (1, 2, 3):
            x = leaf(torch, 0.3, 0.4)
            counts = [counted(f) for f in (torch.sin, torch.exp, torch.cos, torch.tanh, torch.sin)]
            out = torch.utils.checkpoint.checkpoint_sequential(
                [function for function, _ in counts], segments, x, use_reentrant=use_reentrant, preserve_rng_state=False
            )
            out.sum().backward()
            rows.append([out, x.grad, [len(calls) for _, calls in counts]])
    return rows


def reentrant_detached(torch):
    x = leaf(torch, 1.0)

    def function(x):
        with torch.no_grad():
            return x.sin()

    rows = []
    for _ in range(2):
        out = reentrant(torch, function, x)
        out += x
        rows.append([out, attempt(out.sum().backward)])
    return rows


def reentrant_returns_its_inputs(torch):
    x, y = leaf(torch, 1.0), torch.ones(1, dtype=torch.float64)
    out = reentrant(torch, lambda x, y: (x, y), x, y)
    out[0].sum().backward()
    other = reentrant(torch, lambda y, x: y, y, x)
    return out, x.grad, other, attempt(other.sum().backward)


def reentrant_with_what_is_no_tensor(torch):
    x = leaf(torch, 1.0)
    out = reentrant(torch, lambda x, none, n: (None, False, x * n, "text", (x + n).exp()), x, None, 3)
    (out[2] + out[4]).backward()
    return out, x.grad


def reentrant_twice(torch):
    x = leaf(torch, 1.0)
    function, calls = counted(lambda x: x.sin().exp())
    out = reentrant(torch, function, x)
    out.backward(retain_graph=True)
    out.backward()
    return x.grad, len(calls), attempt(out.backward)


def reentrant_create_graph(torch):
    x = leaf(torch, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reentrant(torch, lambda x: x.sin().exp(), x).backward(create_graph=True)
    grad, x.grad = x.grad, None
    return grad


@pytest.mark.parametrize(
    "program",
    [
        reentrant_detached, reentrant_returns_its_inputs, reentrant_with_what_is_no_tensor, reentrant_twice,
        reentrant_create_graph, reentrant_gradients,
        reentrant_grad, reentrant_nested, reentrant_nothing_requires_grad, reentrant_some_outputs,
        reentrant_dropout, reentrant_and_recorded, reentrant_with_an_unused_input,
        reentrant_accumulates_in_a_parameter, sequential,
    ],
    ids=name_of,
)  # fmt: skip
def test_reentrant(program):
    agree(program)

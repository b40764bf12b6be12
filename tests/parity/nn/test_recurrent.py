"""Recurrent layers and cells: values, gradients of first and second order, states, messages."""

import copy
import pickle

import numpy as np
import pytest
import torch as pytorch
from harness import agree, attempt, recorded_warnings, warned

import tapegrad

pytestmark = pytest.mark.once("what recurrent layers compute depends on no order")


def waves(torch, *shape, shift=0.0, dtype="float64"):
    """A tensor of numbers that are easy to make on both sides."""
    count = int(np.prod(shape, dtype=int))
    return (torch.arange(count, dtype=torch.float64) * 0.7 + shift).sin().reshape(shape).to(getattr(torch, dtype))


def filled(torch, module):
    """A module with parameters that are the same on both sides."""
    with torch.no_grad():
        for number, parameter in enumerate(module.parameters()):
            parameter.copy_(waves(torch, *parameter.shape, shift=number) * 0.6)
    return module


def layer(torch, kind, *args, **kwargs):
    return filled(torch, getattr(torch.nn, kind)(*args, dtype=torch.float64, **kwargs))


def states(torch, kind, *shape, shown=None):
    h = waves(torch, *shape[:-1], shown or shape[-1], shift=1).requires_grad_()
    return (h, waves(torch, *shape, shift=2).requires_grad_()) if kind == "LSTM" else h


def flat(found):
    return [item for part in found for item in (part if isinstance(part, tuple) else (part,))]


def numbers(found):
    """Tensors without their histories."""
    if isinstance(found, (list, tuple)):
        return [numbers(one) for one in found]
    return found.detach() if hasattr(found, "detach") else found


def derivatives(torch, outputs, inputs):
    """The gradients of a sum of sines of outputs, and those of a sum of their squares."""
    loss = sum((out.sin() * (number + 1)).sum() for number, out in enumerate(outputs))
    first = torch.autograd.grad(loss, inputs, create_graph=True)
    second = torch.autograd.grad(sum((one * one).sum() for one in first), inputs, allow_unused=True)
    return [*first, *second]


LAYERS = [
    (kind, options)
    for kind in ("LSTM", "GRU", "RNN")
    for options in (
        {},
        {"num_layers": 2, "bidirectional": True},
        {"bias": False, "batch_first": True},
        {"num_layers": 2, "bias": False, "bidirectional": True, "batch_first": True},
    )
] + [
    ("RNN", {"nonlinearity": "relu", "num_layers": 2}),
    ("LSTM", {"proj_size": 2}),
    ("LSTM", {"proj_size": 2, "num_layers": 2, "bidirectional": True, "bias": False}),
]


@pytest.mark.parametrize(("kind", "options"), LAYERS, ids=str)
def test_layers(kind, options):
    def program(torch):
        module = layer(torch, kind, 3, 4, **options)
        x = waves(torch, 3, 2, 3).requires_grad_()
        count = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
        batch = 3 if options.get("batch_first") else 2
        hx = states(torch, kind, count, batch, 4, shown=options.get("proj_size"))
        outputs = flat(module(x, hx))
        return numbers(outputs), numbers(derivatives(torch, outputs, [x, *flat([hx]), *module.parameters()]))

    agree(program)


@pytest.mark.parametrize(("kind", "options"), LAYERS[::2], ids=str)
def test_packed_sequences(kind, options):
    def program(torch):
        rnn = torch.nn.utils.rnn
        module = layer(torch, kind, 3, 4, **options)
        x = waves(torch, 4, 3, 3).requires_grad_()
        packed = rnn.pack_padded_sequence(x, [2, 4, 1], enforce_sorted=False)
        count = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
        hx = states(torch, kind, count, 3, 4, shown=options.get("proj_size"))
        y, last = module(packed, hx)
        padded, lengths = rnn.pad_packed_sequence(y, padding_value=0.5, total_length=5)
        outputs = [padded, y.data, *flat([last])]
        fields = [y.batch_sizes, y.sorted_indices, y.unsorted_indices, lengths]
        inputs = [x, *flat([hx]), *module.parameters()]
        return numbers(outputs), numbers(fields), numbers(derivatives(torch, outputs, inputs))

    agree(program)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("batch_first", [False, True])
def test_without_a_batch_and_a_state(kind, batch_first):
    def program(torch):
        module = layer(torch, kind, 3, 4, batch_first=batch_first)
        x = waves(torch, 5, 3).requires_grad_()
        given = [flat(module(x)), flat(module(x, states(torch, kind, 1, 4)))]
        given.append(flat(module(torch.nn.utils.rnn.pack_sequence([x, x[:2]]))))
        found = [out for part in given for out in part]
        return numbers([list(out)[:2] if hasattr(out, "batch_sizes") else out for out in found])

    agree(program)


@pytest.mark.parametrize("kind", ["LSTMCell", "GRUCell", "RNNCell"])
@pytest.mark.parametrize("options", [{}, {"bias": False}], ids=str)
def test_cells(kind, options):
    def program(torch):
        module = layer(torch, kind, 3, 4, **options)
        x, hx = waves(torch, 2, 3).requires_grad_(), states(torch, kind.removesuffix("Cell"), 2, 4)
        outputs = flat([module(x, hx)])
        alone = flat([module(x[0])])
        inputs = [x, *flat([hx]), *module.parameters()]
        return numbers([outputs, alone]), numbers(derivatives(torch, [*outputs, *alone], inputs))

    agree(program)


def test_a_cell_with_relu():
    def program(torch):
        module = layer(torch, "RNNCell", 3, 4, nonlinearity="relu")
        x = waves(torch, 2, 3).requires_grad_()
        return numbers(module(x)), numbers(derivatives(torch, [module(x)], [x, *module.parameters()]))

    agree(program)


def test_names_of_nodes():
    def program(torch):
        x = waves(torch, 4, 2, 3, dtype="float32")
        y, (h, c) = torch.nn.LSTM(3, 4)(x)
        again = torch.nn.LSTM(3, 4, batch_first=True, bidirectional=True)(x)[0]
        packed = torch.nn.utils.rnn.pack_padded_sequence(x.clone().requires_grad_(), [4, 2])
        return [one.grad_fn.name() for one in (y, h, c, again, packed.data)]

    agree(program)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_half_precision(kind):
    def program(torch):
        module = filled(torch, getattr(torch.nn, kind)(3, 4)).to(torch.bfloat16)
        y = module(waves(torch, 3, 2, 3, dtype="bfloat16"))[0]
        y.float().sum().backward()
        return [str(y.dtype), tuple(y.shape), *(str(one.grad.dtype) for one in module.parameters())], y.float()

    (ours, y), (theirs, expected) = program(tapegrad), program(pytorch)
    assert ours == theirs
    np.testing.assert_allclose(y.detach().numpy(), expected.detach().numpy(), atol=0.02)


def test_dropout_between_layers():
    module = filled(tapegrad, tapegrad.nn.LSTM(3, 4, num_layers=2, dropout=0.5))
    x = waves(tapegrad, 5, 2, 3, dtype="float32")
    tapegrad.manual_seed(0)
    dropped = module(x)[0]
    assert not tapegrad.equal(dropped, module(x)[0])
    tapegrad.manual_seed(0)
    assert tapegrad.equal(dropped, module(x)[0])
    module.eval()
    assert tapegrad.equal(module(x)[0], module(x)[0])
    packed = tapegrad.nn.utils.rnn.pack_padded_sequence(x, [5, 2])
    assert module.train()(packed)[0].data.shape == (7, 4)


@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True, "bias": False}], ids=str)
def test_states_move_between_the_libraries(options):
    ours, theirs = tapegrad.nn.GRU(3, 4, **options), pytorch.nn.GRU(3, 4, **options)
    filled(tapegrad, ours)
    theirs.load_state_dict({name: pytorch.tensor(one.numpy()) for name, one in ours.state_dict().items()})
    x = waves(pytorch, 5, 2, 3, dtype="float32")
    y = theirs(x)[0].detach()
    np.testing.assert_allclose(ours(tapegrad.tensor(x.numpy()))[0].detach().numpy(), y.numpy(), atol=1e-6)
    fresh = tapegrad.nn.GRU(3, 4, **options)
    fresh.load_state_dict({name: tapegrad.tensor(one.numpy()) for name, one in theirs.state_dict().items()})
    np.testing.assert_allclose(fresh(tapegrad.tensor(x.numpy()))[0].detach().numpy(), y.numpy(), atol=1e-6)


def test_what_modules_show():
    def program(torch):
        modules = [
            torch.nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2), torch.nn.GRU(3, 4, bias=False, batch_first=True),
            torch.nn.RNN(3, 4, 2, "relu", dropout=0.5), torch.nn.LSTMCell(3, 4, bias=False), torch.nn.GRUCell(3, 4),
            torch.nn.RNNCell(3, 4, nonlinearity="relu"), torch.nn.RNNCell(3, 4),
        ]  # fmt: skip
        shapes = [[tuple(one.shape) for one in row] for row in modules[0].all_weights]
        return [repr(one) for one in modules], [list(one.state_dict()) for one in modules], shapes

    agree(program)


def test_weights_that_change_are_found():
    module = filled(tapegrad, tapegrad.nn.GRU(3, 4))
    x = waves(tapegrad, 5, 2, 3, dtype="float32")
    y = module(x)[0]
    changed = {name: one.detach() * 2 for name, one in module.named_parameters()}
    assert not tapegrad.equal(tapegrad.func.functional_call(module, changed, (x,))[0], y)
    assert tapegrad.equal(copy.deepcopy(module)(x)[0], y)
    assert tapegrad.equal(pickle.loads(pickle.dumps(module))(x)[0], y)
    module.flatten_parameters()
    module.weight_hh_l0 = tapegrad.nn.Parameter(tapegrad.zeros(12, 4))
    assert not tapegrad.equal(module(x)[0], y)


def test_first_parameters_are_drawn_between_bounds():
    module = tapegrad.nn.LSTM(30, 16)
    assert all(one.abs().max() <= 0.25 and one.abs().max() > 0.2 for one in module.parameters())


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_transforms(kind):
    module = layer(tapegrad, kind, 3, 4).requires_grad_(False)
    x = waves(tapegrad, 2, 3, 2, 3)

    def loss(one):
        return module(one)[0].sin().sum()

    together = tapegrad.func.vmap(tapegrad.func.grad(loss))(x)
    for one, found in zip(x, together, strict=True):
        np.testing.assert_allclose(tapegrad.func.grad(loss)(one).numpy(), found.numpy())
    _, tangent = tapegrad.func.jvp(loss, (x[0],), (x[1],))
    np.testing.assert_allclose(tangent.item(), (together[0] * x[1]).sum().item())
    hessian = tapegrad.func.hessian(loss)(x[0][:, :1])
    by_hand = tapegrad.func.jvp(tapegrad.func.grad(loss), (x[0][:, :1],), (x[1][:, :1],))[1]
    np.testing.assert_allclose((hessian * x[1][:, :1]).sum((3, 4, 5)).numpy(), by_hand.numpy())


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_compiled_and_deferred(kind):
    module = layer(tapegrad, kind, 3, 4)

    def step(x):
        module.zero_grad()
        loss = module(x)[0].sum()
        loss.backward()
        return loss.detach(), module.weight_hh_l0.grad

    x = waves(tapegrad, 5, 2, 3)
    expected = [one.numpy() for one in step(x)]
    compiled = tapegrad.compile(step)
    for _ in range(3):
        np.testing.assert_allclose(compiled(x)[0].numpy(), expected[0])
    with tapegrad.deferred():
        found = [one.numpy() for one in step(x)]
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs)


REFUSED = [
    lambda torch, nn: nn.LSTM(3, 4, dropout=2), lambda torch, nn: nn.LSTM(3, 4, dropout=True),
    lambda torch, nn: nn.LSTM(3, 4, bias=1), lambda torch, nn: nn.LSTM(3, 4, batch_first=1),
    lambda torch, nn: nn.LSTM(3.0, 4), lambda torch, nn: nn.LSTM(0, 4), lambda torch, nn: nn.LSTM(3, 4.0),
    lambda torch, nn: nn.LSTM(3, 0), lambda torch, nn: nn.LSTM(3, 4, 0), lambda torch, nn: nn.LSTM(3, 4, proj_size=-1),
    lambda torch, nn: nn.LSTM(3, 4, proj_size=4), lambda torch, nn: nn.GRU(3, 4, proj_size=2),
    lambda torch, nn: nn.RNN(3, 4, proj_size=2), lambda torch, nn: nn.RNN(3, 4, nonlinearity="sine"),
    lambda torch, nn: nn.RNNBase("SRU", 3, 4), lambda torch, nn: nn.RNNBase("GRU", 3, 4)(torch.ones(2, 1, 3)),
    lambda torch, nn: nn.LSTM(3, 4)(torch.ones(3)), lambda torch, nn: nn.GRU(3, 4)(torch.ones(3)),
    lambda torch, nn: nn.RNN(3, 4)(torch.ones(3)), lambda torch, nn: nn.LSTM(3, 4)(torch.ones(2, 1, 2)),
    lambda torch, nn: nn.LSTM(3, 4)(torch.ones(2, 1, 3).double()),
    lambda torch, nn: nn.LSTM(3, 4)(torch.ones(0, 1, 3)), lambda torch, nn: nn.GRU(3, 4)(torch.ones(0, 1, 3)),
    lambda torch, nn: nn.LSTM(3, 4)(torch.ones(2, 1, 3), (torch.ones(1, 2, 4), torch.ones(1, 1, 4))),
    lambda torch, nn: nn.LSTM(3, 4)(torch.ones(2, 1, 3), (torch.ones(1, 1, 4), torch.ones(1, 1, 3))),
    lambda torch, nn: nn.LSTM(3, 4)(torch.ones(2, 1, 3), (torch.ones(1, 4), torch.ones(1, 1, 4))),
    lambda torch, nn: nn.LSTM(3, 4)(torch.ones(2, 3), (torch.ones(1, 1, 4), torch.ones(1, 4))),
    lambda torch, nn: nn.GRU(3, 4)(torch.ones(2, 1, 3), torch.ones(2, 1, 4)),
    lambda torch, nn: nn.GRU(3, 4)(torch.ones(2, 1, 3), torch.ones(1, 4)),
    lambda torch, nn: nn.GRU(3, 4)(torch.ones(2, 3), torch.ones(1, 1, 4)),
    lambda torch, nn: nn.RNNCell(3, 4)(torch.ones(1, 1, 3)),
    lambda torch, nn: nn.RNNCell(3, 4)(torch.ones(1, 3), torch.ones(1, 1, 4)),
    lambda torch, nn: nn.LSTMCell(3, 4)(torch.ones(1, 3), (torch.ones(1, 4), torch.ones(1, 1, 4))),
    lambda torch, nn: nn.GRUCell(3, 4)(torch.ones(1, 2)),
    lambda torch, nn: nn.GRUCell(3, 4)(torch.ones(1, 3), torch.ones(2, 4)),
    lambda torch, nn: nn.RNNCell(3, 4, nonlinearity="sine")(torch.ones(1, 3)),
]


@pytest.mark.parametrize("make", REFUSED)
def test_refusals(make):
    agree(lambda torch: [attempt(lambda: make(torch, torch.nn))])


def weights(torch, gates=3):
    shapes = (gates * 4, 3), (gates * 4, 4), (gates * 4,), (gates * 4,)
    return [waves(torch, *shape, dtype="float32") for shape in shapes]


CALLS = [
    lambda torch, p, x, h: torch.gru(x, h, p[:2], True, 1, 0.0, False, False, False),
    lambda torch, p, x, h: torch.gru(x, h, p, True, 2, 0.0, False, False, False),
    lambda torch, p, x, h: torch.gru(x, h, p, True, 1, 0.0, False, True, False),
    lambda torch, p, x, h: torch.gru(x, h[0], p, True, 1, 0.0, False, False, False),
    lambda torch, p, x, h: torch.gru(x[0], h, p, True, 1, 0.0, False, False, False),
    lambda torch, p, x, h: torch.gru(x, h.double(), p, True, 1, 0.0, False, False, False),
    lambda torch, p, x, h: torch.gru(x[:, :, :2], h, p, True, 1, 0.0, False, False, False),
    lambda torch, p, x, h: torch.gru(x, h[:, :, :2], p, True, 1, 0.0, False, False, False),
    lambda torch, p, x, h: torch.gru(x, h[:, :1], p, True, 1, 0.0, False, False, False),
    lambda torch, p, x, h: torch.lstm(x, (h,), p, True, 1, 0.0, False, False, False),
    lambda torch, p, x, h: torch.gru(x.reshape(10, 3), torch.tensor([2, 3, 2, 2, 1]), h, p, True, 1, 0.0, False, False),
    lambda torch, p, x, h: torch.gru(x.reshape(10, 3), torch.tensor([2, 2]).int(), h, p, True, 1, 0.0, False, False),
    lambda torch, p, x, h: torch.gru(x, h, p, True, 1, 0.0, False, False),
    lambda torch, p, x, h: torch.lstm(x, h, p, True, 1, 0.0, False, False, False),
    lambda torch, p, x, h: torch.gru_cell(x, h[0], *p),
    lambda torch, p, x, h: torch.gru_cell(x[0, 0], h[0, 0], *p),
    lambda torch, p, x, h: torch.gru_cell(x[0, :1], h[0], *p),
    lambda torch, p, x, h: torch.gru_cell(x[0], h[0, :, :3], *p),
    lambda torch, p, x, h: torch.gru_cell(x[0].double(), h[0], *p),
    lambda torch, p, x, h: torch.lstm_cell(x[0], (h[0],), *p),
    lambda torch, p, x, h: torch.lstm_cell(x[0], h[0], *p),
    lambda torch, p, x, h: torch.rnn_tanh_cell(x[0], h[0], p[0][:4], p[1][:4], p[2]),
    lambda torch, p, x, h: torch.gru_cell(x[0], h[0]),
]


@pytest.mark.parametrize("call", CALLS)
def test_calls_that_fail(call):
    agree(lambda torch: [attempt(lambda: call(torch, weights(torch), waves(torch, 5, 2, 3, dtype="float32"),
                                              torch.zeros(1, 2, 4)))])  # fmt: skip


def test_warnings():
    agree(lambda torch: warned(lambda: torch.nn.LSTM(3, 4, dropout=0.5)))
    with recorded_warnings():
        agree(lambda torch: torch.nn.modules.rnn.apply_permutation(torch.ones(2, 2), torch.tensor([1, 0])))

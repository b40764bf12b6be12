"""Quantization-aware training beside PyTorch's: observers, fake quantization, whole trainings."""

import importlib

import numpy as np
import pytest
import torch

import tapegrad

pytestmark = [
    pytest.mark.parity, pytest.mark.once("composed of what runs in all ways"), pytest.mark.filterwarnings("ignore")
]  # fmt: skip

DATA = np.random.default_rng(0)
INPUTS = [DATA.normal(size=(4, 1, 4, 4)).astype("float32") for _ in range(5)]
TARGETS = [DATA.integers(0, 3, 4) for _ in range(5)]
WEIGHTS = {
    "conv.weight": DATA.normal(size=(2, 1, 3, 3)) / 3, "conv.bias": DATA.normal(size=2) / 3,
    "fc.weight": DATA.normal(size=(3, 32)) / 6, "fc.bias": DATA.normal(size=3) / 6,
}  # fmt: skip


def ao(m):
    return importlib.import_module(f"{m.__name__}.ao.quantization")


def network(m):
    nn, q = m.nn, ao(m)

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.quant, self.dequant = q.QuantStub(), q.DeQuantStub()
            self.conv, self.fc = nn.Conv2d(1, 2, 3, padding=1), nn.Linear(32, 3)
            self.between = nn.Sequential(nn.ReLU(), nn.LeakyReLU(), nn.Tanh(), nn.Dropout(0.0), nn.Flatten())

        def forward(self, x):
            return self.dequant(self.fc(self.between(self.conv(self.quant(x)))))

    made = Network()
    made.load_state_dict({name: m.tensor(array.astype("float32")) for name, array in WEIGHTS.items()})
    return made


def trained(m, backend, version):
    q, net = ao(m), network(m)
    net.qconfig = q.get_default_qat_qconfig(backend, version=version)
    prepared = q.prepare_qat(net.train())
    assert prepared is not net and type(net.fc) is m.nn.Linear
    optimizer = m.optim.SGD(prepared.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for step, (x, target) in enumerate(zip(INPUTS, TARGETS, strict=True)):
        if step == 3:
            prepared.apply(q.disable_observer)
        if step == 4:
            prepared.apply(q.disable_fake_quant)
        loss = m.nn.functional.cross_entropy(prepared(m.tensor(x)), m.tensor(target))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return prepared, losses


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("backend", ["x86", "qnnpack"])
def test_trainings(backend, version):
    """Losses, weights, extrema, scales, zero points and their names."""
    (theirs, losses), (ours, our_losses) = (trained(m, backend, version) for m in (torch, tapegrad))
    np.testing.assert_allclose(our_losses, losses, rtol=1e-5)
    expected, state = theirs.state_dict(), ours.state_dict()
    assert list(state) == list(expected)
    for name, tensor in state.items():
        assert str(tensor.dtype) == str(expected[name].dtype)
        np.testing.assert_allclose(tensor.numpy(), expected[name].numpy(), rtol=1e-4, atol=1e-6, err_msg=name)
    assert [type(one).__name__ for one in ours.modules()] == [type(one).__name__ for one in theirs.modules()]


def test_a_state_is_loaded():
    theirs, _ = trained(torch, "x86", 0)
    ours = ao(tapegrad).prepare_qat(with_config(network(tapegrad), "x86", 0))
    ours.load_state_dict({name: tapegrad.tensor(tensor.numpy()) for name, tensor in theirs.state_dict().items()})
    for net in (theirs, ours):
        net.eval()
        net.apply(ao(torch if net is theirs else tapegrad).enable_fake_quant)
    expected = theirs(torch.tensor(INPUTS[0])).detach().numpy()
    np.testing.assert_allclose(ours(tapegrad.tensor(INPUTS[0])).detach().numpy(), expected, atol=1e-6)


def with_config(net, backend, version):
    net.qconfig = ao(tapegrad).get_default_qat_qconfig(backend, version)
    return net


OBSERVED = {
    "extrema": lambda m, q: q.MinMaxObserver(),
    "extrema, reduced": lambda m, q: q.MinMaxObserver(reduce_range=True),
    "extrema about 0": lambda m, q: q.MinMaxObserver(dtype=m.qint8, qscheme=m.per_tensor_symmetric),
    "unsigned about 0": lambda m, q: q.MinMaxObserver(dtype=m.quint8, qscheme=m.per_tensor_symmetric),
    "bounds about 0": lambda m, q: q.MinMaxObserver(qscheme=m.per_tensor_symmetric, quant_min=0, quant_max=14),
    "int32": lambda m, q: q.MinMaxObserver(dtype=m.qint32),
    "int16": lambda m, q: q.MinMaxObserver(dtype=m.int16),
    "averages": lambda m, q: q.MovingAverageMinMaxObserver(averaging_constant=0.25, quant_min=0, quant_max=15),
    "channels": lambda m, q: q.PerChannelMinMaxObserver(ch_axis=1),
    "channels about 0": lambda m, q: q.PerChannelMinMaxObserver(dtype=m.qint8, qscheme=m.per_channel_symmetric),
    "channels, floats": lambda m, q: q.PerChannelMinMaxObserver(qscheme=m.per_channel_affine_float_qparams),
    "averages of channels": lambda m, q: q.MovingAveragePerChannelMinMaxObserver(averaging_constant=0.25, ch_axis=2),
    "fixed": lambda m, q: q.FixedQParamsObserver(scale=0.5, zero_point=3),
    "nothing": lambda m, q: q.MinMaxObserver(quant_min=-8, quant_max=7),
}


@pytest.mark.parametrize("case", OBSERVED)
def test_observers(case):
    found = []
    for m in (torch, tapegrad):
        observer = OBSERVED[case](m, ao(m))
        for x in INPUTS[:3] if case != "nothing" else ():
            assert observer(m.tensor(x).squeeze(1) + 0.5).shape == (4, 4, 4)
        found.append([*observer.calculate_qparams(), *observer.state_dict().values()])
    for theirs, ours in zip(*found, strict=True):
        assert str(ours.dtype) == str(theirs.dtype)
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)


REFUSED = {
    "evaluation": lambda m, q: q.prepare_qat(m.nn.Linear(2, 2).eval()),
    "a module for a factory": lambda m, q: q.QConfig(activation=q.FakeQuantize(), weight=q.FakeQuantize),
    "a backend": lambda m, q: q.get_default_qat_qconfig("mine"),
    "a version": lambda m, q: q.get_default_qat_qconfig("x86", 3),
    "no configuration": lambda m, q: m.ao.nn.qat.Linear(2, 2),
    "no configuration of another": lambda m, q: m.ao.nn.qat.Linear.from_float(m.nn.Linear(2, 2)),
    "another layer": lambda m, q: m.ao.nn.qat.Conv2d.from_float(m.nn.Linear(2, 2)),
    "bounds in the wrong order": lambda m, q: q.FakeQuantize(quant_min=5, quant_max=3),
    "bounds beyond the dtype": lambda m, q: q.FakeQuantize(quant_min=-5, quant_max=3, dtype=m.quint8),
    "a bound beyond the dtype": lambda m, q: q.FakeQuantize(quant_min=0, quant_max=300, dtype=m.quint8),
    "bounds without 0": lambda m, q: q.MinMaxObserver(quant_min=1, quant_max=3),
    "no bounds": lambda m, q: q.MinMaxObserver(quant_min=0, quant_max=0),
    "too many": lambda m, q: q.MinMaxObserver(dtype=m.qint8, quant_min=-200, quant_max=200),
    "channels of a tensor": lambda m, q: q.MinMaxObserver(qscheme=m.per_channel_affine),
    "channels of an average": lambda m, q: q.MovingAverageMinMaxObserver(qscheme=m.per_channel_affine),
    "a dynamic average": lambda m, q: q.MovingAverageMinMaxObserver(is_dynamic=True),
    "a tensor of channels": lambda m, q: q.PerChannelMinMaxObserver(qscheme=m.per_tensor_affine),
    "dynamic channels": lambda m, q: q.PerChannelMinMaxObserver(is_dynamic=True),
    "another observer": lambda m, q: q.FusedMovingAvgObsFakeQuantize(q.MinMaxObserver),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case):
    found = []
    for m in (torch, tapegrad):
        with pytest.raises((AssertionError, NotImplementedError, ValueError)) as caught:
            REFUSED[case](m, ao(m))
        found.append((type(caught.value), str(caught.value)))
    assert found[1] == found[0]


def test_shown():
    shown = []
    for m in (torch, tapegrad):
        q = ao(m)
        shown.append([repr(one) for one in (q.FakeQuantize(), q.default_fused_wt_fake_quant(), q.MinMaxObserver(),
                                            m.quint8, m.per_tensor_affine)])  # fmt: skip
    assert shown[1] == shown[0]


def test_the_older_names():
    assert tapegrad.quantization.FakeQuantize is tapegrad.ao.quantization.FakeQuantize
    assert tapegrad.nn.qat is tapegrad.ao.nn.qat
    with pytest.raises(NotImplementedError, match="there are no layers of integers"):
        tapegrad.ao.quantization.convert(tapegrad.nn.Linear(2, 2))


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("rows", [False, True])
def test_fused(rows, symmetric):
    """Small, large and one-sided numbers, whose scales are chosen otherwise than an observer would."""
    for scale, shift in ((1e-6, 0), (1e-4, 3), (1.0, -3), (100.0, 0)):
        found = []
        for m in (torch, tapegrad):
            state = [m.tensor([]), m.tensor([])] if rows else [m.tensor(np.inf).float(), m.tensor(-np.inf).float()]
            state += [m.ones(1), m.zeros(1, dtype=m.int32)]
            results = []
            for x in INPUTS[:2]:
                x = m.tensor((x.reshape(4, 16) + shift) * np.float32(scale), requires_grad=True)
                settings = (0.25, -8, 7, 0, rows, symmetric)
                y = m.fused_moving_avg_obs_fake_quant(x, m.ones(1), m.ones(1), *state, *settings)
                y.sum().backward()
                results += [y.detach().numpy(), x.grad.numpy(), *(one.numpy().copy() for one in state)]
            found.append((y.grad_fn.name(), results))
        assert found[0][0] == found[1][0]
        for theirs, ours in zip(found[0][1], found[1][1], strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_zero_points_have_the_shape_of_scales():
    found = []
    for m in (torch, tapegrad):
        q, x = ao(m), m.tensor([-1.0, 2.0])
        for scheme in (m.per_tensor_affine, m.per_tensor_symmetric):
            for kind in (m.qint8, m.quint8):
                observer = q.MinMaxObserver(dtype=kind, qscheme=scheme)
                observer(x)
                found.append([one.shape for one in observer.calculate_qparams()])
    assert found[len(found) // 2 :] == found[: len(found) // 2]


def test_dtypes_that_are_no_integers_are_refused():
    said = []
    for m in (torch, tapegrad):
        for kind in (m.float32, m.int64, m.bool):
            with pytest.raises(AssertionError) as caught:
                ao(m).MinMaxObserver(dtype=kind)
            said.append(str(caught.value))
    assert len(set(said)) == 1


def test_layers_are_wrapped():
    found = []
    for m in (torch, tapegrad):
        q, net = ao(m), m.nn.Sequential(m.nn.Linear(2, 2), m.nn.Sequential(m.nn.ReLU(), m.nn.Linear(2, 1)))
        net[0].qconfig = net[1][1].qconfig = q.default_qconfig
        one = m.nn.Linear(1, 1)
        one.qconfig = q.default_qconfig
        made = [q.add_quant_dequant(net), q.add_quant_dequant(one), q.add_quant_dequant(m.nn.Linear(1, 1))]
        assert made[0] is net
        found.append([[type(part).__name__ for part in whole.modules()] for whole in made])
    assert found[0] == found[1]


def test_layers_that_are_replaced():
    ours, theirs = (ao(m).get_default_qat_module_mappings() for m in (tapegrad, torch))
    del theirs[torch.nn.modules.linear.NonDynamicallyQuantizableLinear]
    assert {one.__name__: other.__name__ for one, other in ours.items()} == {
        one.__name__: other.__name__ for one, other in theirs.items()
    }
    ours.clear()
    assert ao(tapegrad).get_default_qat_module_mappings()

"""Layers in a row that count as one: ``fuse_modules`` and ``fuse_modules_qat``, and trainings of what they make."""

import importlib

import numpy as np
import pytest
import torch

import tapegrad

pytestmark = [
    pytest.mark.parity, pytest.mark.once("composed of what runs in all ways"), pytest.mark.filterwarnings("ignore")
]  # fmt: skip

BOTH = [torch, tapegrad]
DIMS = {1: (6,), 2: (5, 5), 3: (3, 3, 3)}


def ao(m):
    return importlib.import_module(f"{m.__name__}.ao.quantization")


def intrinsic(m):
    return importlib.import_module(f"{m.__name__}.ao.nn.intrinsic"), importlib.import_module(
        f"{m.__name__}.ao.nn.intrinsic.qat"
    )


def rows(m, dims, bias=True):
    """A network of rows of layers, each with random parameters and statistics that are the same in both libraries."""
    nn, size = m.nn, int(np.prod(DIMS[dims]))
    conv, norm = getattr(nn, f"Conv{dims}d"), getattr(nn, f"BatchNorm{dims}d")
    net = nn.Sequential(
        nn.Sequential(conv(1, 2, 3, padding=1, bias=bias), norm(2), nn.ReLU()),
        nn.Sequential(conv(2, 2, 3, padding=1, bias=bias), norm(2)),
        nn.Sequential(conv(2, 2, 1), nn.ReLU()),
        nn.Flatten(),
        nn.Sequential(nn.Linear(2 * size, 4, bias=bias), nn.BatchNorm1d(4)),
        nn.Sequential(nn.Linear(4, 3), nn.ReLU()),
        nn.Linear(3, 3),
    )
    numbers = np.random.default_rng(dims)
    state = {}
    for name, tensor in net.state_dict().items():
        spread = numbers.normal(size=tuple(tensor.shape)) / 2
        if "running_var" in name or (name.endswith("1.weight") and tensor.ndim == 1):
            spread = 1 + np.abs(spread)
        state[name] = m.tensor(spread.astype("float32")) if tensor.is_floating_point() else tensor
    net.load_state_dict(state)
    return net


ROWS = [["0.0", "0.1", "0.2"], ["1.0", "1.1"], ["2.0", "2.1"], ["4.0", "4.1"], ["5.0", "5.1"]]


def inputs(m, dims, step=0):
    numbers = np.random.default_rng(10 + step)
    return m.tensor(numbers.normal(size=(4, 1, *DIMS[dims])).astype("float32")), m.tensor(numbers.integers(0, 3, 4))


def compare_states(ours, theirs, rtol):
    expected, state = theirs.state_dict(), ours.state_dict()
    assert list(state) == list(expected)
    for name, tensor in state.items():
        assert str(tensor.dtype) == str(expected[name].dtype)
        np.testing.assert_allclose(tensor.numpy(), expected[name].numpy(), rtol=rtol, atol=2e-5, err_msg=name)


def kinds(net):
    return [type(one).__name__ for one in net.modules()]


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_in_evaluation_mode(dims):
    """Batch norms become part of the layers before."""
    found = []
    for m in BOTH:
        net = rows(m, dims).eval()
        fused = ao(m).fuse_modules(net, ROWS)
        assert type(net[0][0]).__name__ == f"Conv{dims}d" and type(net[0][1]).__name__ == f"BatchNorm{dims}d"
        x, _ = inputs(m, dims)
        np.testing.assert_allclose(fused(x).detach().numpy(), net(x).detach().numpy(), atol=1e-5)
        found.append(fused)
    assert kinds(found[0]) == kinds(found[1])
    compare_states(found[1], found[0], 1e-4)


def trained(m, dims, backend, bias=True):
    q, nni = ao(m), intrinsic(m)[1]
    net = q.fuse_modules_qat(rows(m, dims, bias).train(), ROWS)
    net.qconfig = q.get_default_qat_qconfig(backend)
    prepared = q.prepare_qat(net)
    optimizer = m.optim.SGD(prepared.parameters(), lr=0.02, momentum=0.9)
    losses = []
    for step in range(5):
        if step == 3:
            prepared.apply(q.disable_observer)
            prepared.apply(nni.freeze_bn_stats)
        x, target = inputs(m, dims, step)
        loss = m.nn.functional.cross_entropy(prepared(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return prepared, losses


@pytest.mark.parametrize(("dims", "backend", "bias"), [(1, "x86", True), (2, "qnnpack", False), (2, "x86", True),
                                                        (3, "qnnpack", True)])  # fmt: skip
def test_trainings(dims, backend, bias):
    (theirs, losses), (ours, our_losses) = (trained(m, dims, backend, bias) for m in BOTH)
    np.testing.assert_allclose(our_losses, losses, rtol=2e-4)
    assert kinds(ours) == kinds(theirs)
    compare_states(ours, theirs, 2e-3)


def test_what_is_frozen_stays_so():
    for m in BOTH:
        prepared, _ = trained(m, 2, "x86")
        layer = prepared[0][0]
        assert layer.freeze_bn and not layer.train().bn.training and layer.training
        prepared.apply(intrinsic(m)[1].update_bn_stats)
        assert layer.bn.training and not layer.eval().bn.training
        before = layer.bn.running_mean.clone()
        layer.reset_running_stats()
        assert not m.equal(before, layer.bn.running_mean)


@pytest.mark.parametrize("place", [0, 1, 2, 4, 5])
def test_plain_layers_again(place):
    found = []
    for m in BOTH:
        prepared, _ = trained(m, 2, "x86")
        plain = prepared[place][0].to_float()
        found.append((kinds(plain), plain.training, [one.detach().numpy() for one in plain.parameters()]))
    assert found[0][:2] == found[1][:2]
    for ours, theirs in zip(found[1][2], found[0][2], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=2e-5)


def test_hooks_move_along():
    for m in BOTH:
        net, seen = m.nn.Sequential(m.nn.Linear(2, 2), m.nn.ReLU()), []
        net[0].register_forward_pre_hook(lambda module, args, seen=seen: seen.append(type(module).__name__))
        net[1].register_forward_hook(lambda module, args, out, seen=seen: seen.append(out.min().item() >= 0))
        fused = ao(m).fuse_modules_qat(net, ["0", "1"], inplace=True)
        assert fused is net
        fused(m.ones(1, 2))
        assert seen == ["LinearReLU", True]


def test_functions_of_ones_own():
    for m in BOTH:
        kinds_of = m.nn.Linear, m.nn.Tanh
        given = {"additional_fuser_method_mapping": {kinds_of: lambda is_qat, a, b, nn=m.nn: nn.Sequential(
            a, b, nn.Identity() if is_qat else nn.Flatten())}}  # fmt: skip
        net = ao(m).fuse_modules_qat(
            m.nn.Sequential(m.nn.Linear(2, 2), m.nn.Tanh()), [["0", "1"]], fuse_custom_config_dict=given
        )
        assert kinds(net) == ["Sequential", "Sequential", "Linear", "Tanh", "Identity", "Identity"]


def test_states_of_the_first_version():
    for m in BOTH:
        layer = intrinsic(m)[1].ConvBn2d(1, 2, 1, qconfig=ao(m).default_qat_qconfig)
        state = layer.state_dict()
        old = {"gamma": "bn.weight", "beta": "bn.bias", "running_mean": "bn.running_mean",
               "running_var": "bn.running_var", "num_batches_tracked": "bn.num_batches_tracked"}  # fmt: skip
        for new, name in old.items():
            state[new] = state.pop(name) + 1
        state._metadata[""]["version"] = 1
        layer.load_state_dict(state)
        assert layer.bn.running_mean.tolist() == [1, 1] and layer.bn.num_batches_tracked == 1



REFUSED = {
    "layers that are not there": lambda m, q: q.fuse_modules_qat(rows(m, 2), ["0.0", "0.7"]),
    "a row that nothing does": lambda m, q: q.fuse_modules(m.nn.Sequential(m.nn.ReLU(), m.nn.ReLU()), ["0", "1"]),
    "training mode": lambda m, q: q.fuse_modules(rows(m, 2), ROWS),
    "two modes": lambda m, q: q.fuse_conv_bn(True, m.nn.Conv2d(1, 2, 1), m.nn.BatchNorm2d(2).eval()),
    "two modes, three layers": lambda m, q: q.fuse_conv_bn_relu(True, m.nn.Conv2d(1, 2, 1), m.nn.BatchNorm2d(2),
                                                                m.nn.ReLU().eval()),
    "two modes of a linear one": lambda m, q: q.fuse_linear_bn(True, m.nn.Linear(1, 2), m.nn.BatchNorm1d(2).eval()),
    "another size": lambda m, q: q.fuse_conv_bn(True, m.nn.Conv2d(1, 2, 1), m.nn.BatchNorm2d(3)),
    "another size, three layers": lambda m, q: q.fuse_conv_bn_relu(True, m.nn.Conv2d(1, 2, 1), m.nn.BatchNorm2d(3),
                                                                   m.nn.ReLU()),
    "another size of a linear one": lambda m, q: q.fuse_linear_bn(True, m.nn.Linear(1, 2), m.nn.BatchNorm1d(3)),
    "no parameters": lambda m, q: q.fuse_conv_bn(True, m.nn.Conv2d(1, 2, 1), m.nn.BatchNorm2d(2, affine=False)),
    "no statistics": lambda m, q: q.fuse_linear_bn(True, m.nn.Linear(1, 2), m.nn.BatchNorm1d(
        2, track_running_stats=False)),
    "no convolution": lambda m, q: q.fuse_conv_bn(True, m.nn.ConvTranspose2d(2, 2, 1), m.nn.BatchNorm2d(2)),
    "no convolution, three layers": lambda m, q: q.fuse_conv_bn_relu(True, m.nn.ConvTranspose2d(2, 2, 1),
                                                                     m.nn.BatchNorm2d(2), m.nn.ReLU()),
    "a transposed one": lambda m, q: q.fuse_modules_qat(m.nn.Sequential(m.nn.ConvTranspose2d(2, 2, 1),
                                                                        m.nn.BatchNorm2d(2)), ["0", "1"]),
    "two of another class": lambda m, q: m.ao.nn.intrinsic.ConvReLU2d(m.nn.Conv1d(1, 1, 1), m.nn.ReLU()),
    "three of another class": lambda m, q: m.ao.nn.intrinsic.ConvBnReLU2d(
        m.nn.Conv2d(1, 1, 1), m.nn.BatchNorm1d(1), m.nn.ReLU()),
    "no configuration": lambda m, q: intrinsic(m)[1].ConvBn2d(1, 2, 1),
    "no configuration of a linear one": lambda m, q: intrinsic(m)[1].LinearBn1d(1, 2),
    "another layer": lambda m, q: intrinsic(m)[1].ConvBn2d.from_float(m.nn.Conv2d(1, 2, 1)),
    "no configuration of layers": lambda m, q: intrinsic(m)[1].LinearBn1d.from_float(
        m.ao.nn.intrinsic.LinearBn1d(m.nn.Linear(1, 2), m.nn.BatchNorm1d(2))),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case):
    said = []
    for m in BOTH:
        intrinsic(m)
        with pytest.raises(Exception) as caught:
            REFUSED[case](m, ao(m))
        said.append((type(caught.value), str(caught.value).replace("tapegrad.", "torch.")))
    assert said[0] == said[1]


def test_layers_that_nothing_makes():
    found = []
    for m in BOTH:
        nni, x = intrinsic(m)[0], m.arange(4.0).reshape(2, 2)
        linear = m.nn.Linear(2, 2)
        with m.no_grad():
            linear.weight.copy_(m.eye(2) - 0.5)
            linear.bias.zero_()
        conv = m.nn.Conv2d(1, 1, 1)
        with m.no_grad():
            conv.weight.fill_(2)
            conv.bias.fill_(-1)
        image = x[None, None]
        outs = [nni.LinearTanh(linear, m.nn.Tanh())(x), nni.LinearLeakyReLU(linear, m.nn.LeakyReLU())(x),
                nni.ConvAdd2d(conv, m.add)(image, image), nni.ConvAddReLU2d(conv, m.add, m.nn.ReLU())(image, -image)]
        found.append([out.tolist() for out in outs])
    np.testing.assert_allclose(np.concatenate([np.ravel(one) for one in found[0]]),
                               np.concatenate([np.ravel(one) for one in found[1]]), rtol=1e-5)  # fmt: skip

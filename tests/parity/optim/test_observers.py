"""Observers of histograms, observers that only pass on, and all ready-made factories and configurations of modules."""

import importlib
import re
import warnings

import numpy as np
import pytest
import torch

import tapegrad

pytestmark = [pytest.mark.parity, pytest.mark.once("composed of what runs in all ways")]

BOTH = [torch, tapegrad]


def ao(m):
    return importlib.import_module(f"{m.__name__}.ao.quantization")


HISTOGRAMS = {
    "as they are": lambda m: {},
    "few bins": lambda m: {"bins": 16},
    "about 0": lambda m: {"dtype": m.qint8, "qscheme": m.per_tensor_symmetric},
    "half the integers": lambda m: {"quant_min": 0, "quant_max": 127},
    "int32": lambda m: {"dtype": m.int32},
    "doubles": lambda m: {"factory_kwargs": {"dtype": m.float64}},
    "four bits": lambda m: {"dtype": m.quint4x2},
}


@pytest.mark.parametrize("power", [1, 3])
@pytest.mark.parametrize("case", HISTOGRAMS)
def test_histograms(case, power):
    found = []
    for m in BOTH:
        numbers = np.random.default_rng(power)
        observer = ao(m).HistogramObserver(**HISTOGRAMS[case](m))
        for scale in (1, 2, 0.5):
            x = m.tensor((numbers.normal(size=(20, 20)) ** power * scale).astype("float32"))
            assert observer(x) is x
        scale, zero_point = observer.calculate_qparams()
        found.append((observer, scale, zero_point))
    (theirs, *chosen), (ours, *our_chosen) = found
    assert [*ours.state_dict()] == [*theirs.state_dict()] and repr(ours) == repr(theirs)
    np.testing.assert_allclose(ours.histogram.numpy(), theirs.histogram.numpy(), rtol=1e-6)
    for one, other in zip(our_chosen, chosen, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-6)
        assert str(one.dtype) == str(other.dtype) and one.shape == other.shape


@pytest.mark.parametrize("rows", [[[2.0, 2.0]], [[2.0, 2.0], [1.0, 3.0, 3.0]], [[]], [[0.0], [0.0, -1.0]]])
def test_histograms_of_few_numbers(rows):
    found = []
    for m in BOTH:
        observer = ao(m).HistogramObserver(bins=4)
        for row in rows:
            observer(m.tensor(row))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            chosen = [one.tolist() for one in observer.calculate_qparams()]
        found.append((observer.histogram.tolist(), chosen, [str(one.message) for one in caught]))
    assert found[0] == found[1]


def test_infinite_numbers_are_left_out():
    found = []
    for m in BOTH:
        observer = ao(m).HistogramObserver(bins=4)
        for row in ([1.0, float("inf"), 2.0], [float("-inf")]):
            with pytest.warns(UserWarning, match="torch.inf detected in input tensor, ignoring input"):
                observer(m.tensor(row))
        found.append(observer.histogram.tolist())
    assert found[0] == found[1]


PASSING = {
    "placeholder": lambda m, q: q.PlaceholderObserver(),
    "placeholder of halves": lambda m, q: q.PlaceholderObserver(m.float16, "linear", None, 0, 7, is_dynamic=True),
    "noop": lambda m, q: q.NoopObserver(),
    "recording": lambda m, q: q.RecordingObserver(),
    "reuse": lambda m, q: q.ReuseInputObserver(),
}


@pytest.mark.parametrize("case", PASSING)
def test_observers_that_only_pass_on(case):
    found = []
    for m in BOTH:
        observer, x = PASSING[case](m, ao(m)), m.tensor([1.0, 2.0])
        assert observer(x) is x
        names = ("dtype", "is_dynamic", "quant_min", "quant_max", "qscheme", "eps", "custom_op")
        state = [str(getattr(observer, name, None)) for name in names]
        with pytest.raises(Exception, match="calculate_qparams should not be called for") as caught:
            observer.calculate_qparams()
        found.append((state, repr(observer), str(caught.value), type(caught.value)))
    assert found[0] == found[1]


def test_what_was_recorded():
    for m in BOTH:
        observer, x = ao(m).default_debug_observer(), m.ones(2)
        observer(x)
        x += 1
        observer(x)
        assert [one.tolist() for one in observer.get_tensor_value()] == [[1, 1], [2, 2]]


def test_compute_dtype_is_deprecated():
    said = []
    for m in BOTH:
        with pytest.warns(UserWarning, match="is_dynamic") as caught:
            ao(m).PlaceholderObserver(compute_dtype=m.quint8)
        said.append(str(caught[0].message))
    assert said[0] == said[1]


FACTORIES = [
    name for name in dir(ao(torch))
    if re.search(r"_(observer|fake_quant|qconfig)(_4bit|_v2|_range_neg_127_to_127)?$|range_neg", name)
    and not name.startswith(("get_", "disable_", "enable_", "script_"))
]  # fmt: skip


def shown(made):
    """What a module is made of, without addresses and the libraries' names."""
    if made is None:
        return None
    kept = {name: str(one) for name, one in sorted(vars(made).items()) if not name.startswith("_")}
    inner = getattr(made, "activation_post_process", None)
    kept.pop("dtype", None)
    return type(made).__name__, str(getattr(made, "dtype", "")), repr(made), kept, shown(inner)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FACTORIES)
def test_factories(name):
    """Each of PyTorch's is here, and makes the same modules."""
    found = []
    for m in BOTH:
        factory = getattr(ao(m), name)
        parts = (factory.activation, factory.weight) if hasattr(factory, "weight") else (factory,)
        found.append([shown(part()) for part in parts])
    assert str(found[1]) == str(found[0])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["x86", "fbgemm", "qnnpack", "onednn"])
def test_configurations_of_backends(backend):
    made = []
    for m in BOTH:
        config = ao(m).get_default_qconfig(backend)
        made.append([shown(part()) for part in config])
    assert str(made[0]) == str(made[1])


@pytest.mark.parametrize("given", [("nothing", 0), ("x86", 1)])
def test_configurations_that_are_not_there(given):
    said = []
    for m in BOTH:
        with pytest.raises(AssertionError) as caught:
            ao(m).get_default_qconfig(*given)
        said.append(str(caught.value))
    assert said[0] == said[1]


@pytest.mark.filterwarnings("ignore")
def test_equal_configurations():
    found = []
    for m in BOTH:
        q = ao(m)
        kinds = [
            None, q.default_qconfig, q.QConfig(q.MinMaxObserver.with_args(quant_min=0, quant_max=127),
                                               q.default_weight_observer), q.default_qat_qconfig,
            q.get_default_qat_qconfig("x86", 0), q.get_default_qat_qconfig("fbgemm", 0), q.default_reuse_input_qconfig,
            q.get_default_qat_qconfig("qnnpack"), q.QConfigDynamic(weight=q.default_weight_observer),
        ]  # fmt: skip
        found.append([q.qconfig_equals(one, other) for one in kinds for other in kinds])
    assert found[0] == found[1]


@pytest.mark.filterwarnings("ignore:torch.ao.quantization is deprecated")
def test_states_of_observers():
    """They go from one model to another, without the weights."""
    for m in BOTH:
        q = ao(m)
        nets = [m.nn.Sequential(m.nn.Linear(2, 2), m.nn.ReLU(), m.nn.Linear(2, 1)) for _ in range(2)]
        for net in nets:
            net.qconfig = q.default_qconfig
        one, other = (q.prepare(net) for net in nets)
        one(m.tensor([[1.0, -2.0]]))
        state = q.get_observer_state_dict(one)
        assert {name.partition(".activation_post_process.")[2] for name in state} == {"eps", "min_val", "max_val"}
        q.load_observer_state_dict(other, state)
        assert all(m.equal(other.state_dict()[name], kept) for name, kept in state.items())
        assert not m.equal(other[0].weight, one[0].weight)
        q.load_observer_state_dict(other, {"0.activation_post_process.other": m.ones(1)})


def test_refusals():
    for m in BOTH:
        q = ao(m)
        with pytest.raises(NotImplementedError, match="HistogramObserver's qscheme only support"):
            q.HistogramObserver(qscheme=m.per_channel_affine)
        with pytest.raises(NotImplementedError, match="HistogramObserver doesn't support dynamic quantization"):
            q.HistogramObserver(is_dynamic=True)
        with pytest.raises(AssertionError, match="histogram min/max values must be scalar"):
            q.HistogramObserver().reset_histogram(m.ones(2), m.ones(2), m.ones(2))
        with pytest.raises(AssertionError, match="The number of bins in histogram should be equal to the number of "):
            observer = q.HistogramObserver(bins=4)
            observer(m.ones(2))
            observer.bins = 5
            observer.calculate_qparams()
        refused = pytest.raises(ValueError, match="QConfigDynamic received observer instance")
        with refused, pytest.warns(FutureWarning, match="`QConfigDynamic` is going to be deprecated in PyTorch 1.12"):
            q.QConfigDynamic(weight=q.MinMaxObserver())

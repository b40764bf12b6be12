"""Layers: signatures, first values, lazy ones, states of old, and what is refused, as PyTorch has them."""

import copy
import importlib
import inspect
import pickle
import re
import types
import warnings

import numpy as np
import pytest
import torch as pytorch
from harness import Programs, agree, attempt, recorded_warnings, warned
from late_database import listed
from modinfo import BEYOND, ENTRIES, draws, samples_of
from modinfo_exceptions import LEFT_OUT
from opinfo import translated

import tapegrad

pytestmark = pytest.mark.once("about layers, not about when operators are computed")

CLASSES = [name for name in pytorch.nn.modules.__all__ if name in tapegrad.nn.modules.__all__]


def parameters(function):
    """What can be seen of a function's parameters: names, kinds and defaults."""
    found = inspect.signature(function).parameters.values()
    return [(p.name, p.kind, re.sub(" at 0x[0-9a-f]+", "", repr(p.default))) for p in found]


@pytest.mark.parametrize("name", CLASSES)
def test_signatures(name):
    theirs, ours = getattr(pytorch.nn, name), getattr(tapegrad.nn, name)
    assert parameters(ours.__init__) == parameters(theirs.__init__)
    if isinstance(theirs.__dict__.get("forward"), types.FunctionType):
        assert [row[::2] for row in parameters(ours.forward)] == [row[::2] for row in parameters(theirs.forward)]
    assert sorted(getattr(ours, "__constants__", [])) == sorted(getattr(theirs, "__constants__", []))
    assert getattr(ours, "_version", 1) == getattr(theirs, "_version", 1)
    missing = {key for key in dir(theirs) if not key.startswith("_") and not hasattr(ours, key)}
    assert not missing - {"T_destination", "ipu", "mtia", "xpu"}


def made_and_called(torch, sample):
    (args, kwargs), (given, named) = (sample.made, sample.called)
    if torch is tapegrad:
        (args, kwargs), (given, named) = translated(sample.made), translated(sample.called)
    module = getattr(torch.nn, sample.name)(*args, **kwargs)
    if sample.name.startswith("Lazy"):
        module.to(torch.float64)(*given, **named)


COPYING = {"TransformerEncoder"}
"""What is made of a layer that it is given, and draws nothing."""

DRAWING = listed(lambda: [name for name in ENTRIES if name not in {*LEFT_OUT, *COPYING}])


@pytest.mark.parametrize("name", DRAWING)
@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")  # of Transformers, about fast paths
def test_parameters_are_drawn_alike(name):
    samples = list(samples_of(name, 2))
    agree(lambda torch: [draws(torch, lambda torch, s=s: made_and_called(torch, s)) for s in samples])


@pytest.mark.parametrize("make", BEYOND, ids=lambda make: make().name)
def test_parameters_are_drawn_alike_beyond_the_database(make):
    agree(lambda torch: draws(torch, lambda torch: made_and_called(torch, make())))


# -- what is refused ---------------------------------------------------------------------------------------------------

REFUSED = """
torch.nn.Linear(3, 2)(torch.ones(4))
torch.nn.Linear(3)
torch.nn.Linear(3, 2, True, None, None, 1)
torch.nn.Linear(-1, 2)
torch.nn.Linear(3.5, 2)
torch.nn.Bilinear(0, 2, 3)
torch.nn.ReLU(False, 1)
torch.nn.ReLU(inplaced=True)
torch.nn.ELU(alpha=1.0, beta=2)
torch.nn.Threshold(1)
torch.nn.ReLU()()
torch.nn.ReLU()(torch.ones(2), torch.ones(2))
torch.nn.ReLU()(3)
torch.nn.Hardtanh(1.0, -1.0)
torch.nn.Softmax2d()(torch.ones(2, 2))
torch.nn.GELU(approximate="no")(torch.ones(2))
torch.nn.GLU()(torch.ones(3))
torch.nn.PReLU(3)(torch.ones(2, 2))
torch.nn.Dropout(1.5)
torch.nn.Dropout3d(-0.1)
torch.nn.FeatureAlphaDropout(2)
torch.nn.Flatten(2)(torch.ones(2, 2))
torch.nn.Unflatten(1, 4)
torch.nn.Unflatten(1, (2, 1.5))
torch.nn.Unflatten(1, (2, 2))(torch.ones(2, 5))
torch.nn.Conv1d(2, 3, 3, groups=0)
torch.nn.Conv1d(3, 4, 3, groups=2)
torch.nn.Conv1d(4, 3, 3, groups=2)
torch.nn.Conv2d(2, 3, 3, padding="some")
torch.nn.Conv2d(2, 3, 3, padding="same", stride=2)
torch.nn.Conv2d(2, 3, 3)(torch.ones(1, 3, 5, 5))
torch.nn.Conv2d(2, 3, 3)(torch.ones(3, 5))
torch.nn.Conv2d(2, 3, 3)(torch.ones(1, 2, 2, 2))
torch.nn.Conv2d(2, 3, (3, 3, 3))(torch.ones(1, 2, 5, 5))
torch.nn.ConvTranspose2d(2, 3, 3, padding_mode="reflect")
torch.nn.ConvTranspose1d(2, 3, 3, stride=2)(torch.ones(1, 2, 4), output_size=[12])
torch.nn.ConvTranspose1d(2, 3, 3, stride=2)(torch.ones(1, 2, 4), output_size=[1, 2, 3, 10])
torch.nn.ConvTranspose2d(2, 3, 3, stride=2)(torch.ones(2, 4, 4), output_size=(10, 8))
torch.nn.ConvTranspose1d(2, 3, 3, output_padding=1)(torch.ones(1, 2, 4))
torch.nn.BatchNorm1d(3)(torch.ones(3))
torch.nn.BatchNorm1d(3)(torch.ones(1, 3))
torch.nn.BatchNorm2d(3)(torch.ones(2, 4, 2, 2))
torch.nn.BatchNorm3d(3)(torch.ones(2, 3, 2, 2))
torch.nn.BatchNorm1d(3, eps=0.0)(torch.ones(2, 3))
torch.nn.SyncBatchNorm(3)(torch.ones(3))
torch.nn.SyncBatchNorm(0)(torch.ones(2, 0))
torch.nn.InstanceNorm1d(3)(torch.ones(3))
torch.nn.InstanceNorm2d(3, affine=True)(torch.ones(2, 4, 2, 2))
torch.nn.InstanceNorm3d(3)(torch.ones(2, 3, 2))
torch.nn.modules.batchnorm._NormBase(3)._check_input_dim(torch.ones(2))
torch.nn.LayerNorm(3)(torch.ones(4))
torch.nn.LayerNorm("ab")
torch.nn.GroupNorm(2, 3)
torch.nn.GroupNorm(2, 4)(torch.ones(1, 3))
torch.nn.RMSNorm(3)(torch.ones(4))
torch.nn.CrossMapLRN2d(3)(torch.ones(2, 2, 2))
torch.nn.Embedding(3, 2, padding_idx=3)
torch.nn.Embedding(3, 2, padding_idx=-4)
torch.nn.Embedding(3, 2, _weight=torch.ones(2, 2))
torch.nn.Embedding(3, 2)(torch.tensor([3]))
torch.nn.Embedding(3, 2)(torch.ones(2))
torch.nn.Embedding.from_pretrained(torch.ones(3))
torch.nn.EmbeddingBag(3, 2, padding_idx=5)
torch.nn.EmbeddingBag(3, 2, mode="middle")(torch.tensor([[1]]))
torch.nn.EmbeddingBag(3, 2)(torch.tensor([1, 2]))
torch.nn.EmbeddingBag.from_pretrained(torch.ones(3))
torch.nn.MaxPool1d(0)(torch.ones(1, 3))
torch.nn.MaxPool2d(3)(torch.ones(2, 2, 2))
torch.nn.MaxPool1d(2, padding=2)(torch.ones(1, 4))
torch.nn.AvgPool2d(2, divisor_override=0)(torch.ones(1, 2, 2))
torch.nn.MaxUnpool1d(2)(torch.ones(1, 2), torch.tensor([[0, 9]]))
torch.nn.FractionalMaxPool2d(2)
torch.nn.FractionalMaxPool2d(2, 3, 0.5)
torch.nn.FractionalMaxPool2d(2, output_ratio=1.5)
torch.nn.FractionalMaxPool3d(2, output_ratio=(0.5, 0.5, 0))
torch.nn.FractionalMaxPool3d(0, output_size=2)
torch.nn.FractionalMaxPool3d((1, 0, 1), output_size=2)
torch.nn.LPPool1d("two", 2)(torch.ones(1, 4))
torch.nn.AdaptiveAvgPool2d((2, 2, 2))(torch.ones(1, 4, 4))
torch.nn.AdaptiveMaxPool1d(2)(torch.ones(4))
torch.nn.ReflectionPad1d(3)(torch.ones(1, 2))
torch.nn.CircularPad2d(1)(torch.ones(2, 2))
torch.nn.ConstantPad1d(1)
torch.nn.ZeroPad2d((1, 2, 3))(torch.ones(2, 2))
torch.nn.PixelShuffle(2)(torch.ones(1, 3, 2, 2))
torch.nn.PixelUnshuffle(2)(torch.ones(1, 3, 3))
torch.nn.ChannelShuffle(2)(torch.ones(1, 3, 2))
torch.nn.Upsample()(torch.ones(1, 1, 2))
torch.nn.Upsample(size=2, scale_factor=2)(torch.ones(1, 1, 2))
torch.nn.Upsample(scale_factor="2a")
torch.nn.Fold(4, 2)(torch.ones(1, 4, 5))
torch.nn.Unfold(3)(torch.ones(1, 1, 2, 2))
torch.nn.CosineSimilarity()(torch.ones(2, 3), torch.ones(2, 4))
torch.nn.L1Loss(reduction="most")(torch.ones(2), torch.ones(2))
torch.nn.MSELoss()(torch.ones(2), torch.ones(2), 3)
torch.nn.NLLLoss()(torch.ones(2, 3), torch.tensor([0, 3]))
torch.nn.CrossEntropyLoss()(torch.ones(2, 3), torch.tensor([0]))
torch.nn.CrossEntropyLoss(weight=torch.ones(2))(torch.ones(2, 3), torch.tensor([0, 1]))
torch.nn.CrossEntropyLoss(label_smoothing=2.0)(torch.ones(2, 3), torch.tensor([0, 1]))
torch.nn.LinearCrossEntropyLoss(3, 4, weight=torch.ones(3))
torch.nn.LinearCrossEntropyLoss(3, 4, label_smoothing=-1)
torch.nn.LinearCrossEntropyOptions(acc_policy="none")
torch.nn.LinearCrossEntropyOptions(chunking_method="aspect_ratio:0")
torch.nn.LinearCrossEntropyOptions(batch_chunk_size=0)
torch.nn.BCELoss()(torch.tensor([2.0]), torch.ones(1))
torch.nn.BCELoss()(torch.ones(2), torch.ones(3))
torch.nn.HuberLoss(delta="a")
torch.nn.HuberLoss(delta=-1.0)(torch.ones(2), torch.ones(2))
torch.nn.GaussianNLLLoss()(torch.ones(2, 3), torch.ones(2, 3), torch.ones(2, 2))
torch.nn.GaussianNLLLoss()(torch.ones(2), torch.ones(2), -torch.ones(2))
torch.nn.MultiMarginLoss(p=3)
torch.nn.MultiMarginLoss(weight=torch.ones(1, 1))
torch.nn.TripletMarginLoss(margin=0)
torch.nn.TripletMarginWithDistanceLoss(margin=-1)
torch.nn.CTCLoss()(torch.ones(4, 1, 3), torch.tensor([[1]]), torch.tensor([5]), torch.tensor([1]))
torch.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [])
torch.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [5, 3])
torch.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3, 10])
torch.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3.5])
torch.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3])(torch.ones(2, 8), torch.tensor([1, 10]))
torch.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3])(torch.ones(2, 8), torch.tensor([1]))
torch.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3])(torch.ones(8), torch.tensor([1]))
torch.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3])(torch.ones(1, 1, 8), torch.tensor([1]))
torch.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3])(torch.ones(1, 8), torch.tensor(1))
torch.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3])(torch.ones(1, 8), torch.tensor([[1]]))
torch.nn.LazyLinear(2).weight.shape
torch.nn.LazyLinear(2).share_memory()
torch.nn.LazyConv2d(4, 3)(torch.ones(3, 3))
torch.nn.LazyConv2d(4, 3, groups=2)(torch.ones(1, 3, 5, 5))
torch.nn.LazyConv1d(4, 3)(torch.ones(1, 2, 2))
torch.nn.LazyConvTranspose1d(4, 3)(torch.ones(1))
torch.nn.LazyBatchNorm2d()(torch.ones(2, 3))
torch.nn.Linear(2, 2).load_state_dict(torch.nn.LazyLinear(2).state_dict())
torch.nn.modules.lazy.LazyModuleMixin.initialize_parameters(torch.nn.Identity())
torch.nn.LazyLinear(2)._replicate_for_data_parallel()
torch.nn.UninitializedParameter(dtype=torch.int64)
"""


@pytest.mark.parametrize("line", REFUSED.strip().splitlines())
def test_what_is_refused(line):
    def program(torch):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return attempt(lambda: eval(line, {"torch": torch}) and None)

    agree(program)


def test_unknown_padding():
    """Which ways there are is a set, and is told in any order."""

    def told(torch):
        with pytest.raises(ValueError) as error:
            torch.nn.Conv2d(2, 3, 3, padding_mode="mirror")
        before, ways, after = re.split("[{}]", str(error.value))
        return before, sorted(ways.split(", ")), after

    assert told(tapegrad) == told(pytorch)


@pytest.mark.parametrize("operation", ["+ 1", ".sum()", ".clone()", "[0]", ".detach()", ".numpy()"])
def test_uninitialized_parameters_take_part_in_nothing(operation):
    def program(torch):
        shown = attempt(lambda: eval(f"weight {operation}", {"weight": torch.nn.LazyLinear(2).weight}))
        return [*shown[:2], shown[2].partition(" in <")[0], shown[2].rpartition(">")[2]]

    agree(program)


WARNED = [
    lambda torch: torch.nn.Hardtanh(min_value=-2.0, max_value=3.0),
    lambda torch: torch.nn.L1Loss(size_average=False),
    lambda torch: torch.nn.MSELoss(reduce=False),
    lambda torch: torch.nn.NLLLoss2d(),
    lambda torch: torch.nn.Softmax()(torch.ones(2, 2)),
    lambda torch: torch.nn.LogSoftmax()(torch.ones(2)),
    lambda torch: torch.nn.InstanceNorm1d(3)(torch.ones(2, 4, 5)),
    lambda torch: torch.nn.KLDivLoss()(torch.zeros(2), torch.ones(2)),
    lambda torch: torch.nn.L1Loss()(torch.zeros(2), torch.ones(1)),
    lambda torch: torch.nn.Dropout2d()(torch.ones(2, 2)),
    lambda torch: torch.nn.Dropout3d()(torch.ones(2, 2)),
    lambda torch: torch.nn.Linear(0, 2),
    lambda torch: torch.nn.Conv1d(0, 2, 1),
    lambda torch: torch.nn.Linear(2, 2)(torch.ones(1, 2)),
]


@pytest.mark.parametrize("program", WARNED)
def test_warnings(program):
    agree(lambda torch: warned(lambda: program(torch)))


def test_implicit_dimensions_and_old_reductions():
    def program(torch):
        with recorded_warnings():
            x = torch.arange(6.0).reshape(2, 3)
            soft = [cls()(x) for cls in (torch.nn.Softmax, torch.nn.Softmin, torch.nn.LogSoftmax)]
            hard = torch.nn.Hardtanh(min_value=-2.0, max_value=3.0)
            made = [torch.nn.L1Loss(False), torch.nn.MSELoss(reduce=False), torch.nn.BCELoss(None, True, False)]
            return [soft, repr(hard), [loss.reduction for loss in made]]

    agree(program)


# -- programs ----------------------------------------------------------------------------------------------------------

PROGRAMS = program = Programs()


@program
def lazy_layers_learn_their_shapes(torch):
    nn = torch.nn
    model = nn.Sequential(nn.LazyConv2d(4, 3, padding=1), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
    before = [repr(model), [name for name, _ in model.named_parameters()], model[3].has_uninitialized_params()]
    count = [len(model[0]._forward_pre_hooks), len(model[0]._load_state_dict_pre_hooks)]
    out = model.double()(torch.ones(2, 3, 4, 4, dtype=torch.float64))
    after = [repr(model), [type(layer).__name__ for layer in model], hasattr(model[0], "_initialize_hook")]
    kinds = [[name, type(p).__name__, list(p.shape), p.requires_grad] for name, p in model.named_parameters()]
    buffers = [[name, type(b).__name__, list(b.shape)] for name, b in model.named_buffers()]
    left = [len(model[0]._forward_pre_hooks), len(model[0]._load_state_dict_pre_hooks)]
    return [before, count, after, left, kinds, buffers, list(out.shape), str(out.dtype).rpartition(".")[2]]


@program
def lazy_layers_save_and_load(torch):
    nn = torch.nn
    full, lazy = nn.Linear(3, 2), nn.LazyLinear(2)
    state = lazy.state_dict()
    saved = [[name, repr(value)] for name, value in state.items()]
    other = nn.LazyLinear(2)
    other.load_state_dict(state)
    lazy.load_state_dict(full.state_dict())
    loaded = [repr(lazy), type(lazy).__name__, bool((lazy.weight == full.weight).all()), lazy.in_features]
    out = lazy(torch.ones(1, 3))
    seen = [repr(lazy), list(out.shape), type(lazy).__name__]
    normal = nn.LazyBatchNorm1d()
    normal.load_state_dict(nn.BatchNorm1d(3).state_dict())
    return [saved, repr(other.weight), loaded, seen, list(normal.running_mean.shape), type(normal).__name__]


@program
def a_loaded_lazy_layer_refuses_inputs_that_do_not_fit(torch):
    lazy = torch.nn.LazyLinear(2)
    lazy.load_state_dict(torch.nn.Linear(3, 2).state_dict())
    return attempt(lambda: lazy(torch.ones(1, 4)))


@program
def lazy_layers_are_copied_and_pickled(torch):
    lazy = torch.nn.LazyConv1d(4, 3, bias=False)
    made = [copy.deepcopy(lazy), pickle.loads(pickle.dumps(lazy))]
    shapes = [list(other(torch.ones(1, 2, 5)).shape) for other in made]
    return [[repr(other) for other in made], shapes, repr(lazy), lazy.has_uninitialized_params()]


@program
def lazy_layers_that_are_not_finished(torch):
    class Half(torch.nn.modules.lazy.LazyModuleMixin, torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.UninitializedParameter()

        def initialize_parameters(self, x):
            pass

        def forward(self, x):
            return x

    class Nothing(torch.nn.modules.lazy.LazyModuleMixin, torch.nn.Linear):
        pass

    return [attempt(lambda: Half()(torch.ones(1))), attempt(lambda: Nothing(1, 1)(torch.ones(1)))]


@program
def uninitialized_tensors(torch):
    parameter = torch.nn.UninitializedParameter(dtype=torch.float64)
    buffer = torch.nn.UninitializedBuffer(persistent=False)
    shown = [repr(parameter), parameter.requires_grad, repr(buffer), buffer.persistent]
    shown.append(isinstance(buffer, torch.nn.Buffer))
    lazy = [torch.nn.parameter.is_lazy(parameter), torch.nn.parameter.is_lazy(torch.ones(1))]
    parameter.materialize((2, 3))
    buffer.materialize([4], dtype=torch.int64)
    (parameter * 2).sum().backward()
    kinds = [type(parameter).__name__, list(parameter.shape), parameter.grad, type(buffer).__name__, list(buffer.shape)]
    return [shown, lazy, kinds, str(buffer.dtype), torch.nn.parameter.is_lazy(parameter)]


@program
def statistics_run(torch):
    x = torch.arange(12.0).reshape(4, 3)
    told = []
    for options in ({}, {"momentum": None}, {"momentum": 0.5, "affine": False}, {"track_running_stats": False}):
        layer = torch.nn.BatchNorm1d(3, **options)
        layer(x), layer(x * 2)
        told.append([layer.running_mean, layer.running_var, layer.num_batches_tracked, layer.eval()(x)])
        layer.reset_parameters()
        told.append([layer.running_mean, layer.num_batches_tracked])
    return told


@program
def states_without_a_count_of_batches(torch):
    layer = torch.nn.BatchNorm1d(3)
    layer(torch.arange(6.0).reshape(2, 3))
    state = layer.state_dict()
    del state["num_batches_tracked"]
    told = [attempt(lambda: layer.load_state_dict(state))]
    state._metadata[""]["version"] = 1
    told.append([str(layer.load_state_dict(state)), layer.num_batches_tracked])
    del state._metadata
    return [*told, str(torch.nn.BatchNorm1d(3).load_state_dict(state))]


@program
def states_of_instance_norms_of_old(torch):
    state = torch.nn.InstanceNorm1d(3, track_running_stats=True).state_dict()
    del state._metadata
    return attempt(lambda: torch.nn.InstanceNorm1d(3).load_state_dict(state))


@program
def batch_norms_are_converted(torch):
    nn = torch.nn
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Sequential(nn.BatchNorm2d(3, affine=False)))
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(model.eval(), "group")
    same = [converted[1].weight is model[1].weight, converted[1].running_var is not None, converted[1].training]
    alone = nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm1d(2, bias=False))
    return [repr(converted), same, converted[1].process_group, repr(alone), isinstance(alone, nn.SyncBatchNorm)]


@program
def embeddings_from_tables(torch):
    table = torch.arange(6.0).reshape(3, 2)
    frozen = torch.nn.Embedding.from_pretrained(table, padding_idx=-1)
    trained = torch.nn.EmbeddingBag.from_pretrained(table, freeze=False, mode="sum", include_last_offset=True)
    bags = trained(torch.tensor([0, 1, 2]), torch.tensor([0, 1, 3]))
    padded = torch.nn.Embedding(3, 2, padding_idx=1)
    told = [repr(frozen), frozen.weight.requires_grad, frozen(torch.tensor([2, 0])), repr(trained), bags]
    return [*told, trained.weight.requires_grad, frozen.padding_idx, padded.weight[1], repr(padded)]


@program
def paddings_of_embeddings_get_no_gradient(torch):
    layer = torch.nn.Embedding(3, 2, padding_idx=1)
    layer(torch.tensor([0, 1, 1, 2])).sum().backward()
    return layer.weight.grad


@program
def adaptive_softmax_predicts(torch):
    layer = torch.nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2, 4], div_value=1.0).double()
    with torch.no_grad():
        for number, parameter in enumerate(layer.parameters(), 1):
            parameter.copy_(torch.arange(parameter.numel()).reshape(parameter.shape).sin() * number)
    x = torch.arange(12.0, dtype=torch.float64).reshape(3, 4).cos() * 3
    output, loss = layer(x, torch.tensor([5, 0, 2]))
    named = type(layer(x, torch.tensor([5, 0, 2]))).__name__
    return [repr(layer), layer.log_prob(x).detach(), layer.predict(x), layer.predict(x[:1]), output, loss, named]


@program
def layers_are_reset(torch):
    layers = [torch.nn.Linear(2, 2), torch.nn.Conv1d(2, 2, 1), torch.nn.Bilinear(2, 2, 2), torch.nn.PReLU(2)]
    layers += [torch.nn.LayerNorm(2), torch.nn.GroupNorm(1, 2), torch.nn.RMSNorm(2), torch.nn.BatchNorm1d(2)]
    layers += [torch.nn.Embedding(2, 2), torch.nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2], div_value=1.0)]
    told = []
    for layer in layers:
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.fill_(7.0)
        layer.reset_parameters()
        told.append([bool((parameter == 7.0).any()) for parameter in layer.parameters()])
    return told


@program
def settings_can_be_changed(torch):
    layer = torch.nn.LeakyReLU(0.5)
    layer.negative_slope = 0.25
    return [layer(torch.tensor([-4.0])), repr(layer), vars(layer)["negative_slope"]]


@program
def layers_are_derived_from(torch):
    class Loud(torch.nn.ReLU):
        def extra_repr(self):
            return "loud, " + super().extra_repr()

    class Scaled(torch.nn.Conv2d):
        def _conv_forward(self, input, weight, bias):
            return super()._conv_forward(input, weight * 0, bias)

    class Normal(torch.nn.modules.batchnorm._BatchNorm):
        def _check_input_dim(self, input):
            pass

    convolved = Scaled(1, 1, 2, bias=False)(torch.ones(1, 1, 3, 3))
    return [repr(Loud(True)), convolved, Normal(2)(torch.arange(8.0).reshape(2, 2, 2))]


@program
def prefixes_of_states(torch):
    state = torch.nn.Linear(2, 2).state_dict(prefix="module.")
    torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    return [list(state), list(state._metadata)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs(program):
    agree(program, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_gradients_of_convolutions_by_themselves(dims):
    def program(torch):
        lengths, kernel = (5, 6, 4)[:dims], (2, 3, 2)[:dims]
        x = torch.arange(float(2 * 4 * np.prod(lengths))).reshape(2, 4, *lengths).sin()
        weight = torch.arange(float(6 * 2 * np.prod(kernel))).reshape(6, 2, *kernel).cos()
        settings = {"stride": 2, "padding": 1, "dilation": 1, "groups": 2}
        gradient = getattr(torch.nn.functional, f"conv{dims}d")(x, weight, None, **settings).sin()
        module = torch.nn.grad
        of_input = getattr(module, f"conv{dims}d_input")(x.shape, weight, gradient, **settings)
        return [of_input, getattr(module, f"conv{dims}d_weight")(x, weight.shape, gradient, **settings)]

    agree(program, rtol=1e-4, atol=1e-5)


def test_reductions_by_their_old_names():
    def program(torch):
        module = importlib.import_module(f"{torch.__name__}.nn._reduction")
        flags = [(average, reduce) for average in (None, True, False) for reduce in (None, True, False)]
        strings = [module.legacy_get_string(*pair, emit_warning=False) for pair in flags]
        numbers = [module.legacy_get_enum(*pair, emit_warning=False) for pair in flags]
        told = warned(lambda: module.get_enum("elementwise_mean")) + warned(lambda: module.legacy_get_enum(True, False))
        return [strings, numbers, told, attempt(lambda: module.get_enum("most"))]

    agree(program)


CONVOLVED = """
F.conv_tbc(x, w, b, 1)
F.conv_tbc(x, w, b)
torch.conv_tbc(x, w, b, pad=2)
F.conv_tbc(x, w, b[:2])
F.conv_tbc(x[0], w, b)
F.conv_tbc(x, w[0], b)
F.conv_tbc(x, w[:, :2], b)
F.conv_tbc(x, w, w)
F.conv_tbc(x, w, None)
F.native_channel_shuffle(x, 2)
torch.native_channel_shuffle(x.permute(1, 2, 0)[:, :2], 2)
"""


@pytest.mark.parametrize("line", CONVOLVED.strip().splitlines())
def test_functions_without_layers(line):
    def program(torch):
        x, w, b = (torch.arange(float(np.prod(shape))).reshape(shape).sin() for shape in ((5, 2, 3), (3, 3, 4), (4,)))
        return attempt(lambda: eval(line, {"torch": torch, "F": torch.nn.functional, "x": x, "w": w, "b": b}))

    agree(program, rtol=1e-5, atol=1e-6)


def test_normalization_across_channels_is_local_response_normalization():
    """PyTorch's own goes on counting the first channel."""
    x = pytorch.arange(24.0, dtype=pytorch.float64).reshape(1, 6, 2, 2).sin()
    expected = pytorch.nn.LocalResponseNorm(3, alpha=0.5)(x)
    ours = tapegrad.nn.CrossMapLRN2d(3, alpha=0.5)(translated(x))
    assert pytorch.allclose(pytorch.tensor(ours.numpy()), expected)
    assert not pytorch.allclose(pytorch.nn.CrossMapLRN2d(3, alpha=0.5)(x), expected)


def test_nobody_looks_for_classes_that_override_functions_once_lazy_layers_were_called():
    from tapegrad._src.bindings.declaration.handing import overriding

    before = overriding.contexts
    layer = tapegrad.nn.LazyLinear(2)
    assert overriding.contexts == before + 2
    layer(tapegrad.ones(1, 3))
    assert overriding.contexts == before

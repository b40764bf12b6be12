"""PyTorch's own database of modules, run on tapegrad: what ``test_modules_database.py`` compares, and how.

The database has, for each class, functions that make *samples*: arguments to make a module with, and to call it with.
A sample is made on both libraries; tapegrad's module gets the state of PyTorch's. ``BEYOND`` has samples of the classes
that the database leaves out. What is compared: repr, attributes and state dicts; outputs, gradients of inputs and
parameters and those of these, running statistics; all of it once more for copies, and for inputs whose memory is laid
out otherwise.
"""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch as pytorch
from harness import flat_outputs, to_numpy
from late_database import Database
from opinfo import describe, flat, same_type, spread, substituted, tensor, translated, weights

import tapegrad


def database() -> dict[str, Any]:
    """PyTorch's entries by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_modules import module_db
    return {info.name.removeprefix("nn."): info for info in module_db}


ENTRIES = Database(database)
"""The database, by the names of the classes."""

DOUBLE = pytorch.float64


@dataclass(frozen=True)
class Sample:
    """The arguments to make a module with, and those to call it with, as PyTorch has them."""

    name: str
    made: tuple[tuple, dict]
    called: tuple[tuple, dict]
    training: bool = True

    def pair(self) -> tuple[Any, Any]:
        """PyTorch's module, and tapegrad's with its state; lazy ones are still without."""
        pytorch.default_generator.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            args, kwargs = self.made
            theirs = getattr(pytorch.nn, self.name)(*args, **kwargs).to(DOUBLE).train(self.training)
            args, kwargs = translated(self.made)
            args = [likewise(arg) if isinstance(arg, pytorch.nn.Module) else arg for arg in args]
            ours = getattr(tapegrad.nn, self.name)(*args, **kwargs).to(tapegrad.float64).train(self.training)
        if not any(map(pytorch.nn.parameter.is_lazy, (*theirs.parameters(), *theirs.buffers()))):
            hand_over(theirs, ours)
        return theirs, ours


def likewise(layer: Any) -> Any:
    """tapegrad's layer like one of PyTorch's, of which an encoder is made."""
    attention = layer.self_attn
    return tapegrad.nn.TransformerEncoderLayer(
        attention.embed_dim, attention.num_heads, layer.linear1.out_features, layer.dropout.p,
        layer.activation.__name__, layer.norm1.eps, attention.batch_first, layer.norm_first,
        layer.linear1.bias is not None,
    )  # fmt: skip


def hand_over(theirs: Any, ours: Any) -> None:
    """Give tapegrad's module the state of PyTorch's."""
    state = theirs.state_dict()
    given = type(state)((name, tensor(value)) for name, value in state.items())
    given._metadata = copy.deepcopy(state._metadata)
    ours.load_state_dict(given)


def hand_back(ours: Any, theirs: Any) -> None:
    """Give PyTorch's module the state of tapegrad's."""
    state = ours.state_dict()
    given = type(state)((name, pytorch.tensor(value.numpy())) for name, value in state.items())
    given._metadata = copy.deepcopy(state._metadata)
    theirs.load_state_dict(given)


def ours_of(called: tuple[tuple, dict]) -> tuple[tuple, dict]:
    """Arguments as tapegrad has them; what is given twice is given twice."""
    return translated(substituted(called, {id(x): tensor(x) for x in flat(called) if isinstance(x, pytorch.Tensor)}))


def samples_of(name: str, limit: int | None, training: bool = True) -> Iterator[Sample]:
    """Samples of a class; at most ``limit`` of them, spread over all there are."""
    info = ENTRIES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytorch.default_generator.manual_seed(0)
        found = info.module_inputs_func(info, device="cpu", dtype=DOUBLE, requires_grad=True, training=training)
    for position in spread(len(found), limit):
        made, called = found[position].constructor_input, found[position].forward_input
        yield Sample(name, (made.args, made.kwargs), (called.args, called.kwargs), training)


def wrong_samples_of(name: str) -> list[tuple[Sample, bool]]:
    """Samples that are refused, and whether that is when the module is made."""
    info = ENTRIES[name]
    options = {"device": "cpu", "dtype": pytorch.float32, "requires_grad": False, "training": False}
    found = info.module_error_inputs_func(info, **options)
    return [
        (Sample(name, (made.args, made.kwargs), (called.args, called.kwargs) if called else ((), {})), early)
        for error in found
        for made, called in [(error.module_error_input.constructor_input, error.module_error_input.forward_input)]
        for early in [error.error_on.name == "CONSTRUCTION_ERROR"]
    ]


# -- what is seen ------------------------------------------------------------------------------------------------------


def shown(module: Any) -> dict[str, Any]:
    """What can be seen of a module that isn't called."""
    state = module.state_dict()
    settings = {name: value for name, value in vars(module).items() if is_plain(value) and name != "call_super_init"}
    return {
        "repr": repr(module),
        "settings": {name: value for name, value in settings.items() if not name.startswith("_")},
        "state": [[key, *describe(value)[:2]] for key, value in state.items() if not lazy(value)],
        "metadata": dict(state._metadata),
        "parameters": [[name, lazy(p) or describe(p)] for name, p in module.named_parameters()],
        "constants": sorted(getattr(module, "__constants__", [])),
    }


def is_plain(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(is_plain, value))
    return value is None or isinstance(value, (bool, int, float, str))


def lazy(value: Any) -> bool:
    return type(value).__name__.startswith("Uninitialized")


def observed(torch: Any, module: Any, called: tuple[tuple, dict], values: bool = True, second: bool = True) -> dict:
    """What a call of a module gives, and its gradients; what is raised, where something is."""
    args, kwargs = called
    seen: dict[str, Any] = {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outputs = flat_outputs(module(*args, **kwargs))
        seen["kind"] = [describe(out) for out in outputs]
        seen["buffers"] = [to_numpy(buffer) for buffer in module.buffers()]
        if values:
            seen["forward"] = to_numpy(outputs)
            given = [x for x in flat(called) if isinstance(x, torch.Tensor)]
            leaves = [x for x in (*given, *module.parameters()) if x.requires_grad]
            seen.update(derivatives(torch, [out for out in outputs if out.requires_grad], leaves, second))
    except Exception as error:  # what it raises is what is compared
        seen["raised"] = error
    return seen


def derivatives(torch: Any, roots: list, leaves: list, second: bool) -> dict[str, Any]:
    """The gradients, and the gradients of these."""
    seen: dict[str, Any] = {}
    if roots and leaves:
        rng = np.random.default_rng(0)
        first = gradients(torch, roots, leaves, rng, create_graph=second)
        seen["gradient"] = to_numpy(first)
        if second:
            roots = [one for one in first if one is not None and one.requires_grad]
            zeros = [torch.zeros_like(leaf) for leaf in leaves]
            found = gradients(torch, roots, leaves, rng, materialize_grads=True) if roots else zeros
            seen["second"] = to_numpy(found)
    return seen


def gradients(torch: Any, roots: list, leaves: list, rng: np.random.Generator, **options: Any) -> list:
    seeds = [weights(torch, root, rng) for root in roots]
    return list(torch.autograd.grad(roots, leaves, seeds, allow_unused=True, **options))


def disagreement(ours: dict, theirs: dict, rtol: float = 1e-9, atol: float = 1e-10, names: bool = True) -> str | None:
    """The first thing in which two accounts of ``observed`` differ."""
    expected, got = theirs.get("raised"), ours.get("raised")
    if expected is not None or got is not None:
        agrees = got is not None and expected is not None and same_type(got, expected)
        return None if agrees else f"raised {got!r}, expected {expected!r}"[:2000]
    kinds = [[kind if names else kind[:3] for kind in seen["kind"]] for seen in (ours, theirs)]
    if kinds[0] != kinds[1]:
        return f"kind: {kinds[0]}, expected {kinds[1]}"
    for stage in ("forward", "gradient", "second", "buffers"):
        if (stage in ours) != (stage in theirs):
            return f"{stage}: {stage in ours}, expected {stage in theirs}"
        for got, expected in zip(ours.get(stage, ()), theirs.get(stage, ()), strict=True):
            if (got is None) != (expected is None):
                return f"{stage}: {got}, expected {expected}"
            if got is not None and not np.allclose(got, expected, rtol, atol, equal_nan=True):
                return f"{stage}: {got}, expected {expected}"
    return None


def otherwise_in_memory(called: tuple[tuple, dict]) -> tuple[tuple, dict]:
    """The same arguments, floating tensors of several dimensions with their memory in another order."""
    moved = {
        id(x): x.detach().transpose(0, -1).contiguous().transpose(0, -1).requires_grad_(x.requires_grad)
        for x in flat(called)
        if isinstance(x, pytorch.Tensor) and x.is_floating_point() and x.dim() > 1
    }
    return substituted(called, moved)


def copies(module: Any) -> Iterator[Any]:
    """The module copied, and pickled."""
    yield copy.deepcopy(module)
    yield pickle.loads(pickle.dumps(module))


def draws(torch: Any, program: Callable[[Any], Any]) -> list[list]:
    """The calls of random functions that a program makes: name and arguments, without the tensor."""
    calls = []

    class Noting(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
            if function.__name__ in ("uniform_", "normal_", "randperm") and not (kwargs and "tensor" in kwargs):
                calls.append([function.__name__, *(arg for arg in args if not isinstance(arg, torch.Tensor))])
            return function(*args, **(kwargs or {}))

    with Noting():
        program(torch)
    return calls


# -- beyond the database -----------------------------------------------------------------------------------------------


def floats(*shape: int, low: float = -2.0, high: float = 2.0) -> pytorch.Tensor:
    """A tensor of these lengths with the same numbers each time, which requires grad."""
    values = np.random.default_rng(sum(shape)).uniform(low, high, shape)
    return pytorch.tensor(values, dtype=DOUBLE, requires_grad=True)


def integers(*shape: int, below: int) -> pytorch.Tensor:
    return pytorch.tensor(np.random.default_rng(0).integers(0, below, shape))


def sample(name: str, *made: Any, to: tuple, training: bool = True, **settings: Any) -> Sample:
    return Sample(name, (made, settings), (to, {}), training)


def pooled(dims: int, **options: Any) -> tuple:
    """An input and indices as ``MaxPool`` gives them."""
    pool = getattr(pytorch.nn, f"MaxPool{dims}d")(2, return_indices=True, **options)
    out, indices = pool(floats(2, 3, *(4, 6, 4)[:dims]).detach())
    return out.requires_grad_(), indices


BEYOND: list[Callable[[], Sample]] = [
    lambda: sample("AdaptiveLogSoftmaxWithLoss", 8, 12, [3, 6], div_value=2.0,
                   to=(floats(6, 8), pytorch.tensor([0, 2, 3, 5, 6, 11]))),
    lambda: sample("AdaptiveLogSoftmaxWithLoss", 8, 12, [3], head_bias=True, div_value=2.0,
                   to=(floats(8), pytorch.tensor(7))),
    lambda: sample("AlphaDropout", 0.3, to=(floats(3, 4),)),
    lambda: sample("AlphaDropout", 0.3, training=False, to=(floats(3, 4),)),
    lambda: sample("ChannelShuffle", 2, to=(floats(2, 4, 3, 3),)),
    lambda: sample("CosineSimilarity", dim=0, to=(floats(4, 3), floats(4, 3, low=1))),
    lambda: sample("CrossMapLRN2d", 3, alpha=0.5, to=(floats(2, 2, 3, 2).detach(),)),
    lambda: sample("Dropout", 0.25, to=(floats(3, 4),)),
    lambda: sample("Dropout", 0.25, inplace=True, training=False, to=(floats(3, 4),)),
    lambda: sample("Dropout1d", to=(floats(3, 4, 2),)),
    lambda: sample("Dropout2d", to=(floats(3, 4, 2, 2),)),
    lambda: sample("Dropout3d", to=(floats(3, 4, 2, 2, 2),)),
    lambda: sample("EmbeddingBag", 5, 3, mode="sum", to=(integers(6, below=5), pytorch.tensor([0, 2, 2]), floats(6))),
    lambda: sample("EmbeddingBag", 5, 3, mode="max", padding_idx=1, to=(integers(2, 3, below=5),)),
    lambda: sample("EmbeddingBag", 5, 3, max_norm=1.0, include_last_offset=True,
                   to=(integers(4, below=5), pytorch.tensor([0, 3, 4]))),
    lambda: sample("Embedding", 5, 3, padding_idx=-2, max_norm=1.0, norm_type=1.0, scale_grad_by_freq=True,
                   to=(integers(2, 3, below=5),)),
    lambda: sample("FeatureAlphaDropout", 0.5, to=(floats(3, 4, 2),)),
    lambda: sample("Flatten", to=(floats(2, 3, 4),)),
    lambda: sample("Fold", (4, 5), (2, 3), dilation=(1, 1), padding=1, stride=2, to=(floats(2, 12, 9),)),
    lambda: sample("Unfold", (2, 3), padding=1, to=(floats(2, 2, 4, 5),)),
    lambda: sample("Hardsigmoid", to=(floats(3, 4),)),
    lambda: sample("Identity", 1, unused=2, to=(floats(3),)),
    lambda: sample("LazyBatchNorm1d", to=(floats(4, 3),)),
    lambda: sample("LazyBatchNorm2d", momentum=None, to=(floats(4, 3, 2, 2),)),
    lambda: sample("LazyBatchNorm3d", affine=False, to=(floats(4, 3, 2, 2, 2),)),
    lambda: sample("LazyInstanceNorm1d", affine=True, to=(floats(4, 3, 5),)),
    lambda: sample("LazyInstanceNorm2d", track_running_stats=True, to=(floats(4, 3, 2, 2),)),
    lambda: sample("LazyInstanceNorm3d", bias=False, to=(floats(4, 3, 2, 2, 2),)),
    lambda: sample("LazyLinear", 4, to=(floats(2, 3),)),
    lambda: sample("LazyLinear", 4, bias=False, to=(floats(3),)),
    lambda: sample("MaxUnpool1d", 2, to=pooled(1)),
    lambda: sample("MaxUnpool2d", 2, stride=2, to=(*pooled(2), (2, 3, 5, 7))),
    lambda: sample("MaxUnpool3d", (2, 2, 2), to=pooled(3)),
    lambda: sample("PairwiseDistance", p=3.0, keepdim=True, to=(floats(4, 3), floats(4, 3, low=1))),
    lambda: sample("PixelShuffle", 2, to=(floats(2, 8, 3, 2),)),
    lambda: sample("PixelUnshuffle", 2, to=(floats(2, 2, 4, 6),)),
    lambda: sample("RReLU", 0.1, 0.4, to=(floats(3, 4),)),
    lambda: sample("RReLU", 0.1, 0.4, training=False, to=(floats(3, 4),)),
    lambda: sample("SyncBatchNorm", 3, to=(floats(4, 3, 2),)),
    lambda: sample("SyncBatchNorm", 3, training=False, bias=False, to=(floats(4, 3, 2),)),
    lambda: sample("TripletMarginLoss", swap=True, margin=3.0,
                   to=(floats(4, 3), floats(4, 3, low=1), floats(4, 3, high=0))),
    lambda: sample("TripletMarginWithDistanceLoss", margin=3.0, reduction="none",
                   to=(floats(4, 3), floats(4, 3, low=1), floats(4, 3, high=0))),
    lambda: sample("Unflatten", 1, (2, -1), to=(floats(2, 6),)),
    lambda: sample("Upsample", scale_factor=2, mode="bilinear", align_corners=True, to=(floats(1, 2, 3, 2),)),
    lambda: sample("Upsample", size=(4, 5), mode="nearest", to=(floats(1, 2, 3, 2),)),
    lambda: sample("Upsample", scale_factor=(1.5, 2.0), mode="bicubic", recompute_scale_factor=True,
                   to=(floats(1, 2, 4, 3),)),
    lambda: sample("UpsamplingBilinear2d", scale_factor=2, to=(floats(1, 2, 3, 2),)),
    lambda: sample("UpsamplingNearest2d", size=(5, 4), to=(floats(1, 2, 3, 2),)),
    lambda: sample("Conv2d", 2, 4, 3, padding="same", padding_mode="reflect", dilation=(1, 2), groups=2,
                   to=(floats(2, 2, 4, 6),)),
    lambda: sample("Conv1d", 2, 3, 2, padding=2, padding_mode="circular", bias=False, to=(floats(2, 5),)),
    lambda: sample("Conv3d", 1, 2, (2, 1, 2), padding=(1, 0, 1), padding_mode="replicate", to=(floats(1, 1, 2, 3, 2),)),
    lambda: sample("ConvTranspose2d", 2, 3, 3, stride=2, to=(floats(1, 2, 3, 2), (8, 6))),
    lambda: sample("ConvTranspose1d", 2, 4, 3, stride=2, padding=1, output_padding=1, groups=2, dilation=2,
                   to=(floats(2, 4),)),
    lambda: sample("BatchNorm1d", 3, momentum=None, bias=False, to=(floats(4, 3),)),
    lambda: sample("BatchNorm2d", 3, track_running_stats=False, training=False, to=(floats(4, 3, 2, 2),)),
    lambda: sample("LayerNorm", [3, 2], bias=False, to=(floats(4, 3, 2),)),
    lambda: sample("GroupNorm", 2, 4, bias=False, to=(floats(3, 4, 2),)),
    lambda: sample("ReLU", inplace=True, to=(floats(3, 4).detach(),)),
    lambda: sample("AvgPool2d", 2, divisor_override=3, ceil_mode=True, to=(floats(1, 2, 5, 5),)),
    lambda: sample("FractionalMaxPool2d", (2, 2), output_ratio=0.6, return_indices=True,
                   to=(floats(1, 2, 6, 6),), _random_samples=pytorch.full((1, 2, 2), 0.3, dtype=DOUBLE)),
]  # fmt: skip
"""Samples of the classes that aren't in the database, and of settings that it doesn't try."""

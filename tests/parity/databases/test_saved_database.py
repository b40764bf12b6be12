"""What a write before backward is refused for: every operator of PyTorch's database, every tensor that is given or got.

The last sample of each entry is run once for each of its tensors and results. That one is written to, without a record
(and without a change of numbers), and gradients are asked for: where PyTorch kept it, backward raises. tapegrad gets
tensors of the device ``meta``, where it keeps what it keeps on all devices, and nothing is compiled; of the CPU where
there must be data.
"""

import re
import warnings
from typing import Any

import opinfo
import pytest
import torch as pytorch
from harness import flat_outputs, sentence
from late_database import listed
from opinfo import ENTRIES, counterpart, flat, translated
from opinfo_exceptions import LEFT_OUT

import tapegrad

pytestmark = pytest.mark.once("what a node keeps is a matter of its plan, which deferred operators share")

COPIED = "PyTorch keeps a reshaped copy of it"
CAST = "the results that are kept have another dtype than those that are given to the caller"
PLACES = "what is kept is the places where the mask is set, or the bounds of segments, not the tensor itself"
STATISTICS = "backward computes the statistics again; running ones are given to backward by PyTorch"
COMPOSED = "composed of other operators than PyTorch's"

OTHERWISE = {
    "einsum": (COPIED, 0), "tensordot": (COPIED, 1), "nn.functional.scaled_dot_product_attention": (COPIED, 0, 1, 2, 3),
    "nn.functional.fractional_max_pool2d": (CAST, 3), "nn.functional.fractional_max_pool3d": (CAST, 2),
    "masked_select": (PLACES, 1), "index_put": (PLACES, 1), "_segment_reduce.lengths": (PLACES, 1),
    "nn.functional.embedding_bag": (PLACES, 2), "linalg.lu": (PLACES, 1),
    "native_group_norm": (STATISTICS, 2, 3), "native_layer_norm": (STATISTICS, 2, 3),
    "native_batch_norm": (STATISTICS, 2, 3), "_native_batch_norm_legit": (STATISTICS, 2, 3),
    "_batch_norm_with_update": (STATISTICS, 3, 4, 6, 7, 8),
    "combinations": (COMPOSED, 0), "nn.functional.linear_cross_entropy": (COMPOSED, 1, 4),
}  # fmt: skip
"""Entries, why one of both keeps what the other does not, and of which tensors that is so."""

SHOWN_OTHERWISE = (
    "__rmatmul__", "linalg.pinv.singular", "matmul", "nn.functional.bilinear", "nn.functional.linear",
    "nn.functional.linear_cross_entropy.chunked", "nn.functional.linear_cross_entropy.chunked_none",
    "nn.functional.multi_head_attention_forward", "pca_lowrank", "svd_lowrank", "index_reduce.mean",
    "index_reduce.prod", "index_reduce.amin", "index_reduce.amax", "take_along_dim", "einsum", "tensordot",
    "nn.functional.linear_cross_entropy",
)  # fmt: skip
"""Entries that keep a reshaped view of the tensor where PyTorch keeps the tensor, or the other way round."""

WITHOUT_SAMPLES = {"nn.functional.batch_norm.without_cudnn": "for CUDA"}
"""Entries that have no samples for the CPU, and why."""


def differentiable(entry: Any) -> Any:
    """The dtype in which an entry is run, if it has derivatives."""
    if not entry.supports_autograd:
        return None
    backward = entry.supported_backward_dtypes("cpu")
    kinds = (pytorch.float64, pytorch.float32, pytorch.complex64)
    return next((dtype for dtype in kinds if dtype in entry.dtypes and dtype in backward), None)


RUN = listed(lambda: [
    name for name in ENTRIES if name not in {*LEFT_OUT, *WITHOUT_SAMPLES} and differentiable(ENTRIES[name])
])  # fmt: skip


def copied(source: pytorch.Tensor, module: Any, device: str) -> Any:
    """A tensor like one of a sample, with memory of its own."""
    if module is tapegrad and device == "cpu":
        return opinfo.tensor(source)
    plain = source.detach()
    if module is pytorch:
        memory = plain.as_strided((plain.untyped_storage().nbytes() // plain.itemsize,), (1,), 0).clone()
    else:
        size = plain.untyped_storage().nbytes() // plain.itemsize
        memory = module.empty(size, dtype=translated(source.dtype), device=device)
    made = memory.as_strided(tuple(plain.shape), plain.stride(), plain.storage_offset()).detach()
    return made.requires_grad_(source.requires_grad)


def arguments(value: Any, module: Any, device: str, made: dict[int, Any]) -> Any:
    """The arguments of a sample for a module."""
    if isinstance(value, pytorch.Tensor):
        if id(value) not in made:
            made[id(value)] = copied(value, module, device)
        return made[id(value)]
    if isinstance(value, dict):
        return {key: arguments(item, module, device, made) for key, item in value.items()}
    if type(value) in (tuple, list):
        return type(value)(arguments(item, module, device, made) for item in value)
    return value if module is pytorch else translated(value)


def run(module: Any, op: Any, sample: Any, which: int | None, device: str) -> Any:
    """What backward says when one of the tensors was written to; without ``which``, how many tensors there are."""
    parts = (sample.input, tuple(sample.args), dict(sample.kwargs))
    given = arguments(parts, module, device, {})
    inputs = [x for x in flat(given) if isinstance(x, module.Tensor)]
    pytorch.default_generator.manual_seed(0)
    outputs = list(flat_outputs(op(given[0], *given[1], **given[2])))
    if which is None:
        return len(inputs), len(outputs)
    leaves, roots = [x for x in inputs if x.requires_grad], [out for out in outputs if out.requires_grad]
    if not (leaves and roots):
        return "no graph"
    target = [*inputs, *outputs][which]
    try:
        with module.no_grad():
            target.logical_and_(target) if target.dtype == module.bool else target.mul_(1)
    except RuntimeError:
        return "can't be written to"
    seeds = [module.ones(tuple(root.shape), dtype=root.dtype, device=root.device) for root in roots]
    try:
        module.autograd.grad(roots, leaves, seeds, allow_unused=True)
    except RuntimeError as error:
        return named_alike(sentence(error))
    return "nothing"


def named_alike(text: str) -> str:
    """A message with the types of tensors named alike on all devices."""
    return re.sub(r"\[(?:torch\.)?(?:CPU|Meta|meta\.)?(\w+?)(?:Type|Tensor) ", r"[\1 ", text)


def said(module: Any, op: Any, sample: Any, which: int) -> str:
    if module is pytorch:
        return run(module, op, sample, which, "cpu")
    try:
        return run(module, op, sample, which, "meta")
    except RuntimeError:  # it needs elements
        return run(module, op, sample, which, "cpu")


@pytest.mark.parametrize("name", RUN)
def test_entry(name):
    entry = ENTRIES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        *_, sample = entry.sample_inputs("cpu", differentiable(entry), requires_grad=True)
        inputs, outputs = run(pytorch, entry.op, sample, None, "cpu")
        everything = range(inputs + outputs)
        theirs = [said(pytorch, entry.op, sample, which) for which in everything]
        ours = [said(tapegrad, counterpart(entry), sample, which) for which in everything]
    if name in SHOWN_OTHERWISE:
        theirs, ours = (["modified" in text for text in texts] for texts in (theirs, ours))
    compared = [which for which in everything if which not in OTHERWISE.get(name, ())]
    assert [ours[which] for which in compared] == [theirs[which] for which in compared]


def test_exceptions_are_of_the_database():
    assert {*OTHERWISE, *SHOWN_OTHERWISE, *WITHOUT_SAMPLES} <= set(ENTRIES)

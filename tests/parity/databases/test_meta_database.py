"""PyTorch's database of operators without data: the last sample of each entry, moved to the device ``meta``.

What is compared: dtypes, shapes, strides, ``requires_grad`` and the names of the nodes, and gradients' dtypes and
shapes. Where PyTorch has no kernel for such tensors, tapegrad may have an answer: it needs only shapes.
"""

import warnings
from typing import Any

import pytest
import torch as pytorch
from harness import flat_outputs
from late_database import listed
from opinfo import ENTRIES, counterpart, flat, translated
from opinfo_exceptions import LEFT_OUT, NAMED_OTHERWISE

import tapegrad

pytestmark = pytest.mark.once("nothing is run: plans on the device meta are the same when operators are deferred")

OTHERWISE = {
    "as_strided.partial_views": "the sample is a part of a larger memory, to which PyTorch compares nothing here",
    "index_put": "values for as many places as a mask has, which is not known",
    "linalg.tensorinv": "the node is that of the CPU's, not of the decomposition which PyTorch runs here",
}
"""Entries that are not compared, and why."""

WITHOUT_SAMPLES = {"nn.functional.batch_norm.without_cudnn": "for CUDA"}
"""Entries that have no samples for the CPU, and why."""

LAID_OUT = "PyTorch chooses another order in memory, on every device"
AS_ON_CPU = "laid out as on the CPU, where PyTorch's own kernels for this device lay them out otherwise"

STRIDES_OTHERWISE = {
    **dict.fromkeys(("cat", "linalg.ldl_solve", "nanquantile", "quantile"), LAID_OUT),
    **dict.fromkeys(("linalg.svd", "nonzero_static", "pca_lowrank", "svd", "svd_lowrank"), AS_ON_CPU),
    **dict.fromkeys(("nn.functional.max_unpool2d", "nn.functional.max_unpool2d.grad"), AS_ON_CPU),
}
"""Entries whose strides are not compared, and why."""

DTYPES = [getattr(pytorch, name) for name in ("float64", "int64", "bool", "float32", "complex64")]


def without_data(value: Any, module: Any) -> Any:
    """Arguments of a sample for a module, with tensors like those of the sample on the device ``meta``."""
    if isinstance(value, pytorch.Tensor):
        kind = value.dtype if module is pytorch else translated(value.dtype)
        made = module.empty_strided(tuple(value.shape), tuple(value.stride()), dtype=kind, device="meta")
        return made.requires_grad_(value.requires_grad)
    if isinstance(value, dict):
        return {key: without_data(item, module) for key, item in value.items()}
    if type(value) in (tuple, list):
        return type(value)(without_data(item, module) for item in value)
    if str(value) == "cpu":
        return module.device("meta")
    return value if module is pytorch else translated(value)


def account(module: Any, op: Any, sample: Any) -> tuple:
    """What is seen of the results and of the gradients, or what is raised, of one call."""
    given = tuple(without_data(part, module) for part in (sample.input, tuple(sample.args), dict(sample.kwargs)))
    try:
        outputs = list(flat_outputs(op(given[0], *given[1], **given[2])))
    except Exception as error:  # what is raised is what is compared
        return error, None
    leaves = [x for x in flat(given) if isinstance(x, module.Tensor) and x.requires_grad]
    roots = [out for out in outputs if out.requires_grad]
    seeds = [module.ones(tuple(root.shape), dtype=root.dtype, device="meta") for root in roots]
    try:
        grads = module.autograd.grad(roots, leaves, seeds, allow_unused=True) if roots and leaves else []
    except Exception as error:
        return outputs, error
    return outputs, [None if grad is None else described(grad)[:3] for grad in grads]


def described(x: Any) -> tuple:
    """What can be seen of a tensor that has no data."""
    name = None if x.grad_fn is None else x.grad_fn.name()
    return x.device.type, str(x.dtype).rpartition(".")[2], tuple(x.shape), x.requires_grad, name, x.stride()


RUN = listed(lambda: [name for name in ENTRIES if name not in {*LEFT_OUT, *WITHOUT_SAMPLES}])


@pytest.mark.parametrize("name", RUN)
def test_entry(name):
    entry = ENTRIES[name]
    dtype = next(dtype for dtype in DTYPES if dtype in entry.dtypes)
    differentiable = entry.supports_autograd and dtype in entry.supported_backward_dtypes("cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        *_, sample = entry.sample_inputs("cpu", dtype, requires_grad=differentiable)
        expected, their_grads = account(pytorch, entry.op, sample)
        got, our_grads = account(tapegrad, counterpart(entry), sample)
    if isinstance(expected, Exception):  # without data PyTorch can't, or has no kernel
        assert isinstance(expected, RuntimeError)
        assert not isinstance(got, Exception) or isinstance(got, RuntimeError)
        return
    if name in OTHERWISE:
        assert isinstance(got, RuntimeError) or list(map(described, got)) != list(map(described, expected))
        return
    assert not isinstance(got, Exception), repr(got)
    known = 6 - (name in STRIDES_OTHERWISE) - 2 * (name in NAMED_OTHERWISE)
    assert [described(x)[:known] for x in got] == [described(x)[:known] for x in expected]
    if not isinstance(their_grads, Exception):
        assert our_grads == their_grads


def test_exceptions_are_of_the_database():
    assert {*OTHERWISE, *STRIDES_OTHERWISE, *WITHOUT_SAMPLES} <= set(ENTRIES)

"""The operators' database on the second of two devices: results, gradients and tangents lie where the tensors do.

A program of its own, because a process has its devices from the start. ``second_device.py immediate LIMIT EVERY`` (or
``deferred``) runs up to LIMIT samples of each entry (0: all), of one entry in EVERY, prints what is elsewhere, and at
the end ``N samples``.
"""

import os
import sys
import warnings
from dataclasses import replace

if __name__ == "__main__":
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count=2 {os.environ.get('XLA_FLAGS', '')}"

import opinfo
import torch as pytorch
from opinfo_exceptions import LEFT_OUT

import tapegrad

HERE = tapegrad.device("cpu:1")
PARTS_OF_MEMORY = {"as_strided.partial_views"}
"""Entries that show more of an input's memory than what is moved."""

DTYPES = (pytorch.float32, pytorch.complex64, pytorch.int64, pytorch.bool)


def moved(value):
    """Tensors moved to the second device, and what says "cpu" saying its name."""
    if isinstance(value, tapegrad.Tensor):
        there = value.detach().to(HERE)
        return there.requires_grad_() if value.requires_grad else there
    if isinstance(value, (str, tapegrad.device)) and str(value) == "cpu":
        return HERE
    if type(value) in (tuple, list):
        return type(value)(map(moved, value))
    return {key: moved(item) for key, item in value.items()} if type(value) is dict else value


def elsewhere(case):
    """What a sample gives that lies on another device: its results, gradients, and tangents."""
    results = tensors_of(case.call())
    yield from misplaced("result", results)
    roots, leaves = [one for one in results if one.requires_grad], case.leaves()
    if not (roots and leaves):
        return
    seeds = [tapegrad.ones_like(root) for root in roots]
    try:
        found = tapegrad.autograd.grad(roots, leaves, seeds, allow_unused=True)
    except RuntimeError as error:  # there is no derivative
        assert "device" not in str(error), error
    else:
        yield from misplaced("gradient", found)
    with tapegrad.autograd.forward_ad.dual_level():
        duals = {id(x): tapegrad.autograd.forward_ad.make_dual(x.detach(), tapegrad.ones_like(x)) for x in leaves}
        try:
            outputs = tensors_of(case.call(duals))
        except (RuntimeError, NotImplementedError) as error:
            assert "device" not in str(error), error
            return
        yield from misplaced("tangent", [tapegrad.autograd.forward_ad.unpack_dual(one).tangent for one in outputs])


def tensors_of(value):
    return [part for part in opinfo.flat(value) if isinstance(part, tapegrad.Tensor)]


def misplaced(what, tensors):
    for number, one in enumerate(tensors):
        if isinstance(one, tapegrad.Tensor) and one.device != HERE:
            yield f"{what} {number} on {one.device}"


def is_somewhere(case):
    """Whether the arguments say where: plain numbers are nowhere."""
    given = opinfo.flat((case.input, case.args, case.kwargs))
    return any(isinstance(part, (tapegrad.Tensor, tapegrad.device)) for part in given)


def samples(limit, every):
    for number, (name, entry) in enumerate(sorted(opinfo.ENTRIES.items())):
        if number % every or name in LEFT_OUT or name in PARTS_OF_MEMORY:
            continue
        dtype = next((dtype for dtype in DTYPES if dtype in entry.dtypes), None)
        if dtype is None:
            continue
        for _, case in opinfo.cases(entry, dtype, limit):
            yield name, replace(case, input=moved(case.input), args=moved(case.args), kwargs=moved(case.kwargs))


def main(execution, limit, every):
    count = 0
    tapegrad.set_execution(execution)
    warnings.simplefilter("ignore")
    for name, case in samples(limit or None, every):
        if not is_somewhere(case):
            continue
        count += 1
        try:
            for problem in elsewhere(case):
                print(f"{name}: {problem}")
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error)[:200]}")
    print(f"{count} samples")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))

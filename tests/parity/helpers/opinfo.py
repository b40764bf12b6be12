"""PyTorch's own database of operators, run on tapegrad: what ``test_opinfo.py`` compares, and how.

The database has, for each operator, a callable and functions that make *samples*: inputs and arguments of one call. A
sample is run on PyTorch as it is. For tapegrad it is translated: tensors (strides included), dtypes, and functions.
Small Python functions of the database, which say ``torch.this`` and ``torch.that``, are made again with ``torch``
meaning tapegrad.

Note [What is compared]
For each sample, in this order: the forward result (values, dtypes, shapes, ``requires_grad``, the names of the nodes);
gradients; gradients of these; tangents in forward mode. What is defined only up to a choice (the sign of a singular
vector) has a function in the database which makes of it something that is not: values are compared behind that. Where
PyTorch raises, tapegrad must raise the same type of exception.
"""

from __future__ import annotations

import random
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import torch as pytorch
from harness import close, flat_outputs, to_numpy
from late_database import Database
from one_program import in_one_program
from torch.nn.modules.linear_cross_entropy_options import LinearCrossEntropyOptions
from torch.testing._utils import freeze_rng_state

import tapegrad


def seeded(seed: int = 1234) -> None:
    """What ``common_utils.set_rng_seed`` does for the CPU."""
    pytorch.default_generator.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)


def database() -> dict[str, Any]:
    """PyTorch's entries by name.

    Before each sample they seed all devices there might be, and look for the test that runs, both by writing down the
    whole stack. That takes longer than what the sample is for.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal import common_utils
        from torch.testing._internal.common_methods_invocations import op_db
        from torch.testing._internal.opinfo import core
    common_utils.set_rng_seed = seeded
    common_utils.extract_test_fn = core.extract_test_fn = lambda: None
    return {".".join(filter(None, (entry.name, entry.variant_test_name))): entry for entry in op_db}


ENTRIES = Database(database)
"""The database, by the names that ``OPERATORS.md`` and the tests use."""

Account = dict[str, Any]
"""What was seen of one sample on one module, by stage. See Note [What is compared]."""


# -- translation -------------------------------------------------------------------------------------------------------


def lookup(path: str, root: Any = tapegrad) -> Any:
    """The object at a dotted path below tapegrad; AttributeError if there is none."""
    for part in filter(None, path.split(".")):
        root = getattr(root, part)
    return root


def counterpart(entry: Any) -> Callable:
    """tapegrad's callable for an entry: by its name, or the database's own Python function made again."""
    if is_small_function(entry.op):
        return remade(entry.op)
    path = entry.name.removeprefix("torch.ops.aten.")
    if isinstance(entry.op, types.MethodDescriptorType):
        return lookup(path, tapegrad.Tensor)
    try:
        return lookup(path)
    except AttributeError:
        pass
    if hasattr(tapegrad.Tensor, path):
        return lookup(path, tapegrad.Tensor)
    return lookup(f"ops.{entry.op}")  # an identity, such as aten.slice.Tensor


def is_small_function(value: Any) -> bool:
    """Whether it is a Python function of the database, not of PyTorch's library."""
    return isinstance(value, types.FunctionType) and value.__module__.startswith("torch.testing")


@cache
def remade(function: types.FunctionType) -> Callable:
    """A function of the database whose ``torch`` is tapegrad."""
    cells = tuple(types.CellType(translated(cell.cell_contents)) for cell in function.__closure__ or ())
    used = used_names(function.__code__)
    names = {name: translated(value) for name, value in function.__globals__.items() if name in used}
    made = types.FunctionType(function.__code__, names, function.__name__, translated(function.__defaults__), cells)
    made.__kwdefaults__ = translated(function.__kwdefaults__)
    return made


def used_names(code: types.CodeType) -> set[str]:
    """The names that a function and those inside it may look up."""
    inner = [const for const in code.co_consts if isinstance(const, types.CodeType)]
    return set(code.co_names).union(*map(used_names, inner))


def translated(value: Any) -> Any:
    """A value as tapegrad has it: tensors, dtypes, functions and modules of PyTorch, and structures of them."""
    if isinstance(value, pytorch.Tensor):
        return tensor(value)
    if isinstance(value, pytorch.dtype | pytorch.memory_format | pytorch.layout):
        return getattr(tapegrad, str(value).rpartition(".")[2])
    if isinstance(value, pytorch.device):
        return tapegrad.device(str(value))
    if isinstance(value, types.ModuleType) and value.__name__.partition(".")[0] == "torch":
        return lookup(value.__name__.removeprefix("torch").removeprefix("."))
    if value is freeze_rng_state:
        return nullcontext
    if isinstance(value, pytorch.nn.PairwiseDistance):
        return tapegrad.nn.PairwiseDistance(p=value.norm, eps=value.eps, keepdim=value.keepdim)
    if isinstance(value, LinearCrossEntropyOptions):
        settings = {key: translated(getattr(value, key)) for key in value.__slots__}
        return tapegrad.nn.LinearCrossEntropyOptions(**settings)
    if is_small_function(value):
        return remade(value)
    if isinstance(value, types.BuiltinFunctionType | types.FunctionType) and str(value.__module__).startswith("torch"):
        return library_function(value)
    if value is pytorch.Tensor:
        return tapegrad.Tensor
    if type(value) in (tuple, list):
        return type(value)(map(translated, value))
    if type(value) is dict:
        return {key: translated(item) for key, item in value.items()}
    return tapegrad.Size(value) if isinstance(value, pytorch.Size) else value


def library_function(function: Callable) -> Callable:
    """tapegrad's function of the same name and place as one of PyTorch's."""
    name = function.__name__
    family = name.partition("_")[0]
    for path in (f"{family}.{name.removeprefix(family + '_')}", name, f"nn.functional.{name}"):
        try:
            return lookup(path)
        except AttributeError:
            continue
    raise AttributeError(f"tapegrad has no {function.__module__}.{name}")


def tensor(source: pytorch.Tensor) -> tapegrad.Tensor:
    """A tensor with the same values, dtype, strides and ``requires_grad``."""
    plain = source.detach().resolve_conj().resolve_neg()
    kind = getattr(tapegrad, str(source.dtype).rpartition(".")[2])
    if plain.storage_offset() or 0 in plain.stride():  # a part of some memory, or one element in several places
        memory = plain.as_strided((plain.untyped_storage().nbytes() // plain.itemsize,), (1,), 0)
        made = tensor(memory).as_strided(tuple(plain.shape), plain.stride(), plain.storage_offset()).detach()
    elif source.is_contiguous():
        made = tapegrad.tensor(numbers(plain), dtype=kind)
    else:
        made = tapegrad.empty_strided(tuple(source.shape), tuple(plain.stride()), dtype=kind)
        made.copy_(tapegrad.tensor(numbers(plain), dtype=kind))
    if source.requires_grad and not has_place_in_graph(source):
        with tapegrad.no_grad():
            return made.requires_grad_().view_as(made)
    return made.requires_grad_() if source.requires_grad else made


def has_place_in_graph(source: pytorch.Tensor) -> bool:
    """Whether gradients of a tensor can be asked for; not those of a view that was made without recording."""
    (found,) = pytorch.autograd.grad(source.sum(), source, pytorch.ones((), dtype=source.dtype), allow_unused=True)
    return found is not None


def numbers(plain: pytorch.Tensor) -> np.ndarray:
    """The elements as an array of a type that NumPy has."""
    return (plain.float() if plain.dtype is pytorch.bfloat16 else plain).contiguous().numpy()


# -- samples -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """One sample of an entry, on one module."""

    module: Any
    op: Callable
    input: Any
    args: tuple
    kwargs: dict
    process: Callable

    def leaves(self) -> list[Any]:
        """The tensors that require grad, in the order of the arguments."""
        given = flat((self.input, self.args, self.kwargs))
        return [x for x in given if isinstance(x, self.module.Tensor) and x.requires_grad]

    def in_one_program(self, action: Callable) -> Any:
        """What ``action`` makes of the case with copies of the tensors. See Note [What is traced]."""
        given = (self.input, self.args, self.kwargs)
        tensors = [x for x in flat(given) if isinstance(x, self.module.Tensor)]
        tensors = list({id(x): x for x in tensors}.values())

        def function(*copies: Any) -> Any:
            input, args, kwargs = substituted(given, dict(zip(map(id, tensors), copies, strict=True)))
            return action(replace(self, input=input, args=args, kwargs=kwargs))

        return in_one_program(function, tensors)

    def call(self, replaced: dict[int, Any] | None = None) -> Any:
        """The result; tensors whose ``id`` is in ``replaced`` are replaced."""
        given = (self.input, self.args, self.kwargs)
        input, args, kwargs = given if replaced is None else substituted(given, replaced)
        return self.op(input, *args, **kwargs)


def flat(value: Any) -> Iterator[Any]:
    """What is in nested tuples, lists and dictionaries."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from flat(item)
    else:
        yield value


def substituted(value: Any, replaced: dict[int, Any]) -> Any:
    if isinstance(value, dict):
        return {key: substituted(item, replaced) for key, item in value.items()}
    if type(value) in (tuple, list):
        return type(value)(substituted(item, replaced) for item in value)
    return replaced.get(id(value), value)


def cases(entry: Any, dtype: pytorch.dtype, limit: int | None) -> Iterator[tuple[Case, Case]]:
    """The samples of an entry for PyTorch and for tapegrad; at most ``limit`` of them, spread over all there are."""
    wants_grad = dtype in entry.supported_backward_dtypes("cpu") and entry.supports_autograd
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the database calls deprecated functions of PyTorch
        samples = list(entry.sample_inputs("cpu", dtype, requires_grad=wants_grad))
    ours = counterpart(entry)
    for position in spread(len(samples), limit):
        sample = samples[position]
        parts = (sample.input, tuple(sample.args), dict(sample.kwargs))
        process = sample.output_process_fn_grad
        yield (
            Case(pytorch, entry.op, *parts, process),
            Case(tapegrad, ours, *map(translated, parts), translated(process)),
        )


def spread(count: int, limit: int | None) -> list[int]:
    """Up to ``limit`` positions from 0 to ``count - 1``, evenly spaced, from the last one on."""
    if limit is None or count <= limit:
        return list(range(count))
    return sorted({count - 1 - round(i * (count - 1) / max(limit - 1, 1)) for i in range(limit)})


# -- what is seen ------------------------------------------------------------------------------------------------------


def account(case: Case, stages: tuple[str, ...], values: bool) -> Account:
    """What one module does with a sample. Without ``values`` (random results), only what can be seen of them."""
    seen: Account = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytorch.default_generator.manual_seed(0)
        out = attempt(seen, "forward", lambda: case.call())
        if "forward" in seen:
            return seen
        seen["kind"] = [describe(part) for part in flat_outputs(out)]
        outputs = list(flat_outputs(case.process(out)))
        seen["forward"] = [to_numpy(part) for part in outputs] if values else []
        roots, leaves = [part for part in outputs if part.requires_grad], case.leaves()
        if values and leaves and roots and "gradient" in stages:
            attempt(seen, "gradient", lambda: to_numpy(gradients(case, roots, leaves)), keep=True)
        if values and leaves:
            due = [stage for stage in ("second", "tangent") if stage in stages]
            if not roots or isinstance(seen.get("gradient"), Exception):
                due = [stage for stage in due if stage == "tangent"]
            further(seen, case, due)
    return seen


def further(seen: Account, case: Case, stages: list[str]) -> None:
    """Second derivatives and tangents: tapegrad's as one program, or one by one where a stage raises."""
    actions = {"second": second, "tangent": tangents}
    if case.module is tapegrad:
        try:
            seen.update(case.in_one_program(lambda case: {stage: actions[stage](case) for stage in stages}))
            return
        except Exception:  # it asks for numbers, or one of the stages raises: which, is seen below
            pass
    for stage in stages:
        attempt(seen, stage, lambda: to_numpy(actions[stage](case)), keep=True)  # noqa: B023 - called at once


def attempt(seen: Account, stage: str, action: Callable, keep: bool = False) -> Any:
    """What an action gives; what it raises is noted as what the stage gave."""
    try:
        found = action()
    except Exception as error:  # what it raises is what is compared
        seen[stage] = error
        return None
    if keep:
        seen[stage] = found
    return found


def describe(part: Any) -> tuple:
    """What can be seen of a tensor apart from its numbers."""
    name = None if part.grad_fn is None else part.grad_fn.name()
    return str(part.dtype).rpartition(".")[2], tuple(part.shape), part.requires_grad, name


def weights(module: Any, like: Any, rng: np.random.Generator) -> Any:
    """A cotangent or a tangent for a tensor: the same on both modules."""
    values = rng.uniform(0.5, 1.5, tuple(like.shape))
    if like.dtype.is_complex:
        values = values + 1j * rng.uniform(-1.5, -0.5, tuple(like.shape))
    return module.tensor(values, dtype=like.dtype)


def gradients(case: Case, roots: list, leaves: list, **options: Any) -> list:
    rng = np.random.default_rng(0)
    seeds = [weights(case.module, root, rng) for root in roots]
    return list(case.module.autograd.grad(roots, leaves, seeds, **{"allow_unused": True} | options))


def second(case: Case) -> list[list]:
    """The gradients, recorded, and the gradients of these; zeros where there are none."""
    leaves, rng = case.leaves(), np.random.default_rng(1)
    outputs = [part for part in flat_outputs(case.process(case.call())) if part.requires_grad]
    first = gradients(case, outputs, leaves, create_graph=True)
    roots = [one for one in first if one is not None and one.requires_grad]
    if not roots:
        return [first, [case.module.zeros(leaf.shape, dtype=leaf.dtype) for leaf in leaves]]
    seeds = [weights(case.module, root, rng) for root in roots]
    found = case.module.autograd.grad(roots, leaves, seeds, allow_unused=True, materialize_grads=True)
    return [first, list(found)]


def tangents(case: Case) -> list:
    """The tangents of the outputs where every leaf has one; zeros where there is none."""
    forward, rng = case.module.autograd.forward_ad, np.random.default_rng(2)
    with forward.dual_level():
        duals = {
            id(leaf): forward.make_dual(leaf.detach(), weights(case.module, leaf, rng)) for leaf in case.leaves()
        }
        outputs = [out for out in flat_outputs(case.process(case.call(duals))) if is_inexact(out)]
        unpacked = [forward.unpack_dual(out) for out in outputs]
        return [
            case.module.zeros(primal.shape, dtype=primal.dtype) if tangent is None else tangent
            for primal, tangent in unpacked
        ]


def is_inexact(value: Any) -> bool:
    return value.dtype.is_floating_point or value.dtype.is_complex


# -- what is compared --------------------------------------------------------------------------------------------------


def disagreement(ours: Account, theirs: Account, rtol: float, atol: float, names: bool = True) -> str | None:
    """The first thing in which two accounts differ; the ``names`` of nodes may be left alone."""
    for stage in ("forward", "kind", "gradient", "second", "tangent"):
        expected, got = theirs.get(stage), ours.get(stage)
        if isinstance(expected, Exception) or isinstance(got, Exception):
            if not (isinstance(got, Exception) and same_type(got, expected)):
                return f"{stage}: {got!r}, expected {expected!r}"[:2000]
        elif stage == "kind":
            got, expected = [[part if names else part[:3] for part in seen or ()] for seen in (got, expected)]
            if got != expected:
                return f"kind: {got}, expected {expected}"
        elif expected is not None:
            try:
                close(got, expected, rtol, atol, stage)
            except AssertionError as error:
                return str(error)
    return None


def same_type(ours: Exception, theirs: Exception) -> bool:
    """Whether a program that catches the one catches the other."""
    return type(ours).__name__ == type(theirs).__name__ or any(
        base.__name__ == type(theirs).__name__ for base in type(ours).__mro__
    )


def pairs_of_dtypes(names: list[str]) -> list[tuple[str, str]]:
    """Entries with the dtypes in which they are run: float64 and complex128, or else int64 or bool."""
    found = []
    for name in names:
        wide = [kind for kind in ("float64", "complex128") if getattr(pytorch, kind) in ENTRIES[name].dtypes]
        narrow = [kind for kind in ("int64", "bool", "float32") if getattr(pytorch, kind) in ENTRIES[name].dtypes]
        found += [(name, kind) for kind in wide or narrow[:1]]
    return found

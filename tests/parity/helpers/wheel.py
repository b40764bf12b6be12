"""What PyTorch's wheel brings of its own tests, beside the samples of ``opinfo.py`` and ``modinfo.py``: how it is run.

``test_wheel.py`` runs it by hand, and counts. Of operators: reference inputs (more shapes, dtypes, extremes), samples
with gaps in their memory, ``out=``, methods and aliases. Of modules: the older tables of ``common_nn``, of which
modules and losses are made by name. Of functions: the table that scripting tests go by. Classes that are written in
Python there are made again with the name ``torch`` meaning tapegrad.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import importlib.util
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch as pytorch
from harness import flat_outputs, sentence, to_numpy
from opinfo import lookup, same_type, spread, translated
from opinfo_exceptions import ROUGH

import tapegrad

Outcome = dict[str, Any]
"""What a call gave: ``raised``, or ``kind`` and ``values`` of its results; and the ``warned``."""

PRECISION = {"float16": (2e-3, 1e-3), "bfloat16": (2e-2, 1e-2), "float32": (2e-5, 1e-5), "complex64": (2e-5, 1e-5)}
"""How closely numbers of a dtype are compared, where that isn't 1e-9."""


def outcome(function: Callable, *given: Any, process: Callable | None = None, **options: Any) -> Outcome:
    """What a call gives, or raises, and the warnings meanwhile."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = function(*given, **options)
        except Exception as error:  # what it raises is what is compared
            return {"raised": error}
    outputs = flat_outputs(found)
    seen = outputs if process is None else flat_outputs(process(found))
    warned = [str(one.message).partition("\n")[0].partition(" (Triggered")[0] for one in caught]
    values = [None if out.device.type == "meta" else to_numpy(out) for out in seen]
    return {"kind": list(map(kind, outputs)), "values": values, "warned": warned}


def kind(out: Any) -> tuple:
    """Dtype, shape and strides of a result; no strides where they mean nothing."""
    sizes = tuple(out.shape)
    strides = tuple(step for step, size in zip(out.stride(), sizes, strict=True) if size > 1)
    return str(out.dtype).rpartition(".")[2], sizes, strides if out.numel() else ()


def difference(
    ours: Outcome, theirs: Outcome, values: bool = True, strides: bool = True, text: bool = False, rough: bool = False,
    precision: tuple[float, float] | None = None,
) -> str:  # fmt: skip
    """The first thing in which two outcomes differ; an empty text if they don't."""
    expected, got = theirs.get("raised"), ours.get("raised")
    if expected is not None or got is not None:
        if got is None or expected is None or not same_type(got, expected):
            return f"raised {got!r}, expected {expected!r}"[:600]
        same = not text or sentence(got).splitlines()[:1] == str(expected).splitlines()[:1]
        return "" if same else f"says {sentence(got)!r}, expected {str(expected)!r}"[:900]
    length = 3 if strides else 2
    kinds = [[each[:length] for each in one["kind"]] for one in (ours, theirs)]
    if kinds[0] != kinds[1]:
        return f"kind {kinds[0]}, expected {kinds[1]}"
    for got, expected, (dtype, *_) in zip(ours["values"], theirs["values"], theirs["kind"], strict=False):
        rtol, atol = PRECISION["float32"] if rough else PRECISION.get(dtype, precision or (1e-9, 1e-10))
        if values and expected is not None and not alike(got, expected, rtol, atol):
            return f"values {unlike(got, expected, rtol, atol)}"
    return ""


def precision_of(name: str) -> tuple[float, float]:
    """How closely an entry's numbers in double precision are compared."""
    return ROUGH.get(name, (1e-9, 1e-10))


def warned_otherwise(ours: Outcome, theirs: Outcome) -> str:
    """How warnings differ; PyTorch gives some once for each place of its own that is reached."""
    texts = [[text for text in seen.get("warned", ()) if "deprecated in favor" not in text] for seen in (theirs, ours)]
    expected, got = texts
    return "" if got == expected else f"warned {got}, expected {expected}"[:400]


def alike(got: np.ndarray, expected: np.ndarray, rtol: float, atol: float) -> bool:
    """Whether numbers are close, for the largest of them: sums lose what is small beside their terms."""
    if got.shape != expected.shape:
        return False
    finite = expected[np.isfinite(expected)] if expected.dtype.kind in "fc" else expected
    scale = float(np.abs(finite).max(initial=1)) if expected.dtype.kind in "fc" else 1.0
    with np.errstate(all="ignore"):
        return bool(np.allclose(got, expected, rtol, atol * scale, equal_nan=True))


def unlike(got: np.ndarray, expected: np.ndarray, rtol: float, atol: float) -> str:
    """Where numbers differ: how many do, and the first of them."""
    if got.shape != expected.shape:
        return f"of shape {got.shape}, expected {expected.shape}"
    with np.errstate(all="ignore"):
        places = np.argwhere(~np.isclose(got, expected, rtol, atol, equal_nan=True))
    first = [(tuple(map(int, at)), got[tuple(at)].item(), expected[tuple(at)].item()) for at in places[:3]]
    return f"{len(places)} of {got.size} differ (place, got, expected): {first}"


# -- operators ---------------------------------------------------------------------------------------------------------


def reference_samples(entry: Any, dtype: pytorch.dtype, limit: int) -> Iterator[tuple[tuple, Callable]]:
    """Reference inputs of an entry, spread over all there are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(entry.reference_inputs("cpu", dtype, requires_grad=False))
    for position in spread(len(found), limit):
        one = found[position]
        yield (one.input, tuple(one.args), dict(one.kwargs)), one.output_process_fn_grad


def apart(entry: Any, dtype: pytorch.dtype, limit: int) -> Iterator[tuple[tuple, Callable]]:
    """Samples of an entry whose tensors' memory isn't in one piece, spread over all there are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(entry.sample_inputs("cpu", dtype, requires_grad=False))
    for position in spread(len(found), limit):
        one = found[position].noncontiguous()
        yield (one.input, tuple(one.args), dict(one.kwargs)), one.output_process_fn_grad


Targets = Callable[[Any, list[Any]], list[Any]]
"""Tensors to write results to, for a module and results of the kind."""


def spaced(torch: Any, result: Any) -> Any:
    """A tensor of the shape of a result, whose elements lie apart."""
    return torch.zeros((*result.shape, 3), dtype=result.dtype)[..., 1]


def reversed_order(torch: Any, result: Any) -> Any:
    """A tensor of the shape of a result, with its first dimension last in memory."""
    shape = tuple(result.shape)
    return torch.zeros(shape[::-1], dtype=result.dtype).permute(tuple(range(len(shape)))[::-1])


def enlarged(torch: Any, result: Any) -> Any:
    """A tensor that has elements, and must be resized."""
    return torch.zeros((2, *result.shape), dtype=result.dtype)


def other(torch: Any, result: Any, names: dict[str, str]) -> Any:
    return torch.zeros(tuple(result.shape), dtype=getattr(torch, names[str(result.dtype).rpartition(".")[2]]))


WIDER = {"float32": "float64", "float64": "complex128", "int64": "float64", "bool": "int32", "complex64": "complex128",
         "complex128": "complex64", "int32": "int64", "uint8": "int16", "int8": "int16", "int16": "int32",
         "float16": "float32", "bfloat16": "float32"}  # fmt: skip
NARROWER = {"float32": "int64", "float64": "int64", "int64": "bool", "bool": "uint8", "complex64": "float32",
            "complex128": "float64", "int32": "int16", "uint8": "bool", "int8": "bool", "int16": "int8",
            "float16": "int32", "bfloat16": "int32"}  # fmt: skip

TARGETS: dict[str, Callable[[Any, Any], Any]] = {
    "as the result": lambda torch, result: torch.zeros(tuple(result.shape), dtype=result.dtype),
    "spaced": spaced,
    "reversed": reversed_order,
    "without elements": lambda torch, result: torch.zeros((0,), dtype=result.dtype),
    "with too many": enlarged,
    "wider": lambda torch, result: other(torch, result, WIDER),
    "narrower": lambda torch, result: other(torch, result, NARROWER),
    "requires grad": lambda torch, result: (
        torch.zeros(tuple(result.shape), dtype=result.dtype, requires_grad=True)
        if result.dtype.is_floating_point or result.dtype.is_complex
        else torch.zeros(tuple(result.shape), dtype=result.dtype)
    ),
    "meta": lambda torch, result: torch.zeros(tuple(result.shape), dtype=result.dtype, device="meta"),
}
"""What is given as ``out=``, made for a module and for the result that a call without it has."""


ROUGHLY = frozenset(("wider",))
"""Targets whose numbers are as rough as those of the narrower dtype that was computed in."""


def written(torch: Any, op: Callable, given: tuple, results: list[Any], target: str) -> Outcome:
    """What a call with ``out=`` leaves in its targets."""
    input, args, kwargs = given
    made = [TARGETS[target](torch, result) for result in results]

    def call() -> Any:
        found = op(input, *args, **kwargs, out=made[0] if len(made) == 1 else tuple(made))
        assert found is None or all(one is out for one, out in zip(flat_outputs(found), made, strict=True))
        return made

    return outcome(call)


def methods(entry: Any) -> Iterator[tuple[str, Callable, Callable]]:
    """The methods, the operators and the aliases of an entry, by name, on PyTorch and on tapegrad."""
    for name in filter(None, [getattr(entry.method_variant, "__name__", "<lambda>")]):
        if name != "<lambda>" and hasattr(pytorch.Tensor, name):
            yield f"Tensor.{name}", getattr(pytorch.Tensor, name), getattr(tapegrad.Tensor, name, None)
    name = getattr(entry.operator_variant, "__name__", "<lambda>")
    if name != "<lambda>":
        yield f"operator.{name}", entry.operator_variant, entry.operator_variant
    for alias in entry.aliases:
        path = alias.name.removeprefix("torch.")
        yield path, alias.op, found(path, tapegrad)
        name = getattr(alias.method_variant, "__name__", "<lambda>")
        if name != "<lambda>" and alias.method_variant is not None:
            yield f"Tensor.{name}", alias.method_variant, getattr(tapegrad.Tensor, name, None)
        name = getattr(alias.inplace_variant, "__name__", "<lambda>")
        if name != "<lambda>" and alias.inplace_variant is not None:
            yield f"Tensor.{name}", alias.inplace_variant, getattr(tapegrad.Tensor, name, None)


def found(path: str, root: Any) -> Any:
    """The object at a dotted path, or None."""
    try:
        return lookup(path, root)
    except AttributeError:
        return None


# -- modules and functions ---------------------------------------------------------------------------------------------

def internal(name: str) -> Any:
    """A module of PyTorch's tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(f"torch.testing._internal.{name}")


def tables_of_modules() -> Iterator[tuple[str, Any]]:
    """The older tables of modules and losses: names, and the tests of PyTorch's that have the arguments."""
    common_nn = internal("common_nn")
    for described in [*common_nn.module_tests, *common_nn.get_new_module_tests()]:
        settings = {key: value for key, value in described.items() if key != "decorator"}
        if "constructor" not in settings:
            settings["constructor"] = getattr(pytorch.nn, settings.pop("module_name"))
        yield from named(common_nn.NewModuleTest(**settings))
    for settings in common_nn.criterion_tests:
        yield from named(common_nn.CriterionTest(**settings))


def named(test: Any) -> Iterator[tuple[str, Any]]:
    yield test.get_name().removeprefix("test_"), test


def constructor_of(test: Any) -> Callable:
    """tapegrad's counterpart of what makes the module of a test."""
    made = test.constructor
    if getattr(made, "__name__", "") == "FunctionalModule":
        cells = dict(zip(made.forward.__code__.co_freevars, made.forward.__closure__, strict=True))
        settings = translated(cells["kwargs"].cell_contents)
        function = translated(cells["fn"].cell_contents)
        return lambda: tapegrad_module(lambda *given: function(*given, **settings))
    return getattr(tapegrad.nn, made.__name__) if isinstance(made, type) else translated(made)


def tapegrad_module(function: Callable) -> Any:
    class FunctionalModule(tapegrad.nn.Module):
        def forward(self, *given: Any) -> Any:
            return function(*given)

    return FunctionalModule()


def modules_of(test: Any) -> tuple[Any, Any, tuple[tuple, dict]]:
    """The module of one of these tests on PyTorch and on tapegrad, in double precision, and what it is called with."""
    before = pytorch.get_default_dtype()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytorch.default_generator.manual_seed(0)
        pytorch.set_default_dtype(getattr(test, "default_dtype", None) or before)
        try:
            args = tuple(test.constructor_args)
            theirs, given = test.constructor(*args), test._get_input()
            given = given if isinstance(given, tuple) else (given,)
            if isinstance(test, internal("common_nn").CriterionTest):
                target = test._get_target()
                given += (*(target if isinstance(target, tuple) else (target,)), *test.extra_args)
        finally:
            pytorch.set_default_dtype(before)
        ours = constructor_of(test)(*translated(args))
    return theirs.double(), ours.double(), (tuple(map(double_leaf, given)), {})


def double_leaf(value: Any) -> Any:
    """A floating tensor in double precision, which requires grad; anything else as it is."""
    is_floating = isinstance(value, pytorch.Tensor) and value.is_floating_point()
    return value.detach().double().requires_grad_() if is_floating else value


def functional_calls() -> Iterator[tuple[str, str, tuple, dict]]:
    """The table of functions that scripting tests go by: a name for each, the function's, and its arguments."""
    jit_metaprogramming_utils = internal("jit_metaprogramming_utils")
    for name, size, args, *more in jit_metaprogramming_utils.get_nn_functional_tests():
        pytorch.default_generator.manual_seed(0)
        (first,), _ = jit_metaprogramming_utils.create_input((size,), dtype=pytorch.float64)
        kwargs = more[4] if len(more) > 4 else {}
        rest, options = jit_metaprogramming_utils.create_input(args, call_kwargs=kwargs, dtype=pytorch.float64)
        yield "_".join(filter(None, [name, *more[:1]])), name, (first, *rest), options


# -- classes and operators written in Python ---------------------------------------------------------------------------


def reread(name: str, wanted: str) -> Any:
    """What a file of PyTorch's tests makes where ``torch`` means tapegrad, but for the tests' own modules."""
    source = Path(importlib.util.find_spec(name).origin).read_text()
    names: dict[str, Any] = {"__name__": f"reread.{name}", "__builtins__": {**vars(builtins), "__import__": imported}}
    for statement in ast.parse(source).body:
        exec(compile(ast.Module([statement], []), name, "exec", dont_inherit=True), names)
        if wanted in names:
            break
    return names[wanted]


class Unread(types.ModuleType):
    """A module of the tests' own, of which such a file takes classes that describe, and functions that list dtypes."""

    def __getattr__(self, name: str) -> Any:
        return {"OpInfo": described, "SampleInput": described}.get(name, lambda *given, **options: ())


def described(name: Any, *given: Any, **options: Any) -> types.SimpleNamespace:
    return types.SimpleNamespace(name=name, **options)


def imported(name: str, *rest: Any) -> Any:
    """What an import in such a file gives."""
    top, _, below = name.partition(".")
    if below.startswith("testing._internal"):
        return Unread(name)
    if top != "torch":
        return builtins.__import__(name, *rest)
    asked_for = rest[2] if len(rest) > 2 else ()
    return importlib.import_module(f"tapegrad.{below}".rstrip(".")) if asked_for else tapegrad


def pairs_of(name: str, table: str, dtype: pytorch.dtype) -> Iterator[tuple[str, Callable, Callable, list[tuple]]]:
    """The entries of a table of functions in a file of PyTorch's tests: names, both functions, and samples."""
    ours = {entry.name: entry for entry in reread(name, table)}
    for entry in getattr(importlib.import_module(name), table):
        found = list(entry.sample_inputs("cpu", dtype, requires_grad=dtype.is_floating_point))
        samples = [(one.input, tuple(one.args), dict(one.kwargs)) for one in found]
        yield entry.name, entry.op, ours[entry.name].op, samples


def mapped(torch: Any, op: Callable, given: tuple, in_dim: int) -> Outcome:
    """What a function gives under ``vmap``, of its tensors beside themselves doubled."""
    input, args, kwargs = given
    first = list(input) if isinstance(input, (list, tuple)) else input
    axes = [in_dim if isinstance(one, torch.Tensor) else None for one in (first, *args)]
    twice = [torch.stack([one, one + one], in_dim).detach() if isinstance(one, torch.Tensor) else one
             for one in (first, *args)]  # fmt: skip
    return outcome(torch.func.vmap(lambda *tensors: op(*tensors, **kwargs), in_dims=tuple(axes)), *twice)


# -- names and errors --------------------------------------------------------------------------------------------------

IN_PLACE_ONLY = ("cauchy", "exponential", "geometric", "log_normal")
"""References of what PyTorch has as methods that write, alone."""


def names_of_references() -> list[str]:
    """What PyTorch has written again in Python, by the names that it has itself."""
    names = {entry.name.removeprefix("_refs.") for entry in internal("common_methods_invocations").python_ref_db}
    names = {name.removeprefix("_conversions.") for name in names}
    return sorted(f"{name}_" if name in IN_PLACE_ONLY else name for name in names)


def is_there(name: str) -> bool:
    """Whether tapegrad has a function or a method of the name."""
    return found(name, tapegrad) is not None or found(name, tapegrad.Tensor) is not None


def bad_optimizers() -> Iterator[tuple[str, str, tuple[Any, dict]]]:
    """The bad input of the database of optimizers, but for sparse tensors: names, descriptions, and arguments."""
    for info in internal("common_optimizers").optim_db:
        for bad in info.optim_error_inputs_func("cpu", pytorch.float32):
            given = bad.optimizer_error_input
            if "dense params" not in given.desc:
                params = [pytorch.nn.Parameter(pytorch.ones(1, 1))] if given.params is None else given.params
                yield info.optim_cls.__name__, given.desc, (params, given.kwargs)


def refused(torch: Any, name: str, params: Any, settings: dict) -> list:
    """What making an optimizer, and its step, raises and warns of."""
    if torch is tapegrad:
        params, settings = with_parameters((params, settings), {})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            getattr(torch.optim, name)(copied(params), **settings).step()
            error = None
        except Exception as raised:  # what it raises is what is compared
            error = [type(raised).__name__, sentence(raised)]
    return [error, [(one.category.__name__, str(one.message)) for one in caught]]


def copied(params: Any) -> Any:
    """Groups of parameters in dictionaries of their own: optimizers write to them."""
    return [dict(group) if isinstance(group, dict) else group for group in params] if type(params) is list else params


def with_parameters(value: Any, made: dict[int, Any]) -> Any:
    """Parameters and their gradients as tapegrad has them; what is given twice is given twice."""
    if isinstance(value, pytorch.Tensor):
        if id(value) not in made:
            own = translated(value.detach())
            made[id(value)] = tapegrad.nn.Parameter(own) if isinstance(value, pytorch.nn.Parameter) else own
            if value.is_leaf and value.grad is not None:
                made[id(value)].grad = translated(value.grad)
        return made[id(value)]
    if isinstance(value, dict):
        return {key: with_parameters(one, made) for key, one in value.items()}
    return type(value)(with_parameters(one, made) for one in value) if type(value) in (list, tuple) else value


def absent_names(part: str) -> list[str]:
    """What a file of PyTorch's tests has that tapegrad has no counterpart of."""
    module = internal(part)
    if part == "hop_db":
        return sorted({entry.name for entry in module.hop_db})
    classes = [value for value in vars(module).values() if isinstance(value, type)]
    return [one.__name__ for one in classes if one.__module__ == module.__name__]

"""What PyTorch's wheel brings of its own tests, run on tapegrad: see ``wheel.py``.

By hand, in a quarter of an hour: ``python -m pytest tests/parity/databases/test_wheel.py --ring everything``. A line
for each part says at the end how many of its cases are the same. What is known to be otherwise, and why, is in
``wheel_exceptions.py``.
"""

from __future__ import annotations

import warnings

import pytest
import torch as pytorch
import wheel
from late_database import listed
from modinfo import disagreement as module_disagreement
from modinfo import hand_over, observed, ours_of, shown
from modinfo_exceptions import ONCE
from modinfo_exceptions import RANDOM as RANDOM_MODULES
from opinfo import ENTRIES, Case, account, counterpart, disagreement, spread, translated
from opinfo_exceptions import DROPOUT, LEFT_OUT, RANDOM, UNINITIALIZED
from wheel_exceptions import ABSENT, KNOWN, UNSAFE, known

import tapegrad

pytestmark = pytest.mark.once("what is compared are values, shapes, layouts and errors of operators, one by one")
by_hand = pytest.mark.ring("everything")
in_slices = pytest.mark.parametrize("slice_", range(12))
SLICES = 12
RUN = listed(lambda: [name for name in ENTRIES if name not in LEFT_OUT])
DTYPES = ("float64", "float32", "complex128", "int64", "bool", "bfloat16", "uint8")


class Tally:
    """Counts what is the same of a part, and keeps what isn't."""

    def __init__(self, part: str) -> None:
        self.part, self.passed, self.of, self.complaints = part, 0, 0, []

    def add(self, name: str, complaint: str) -> None:
        self.of += 1
        self.passed += not complaint
        if complaint and not known(self.part, name):
            self.complaints.append(f"{name}: {complaint}"[:400].replace("\n", " "))

    def close(self, record_property) -> None:
        record_property("wheel", {"part": self.part, "passed": self.passed, "of": self.of})
        assert not self.complaints, f"{len(self.complaints)} of {self.of} differ\n\n" + "\n".join(self.complaints[:40])


def entries_of(slice_: int) -> list[str]:
    return RUN[slice_::SLICES]


def dtypes_of(entry, names=DTYPES) -> list[str]:
    return [name for name in names if getattr(pytorch, name) in entry.dtypes]


def shows_values(name: str, given: tuple) -> bool:
    """Whether numbers of an entry are compared: neither random ones, nor memory as it is found."""
    return name not in RANDOM and name not in UNINITIALIZED and not (name in DROPOUT and DROPOUT[name](*given[1:]))


def compared(name: str, given: tuple, process) -> str:
    """How the results of an entry differ on a sample."""
    entry, (input, args, kwargs) = ENTRIES[name], translated(given)
    pytorch.default_generator.manual_seed(0)
    theirs = wheel.outcome(entry.op, given[0], *given[1], process=process, **given[2])
    ours = wheel.outcome(counterpart(entry), input, *args, process=translated(process), **kwargs)
    return wheel.difference(ours, theirs, shows_values(name, given), precision=wheel.precision_of(name))


@by_hand
@in_slices
def test_reference_inputs(slice_, record_property):
    tally = Tally("reference inputs")
    for name in entries_of(slice_):
        for dtype in dtypes_of(ENTRIES[name]):
            for given, process in wheel.reference_samples(ENTRIES[name], getattr(pytorch, dtype), limit=5):
                tally.add(name, compared(name, given, process))
    tally.close(record_property)


@by_hand
@in_slices
def test_samples_with_gaps(slice_, record_property):
    tally = Tally("samples with gaps in memory")
    for name in entries_of(slice_):
        for dtype in dtypes_of(ENTRIES[name], ("float32", "complex64", "int64", "bool")):
            for given, process in wheel.apart(ENTRIES[name], getattr(pytorch, dtype), limit=2):
                tally.add(name, compared(name, given, process))
    tally.close(record_property)


@by_hand
@in_slices
def test_out(slice_, record_property):
    tally = Tally("out=")
    for name in entries_of(slice_):
        entry = ENTRIES[name]
        runs = entry.supports_out and name not in UNSAFE
        for dtype in dtypes_of(entry, ("float32", "complex64", "int64", "bool"))[: 2 * bool(runs)]:
            samples = list(entry.sample_inputs("cpu", getattr(pytorch, dtype)))
            for position in spread(len(samples), 2):
                one = samples[position]
                given = one.input, tuple(one.args), dict(one.kwargs)
                for target in wheel.TARGETS:
                    tally.add(f"{name}/{target}", written(name, given, target))
    tally.close(record_property)


def written(name: str, given: tuple, target: str) -> str:
    """How what a call with ``out=`` does differs."""
    entry, ours = ENTRIES[name], counterpart(ENTRIES[name])
    try:
        theirs = wheel.flat_outputs(entry.op(given[0], *given[1], **given[2]))
    except Exception:  # a sample whose result nothing takes
        return ""
    counterparts = translated(given)
    own = wheel.flat_outputs(ours(counterparts[0], *counterparts[1], **counterparts[2]))
    expected = wheel.written(pytorch, entry.op, given, theirs, target)
    got = wheel.written(tapegrad, ours, translated(given), own, target)
    rough = target in wheel.ROUGHLY
    found = wheel.difference(got, expected, shows_values(name, given), text=True, rough=rough)
    return found or wheel.warned_otherwise(got, expected)


@by_hand
@in_slices
def test_methods_and_aliases(slice_, record_property):
    tally = Tally("methods and aliases")
    for name in entries_of(slice_):
        for dtype in dtypes_of(ENTRIES[name], ("float32", "complex64", "int64", "bool")):
            samples = list(ENTRIES[name].sample_inputs("cpu", getattr(pytorch, dtype)))
            for position in spread(len(samples), 2):
                one = samples[position]
                if isinstance(one.input, pytorch.Tensor):
                    for label, theirs, ours in wheel.methods(ENTRIES[name]):
                        tally.add(f"{name}/{label}", called(name, one, theirs, ours))
    tally.close(record_property)


def called(name: str, sample, theirs, ours) -> str:
    """How a method, an operator or an alias differs."""
    if ours is None:
        return "it is not there"
    own = sample.input if 0 in sample.input.stride() else sample.input.clone()
    given = own, tuple(sample.args), dict(sample.kwargs)
    input, args, kwargs = translated(given)
    pytorch.default_generator.manual_seed(0)
    expected = wheel.outcome(theirs, given[0], *given[1], **given[2])
    return wheel.difference(wheel.outcome(ours, input, *args, **kwargs), expected, shows_values(name, given))


@by_hand
def test_names_of_references(record_property):
    tally = Tally("names of python_ref_db")
    for name in wheel.names_of_references():
        tally.add(name, "" if wheel.is_there(name) else "it is not there")
    tally.close(record_property)


@by_hand
def test_tables_of_modules(record_property):
    tally = Tally("module_tests, get_new_module_tests, criterion_tests")
    for name, test in wheel.tables_of_modules():
        tally.add(name, module_differs(test))
    tally.close(record_property)


def module_differs(test) -> str:
    """How a module of one of the older tables differs: what it shows, gives, and derives."""
    theirs, ours, called = wheel.modules_of(test)
    hand_over(theirs, ours)
    if shown(ours) != shown(theirs):
        return f"shows {shown(ours)}, expected {shown(theirs)}"
    kind = type(theirs).__name__
    values, second = kind not in RANDOM_MODULES, kind not in ONCE
    expected = observed(pytorch, theirs, called, values, second)
    return module_disagreement(observed(tapegrad, ours, ours_of(called), values, second), expected) or ""


@by_hand
def test_functions_of_nn(record_property):
    tally = Tally("nn_functional_tests")
    for label, name, args, kwargs in wheel.functional_calls():
        functions = (getattr(torch.nn.functional, name) for torch in (pytorch, tapegrad))
        values = "dropout" not in name and name not in ("rrelu", "gumbel_softmax", "fractional_max_pool2d")
        tally.add(label, derived(*functions, (args[0], args[1:], kwargs), values, rough=True))
    tally.close(record_property)


def derived(theirs, ours, given: tuple, values: bool = True, rough: bool = False) -> str:
    """How values, gradients, second derivatives and tangents differ."""
    stages, precision = ("gradient", "second", "tangent"), (2e-5, 1e-5) if rough else (1e-9, 1e-10)
    expected = account(Case(pytorch, theirs, *given, _as_it_is), stages, values)
    got = account(Case(tapegrad, ours, *translated(given), _as_it_is), stages, values)
    return disagreement(got, expected, *precision, names=rough) or ""


def _as_it_is(found):
    return found


@pytest.mark.ring("full")
@pytest.mark.parametrize("table", ["autograd_function_db", "custom_op_db"])
def test_functions_written_in_python(table, record_property):
    tally = Tally(table)
    for name, theirs, ours, samples in wheel.pairs_of(f"torch.testing._internal.{table}", table, pytorch.float64):
        for given in samples:
            found = derived(theirs, ours, given)
            for in_dim in (0, -1):
                got = wheel.mapped(tapegrad, ours, translated(given), in_dim)
                expected = wheel.mapped(pytorch, theirs, given, in_dim)
                found = found or wheel.difference(got, expected, strides=False)
            tally.add(name, found)
    tally.close(record_property)


@pytest.mark.ring("full")
def test_bad_input_of_optimizers(record_property):
    tally = Tally("error inputs of optim_db")
    for name, description, given in wheel.bad_optimizers():
        expected, got = (wheel.refused(torch, name, *given) for torch in (pytorch, tapegrad))
        tally.add(f"{name}/{description}", "" if got == expected else f"{got}, expected {expected}")
    tally.close(record_property)


@by_hand
@pytest.mark.parametrize("part", ABSENT)
def test_what_is_not_there(part, record_property):
    """Control flow as operators, and tensors that wrap others: counted, so that the account is of all there is."""
    names = wheel.absent_names(part)
    record_property("wheel", {"part": f"{part}, absent by design", "passed": 0, "of": len(names)})
    assert names


def test_exceptions_are_of_parts():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert all(reason and names for reasons in KNOWN.values() for reason, names in reasons.items())


def test_the_comparison_can_fail():
    one = wheel.outcome(lambda: pytorch.ones(2, 3))
    for other in (tapegrad.ones(2, 3) * 2, tapegrad.ones(3, 2), tapegrad.ones(3, 2).t(), tapegrad.ones(2, 3).double()):
        assert wheel.difference(wheel.outcome(lambda x: x, other), one)
    assert wheel.difference(wheel.outcome(lambda: 1 / 0), one) and not wheel.difference(one, one)

"""Structures: what is traced once for calls that differ in lengths. See Note [Shape classes]."""

import importlib
import json
import pkgutil
import subprocess
import sys

import jax
import numpy as np
import pytest
from samples import all_samples

import tapegrad as torch
from tapegrad import ops
from tapegrad._src.dispatch import kernels, plan, shape_class
from tapegrad._src.dispatch.call_keys import signature_of
from tapegrad._src.dispatch.patterns import pattern_of
from tapegrad._src.dispatch.shape_class import ShapeClass
from tapegrad._src.execution.data import dtypes
from tapegrad._src.execution.data.devices import device
from tapegrad._src.execution.numpy_backend.operands import Unwritable
from tapegrad._src.execution.numpy_backend.writer import written
from tapegrad._src.execution.tiers import settings as tier_settings
from tapegrad._src.tape import kept
from tapegrad._src.tensor.spec import Spec
from tapegrad.ops.operator import TABLE, forget_plans
from tests import rings

for module in pkgutil.iter_modules(ops.__path__):
    importlib.import_module(f"tapegrad.ops.{module.name}")

CPU = device("cpu")

pytestmark = pytest.mark.once("kernels are traced, or run at once")


# -- patterns ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("before", "now", "ranks", "expected"), [
    ((5, 16), (7, 16), 2, ("n0", 16)),
    ((5, 5, 16), (7, 7, 16), 3, ("n0", "n0", 16)),
    ((5, 4), (7, 6), 2, ("n0", "n1")),
    ((5, 16, 20), (7, 16, 28), 2, ("n0", 16, "4*n0")),
    ((5, 6, 30), (7, 8, 56), 2, ("n0", "n1", "n0*n1")),
    ((5, 6), (7, 8), 1, ("n0", "n0 + 1")),
    ((5, 2), (5, 3), 1, (5, "m0")),
    ((5, 0.5), (5, 0.25), 1, (5, "p1")),
    ((5, 0.0), (5, -0.0), 1, (5, "p1")),
    ((1, 16), (7, 16), 2, None),  # a length of one broadcasts
    ((5, 0), (7, 3), 2, None),
    ((5, 0), (5, 1), 1, None),  # an axis, say
    ((5, 16), (5, 16), 2, None),
])  # fmt: skip
def test_lengths_that_change_are_symbols(before, now, ranks, expected):
    assert pattern_of(before, now, ranks) == expected


def structure_for(operator, pattern, *shapes, **settings):
    specs = tuple(Spec.of(shape, dtypes.float32, CPU) for shape in shapes)
    return ShapeClass(TABLE[operator], specs, settings, pattern)


def test_symbols_are_read_off_lengths_that_fit():
    structure = structure_for("mul", ("n0", 16, "n0", 1), (5, 16), (5, 1))
    assert structure.read(9, 16, 9, 1) == (9,)
    assert structure.outputs(9) == ((9, 16),)
    assert structure.read(9, 16, 8, 1) is None
    assert structure.read(9, 17, 9, 1) is None
    assert structure.read(0, 16, 0, 1) is None
    assert structure.read(1, 16, 1, 1) == (1,)
    assert structure.read(16, 16, 16, 1) == (16,)


def test_lengths_are_two_and_differ_where_they_may_change_what_is_computed():
    structure = structure_for("squeeze", ("n0", 16), (5, 16))
    assert structure.read(9, 16) == (9,)
    assert structure.read(1, 16) is None
    assert structure.read(16, 16) is None


def test_what_depends_on_more_than_is_known_has_no_structure():
    with pytest.raises(TypeError, match="_DimExpr"):
        structure_for("split", ("n0", 4, "m0"), (5, 4), axis=0, size=3)


# -- calls -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def nothing_is_forgotten(cache_limit):
    """What is made for a call stays, however much the tests before have left."""
    cache_limit(entries=1 << 20, bytes=1 << 40)


@pytest.fixture
def traced(monkeypatch, nothing_is_forgotten):
    """The shapes of the calls whose kernels are traced from here on, with numbers for lengths."""
    forget_plans()
    shapes, abstract = [], kernels.abstract

    def noting(function, arguments):
        shapes.append([argument[0] for argument in arguments if isinstance(argument, tuple)])
        return abstract(function, arguments)

    monkeypatch.setattr(kernels, "abstract", noting)
    return shapes


def test_a_length_that_is_new_is_not_traced(traced):
    w = torch.ones(23, 29)
    for n in (31, 37):
        assert torch.tanh(torch.ones(n, 23) @ w).shape == (n, 29)
    before = len(traced)
    assert before > 0
    for n in (41, 43, 47):
        assert torch.tanh(torch.ones(n, 23) @ w).shape == (n, 29)
    assert len(traced) == before


@pytest.mark.parametrize("right", ["full", "row", "column", "bias"])
def test_elementwise_operators_have_one_structure_for_all_lengths(right):
    forget_plans()
    given = []
    for rows, columns in ((4, 6), (5, 6), (5, 7), (8, 9), (3, 3), (6, 4)):
        shape = {"full": (rows, columns), "row": (1, columns), "column": (rows, 1), "bias": (columns,)}[right]
        x, y = torch.rand(rows, columns), torch.rand(shape)
        assert np.array_equal((x * y).numpy(), x.numpy() * y.numpy())
        given.append((x._spec, y._spec))
    assert len(shape_class.sought(TABLE["mul"], given[-1], {})[0].classes.classes) == 1


def test_calls_that_are_recorded_trace_no_kernel_that_others_have_traced(traced):
    for n in (31, 37):
        torch.exp(torch.ones(n))
    before = len(traced)
    assert torch.exp(torch.ones(41, requires_grad=True)).shape == (41,)
    assert before > 0 and len(traced) == before


def test_a_length_that_is_new_writes_no_function(monkeypatch, nothing_is_forgotten):
    forget_plans()
    made, instantiate = [], kept.WrittenCode.instantiate

    def noting(self, names):
        made.append(self.name)
        return instantiate(self, names)

    monkeypatch.setattr(kept.WrittenCode, "instantiate", noting)
    w = torch.full((23, 29), 0.01, requires_grad=True)
    for n in (31, 37, 41, 43, 47):
        before = len(made)
        x = torch.ones(n, 23)
        torch.tanh(x @ w + 0.5)[2:].sum().backward()
        expected = (n - 2) * (1 - np.tanh(0.73) ** 2)
        np.testing.assert_allclose(w.grad.numpy(), np.full((23, 29), expected), rtol=1e-5)
        w.grad = None
    assert made and len(made) == before


LARGE = """
import json
import tapegrad as torch
from tapegrad._src.dispatch import kernels, plan

made = []

class Noted(plan.Kernel):
    __slots__ = ()

    def __init__(self, function, **settings):
        made.append(settings["name"])
        super().__init__(function, **settings)

kernels.Kernel = plan.Kernel = Noted
x = torch.linspace(0, 1, 20_000).requires_grad_()
for n in (9000, 9100, 9300, 9400, 12_000, 9500):
    before, x.grad = len(made), None
    y = x[:n].exp()
    y.sum().backward()
    assert torch.allclose(x.grad[:n], y) and not x.grad[n:].any()
print(json.dumps([made[:before], made[before:]]))
"""


def test_large_arrays_of_new_lengths_have_no_kernels_of_their_own():
    """In a process of its own: where there are shape classes of other calls, they may be found in place of new ones."""
    done = subprocess.run([sys.executable, "-c", LARGE], capture_output=True, text=True, check=True)
    before, last = json.loads(done.stdout)
    assert before and last == []


def test_what_was_made_for_all_lengths_knows_each(traced):
    """Graphs of several lengths at once, a write that backward refuses, and a length for which it is left to others."""
    x = {n: torch.linspace(0, 1, n).requires_grad_() for n in (5, 6, 7, 9, 11, 5000, 13)}
    y = {n: torch.exp(one * 2) for n, one in x.items()}
    z = {n: (one * one).sum() for n, one in y.items()}
    with torch.no_grad():
        y[9].add_(1)
    for n in reversed(x):
        if n == 9:
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                z[n].backward()
            continue
        z[n].backward()
        np.testing.assert_allclose(x[n].grad.numpy(), 4 * np.exp(4 * x[n].detach().numpy()), rtol=1e-5)
        with pytest.raises(RuntimeError, match="second time"):
            z[n].backward()


def test_what_was_made_for_all_lengths_goes_to_xla_and_comes_back():
    forget_plans()
    x = {n: torch.linspace(0, 1, n).requires_grad_() for n in (5, 6, 7, 8, 9)}
    for tiers in ("auto", "xla", "host", "auto"):
        torch.execution.tiers(tiers)
        try:
            for one in x.values():
                (grad,) = torch.autograd.grad((one.exp() * one).sum(), one)
                expected = (1 + one.detach().numpy()) * np.exp(one.detach().numpy())
                np.testing.assert_allclose(grad.numpy(), expected, rtol=1e-5)
        finally:
            torch.execution.tiers("auto")


def test_lengths_of_one_and_none_are_traced_by_themselves(traced):
    x, y = torch.ones(3, 59), [torch.ones(n, 59) for n in (3, 1)]
    assert [(x + z).shape for z in y] == [(3, 59), (3, 59)]
    assert (torch.ones(53, 59) + torch.ones(53, 59)).shape == (53, 59)
    assert (torch.ones(1, 59) + torch.ones(53, 59)).shape == (53, 59)
    assert (torch.ones(0, 59) + torch.ones(0, 59)).shape == (0, 59)
    with pytest.raises(RuntimeError, match="size of tensor a"):
        torch.ones(4, 59) + torch.ones(5, 59)


def test_searches_of_a_length_that_is_new_are_not_traced(traced):
    for n in (20, 24, 28, 36, 44):
        before = len(traced)
        x = torch.as_tensor(np.arange(n, dtype="float32"))
        assert torch.searchsorted(x, x).tolist() == list(range(n))
        assert torch.isin(x, x + n // 2).tolist() == [i >= n // 2 for i in range(n)]
    assert 0 < before == len(traced)


def test_a_reshape_whose_lengths_follow_is_not_traced(traced):
    for n in (6, 8, 10):
        x = torch.arange(n * 12.0).reshape(n, 12)
        assert torch.equal(x.reshape(n * 12), torch.arange(n * 12.0))
        assert x.reshape(n, 3, 4).shape == (n, 3, 4)
    before = len(traced)
    for n in (14, 18):
        assert torch.ones(n, 12).reshape(n, 3, 4).shape == (n, 3, 4)
        assert torch.ones(n, 12).expand(2, n, 12).sum((0, 1)).tolist() == [2 * n] * 12
    assert [(18, 12)] not in traced[before:]  # expand may be new, once


F = torch.nn.functional


def even(x):
    """An image, four times."""
    return torch.cat([torch.cat([x, x], -1)] * 2, -2)


SAMPLED = {
    "max": lambda x, n: F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
    "max of tiles": lambda x, n: F.max_pool2d(x, 2),
    "average": lambda x, n: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    "lp": lambda x, n: F.lp_pool2d(x, 2, 3),
    "nearest": lambda x, n: F.interpolate(x, scale_factor=1.5),
    "linear": lambda x, n: F.interpolate(x, size=(7, n + 3), mode="bilinear", align_corners=True),
    "cubic": lambda x, n: F.interpolate(x, scale_factor=2, mode="bicubic"),
    "scale": lambda x, n: F.interpolate(x[..., :3, :9], scale_factor=0.5 + n / 32, mode="bilinear"),
    "pdist": lambda x, n: F.pdist(x[0, 0], 1.5),
    "powers": lambda x, n: (x + 2) ** (n / 3),
    "split": lambda x, n: torch.cat(x.split(n // 2 + 1, -1)[::-1], -1),
    "chunk": lambda x, n: torch.cat(x.chunk(3, -1)[::-1], -1),
    "unbind": lambda x, n: x.unbind(-1)[3] * x.unbind(0)[1][..., 3],
    "tiles that fill": lambda x, n: F.max_pool2d(even(x), 2),
    "averages that fill": lambda x, n: F.avg_pool2d(even(x), 2),
    "as many windows": lambda x, n: F.adaptive_avg_pool2d(even(x), 2),
    "pixels": lambda x, n: F.pixel_shuffle(F.pixel_unshuffle(even(x), 2), 2),
    "half spectra": lambda x, n: torch.fft.rfft(x).abs(),
    "exponential": lambda x, n: torch.linalg.matrix_exp(x[..., :n] / 8),
    "three operands": lambda x, n: torch.einsum("bcij,bckj,kl->bcil", x, x, x[0, 0]),
    "cut off": lambda x, n: F.pad(x, (-1, 1, 1, -2)),
    "product": lambda x, n: x.prod(-1),
    "products": lambda x, n: x.cumprod(2),
}


@pytest.mark.parametrize("name", SAMPLED)
def test_other_lengths_and_numbers_are_not_traced(name, traced):
    def step(n):
        x = torch.linspace(-2, 2, 6 * n * (n + 2)).reshape(2, 3, n, n + 2).sin().requires_grad_()
        y = SAMPLED[name](x, n)
        (y * torch.linspace(-1, 1, y.numel()).reshape(y.shape)).sum().backward()
        return y.detach().numpy(), x.grad.numpy()

    for n in (12, 14, 17, 19):
        step(n)
    before = len(traced)
    found = [step(n) for n in (15, 22)]
    assert 0 < before == len(traced)
    for n, results in zip((15, 22), found, strict=True):
        forget_plans()
        for mine, its in zip(results, step(n), strict=True):
            np.testing.assert_allclose(mine, its, rtol=1e-5, atol=1e-5)


def test_very_many_pieces_are_not_traced_when_deferred_either(monkeypatch):
    monkeypatch.setattr(tier_settings.settings, "background", True)
    forget_plans()
    operator, prepared = type(TABLE["stack"]), []
    prepare, gradients = operator.prepare, plan.Plan.gradients

    def noting(self, *args):
        prepared.append(self.name)
        return prepare(self, *args)

    def noting_gradients(self, *args):
        prepared.append(self.op.name)
        return gradients(self, *args)

    monkeypatch.setattr(operator, "prepare", noting)
    monkeypatch.setattr(plan.Plan, "gradients", noting_gradients)
    x = torch.arange(300.0).reshape(100, 3).requires_grad_()
    with torch.deferred():
        y = torch.stack([row * 2 for row in x.unbind()])
        y.square().sum().backward()
    assert x.grad.tolist() == (8 * x).tolist()
    assert not {"stack", "unbind"} & set(prepared)


def test_gradients_at_new_lengths_are_those_of_each_by_itself():
    w = torch.linspace(-1, 1, 12).reshape(3, 4).requires_grad_()
    for n in (5, 6, 7, 3, 4, 1, 9):
        x = torch.linspace(-2, 2, n * 3).reshape(n, 3)
        w.grad = None
        (torch.tanh(x @ w).mean(0) * torch.arange(4.0)).sum().backward()
        y = np.tanh(x.numpy() @ w.detach().numpy())
        expected = x.numpy().T @ ((1 - y * y) * np.arange(4.0) / n)
        np.testing.assert_allclose(w.grad.numpy(), expected, rtol=1e-5, atol=1e-6)


# -- the table ---------------------------------------------------------------------------------------------------------

FIRST = {sample.op: sample for sample in reversed(list(all_samples()))}


def grown(value, by):
    """A sample's argument or setting with other lengths; two and more become longer, alike ones alike."""
    if isinstance(value, np.ndarray):
        shape = tuple(by(n) for n in value.shape)
        array = np.resize(value, shape)
        return np.minimum(array, 1) if array.dtype.kind in "iu" else array
    if isinstance(value, tuple):
        items = [grown(item, by) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def lengths_of(specs, settings):
    return tuple(signature_of(specs, settings)[2])


def as_spec(argument):
    if isinstance(argument, np.ndarray):
        return Spec.of(argument.shape, dtypes.from_numpy(argument.dtype), CPU)
    return None if argument is None else type(argument)


def sized(sample, by):
    arguments = [grown(argument, by) for argument in sample.args]
    sizes = {n for argument in sample.args if isinstance(argument, np.ndarray) for n in argument.shape if n > 1}

    def setting(value):
        if type(value) is int:
            return by(value) if value in sizes and value > 2 else value
        if isinstance(value, tuple):
            items = [setting(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        return value

    return arguments, {name: setting(value) for name, value in sample.settings.items()}


def computed(op, arguments, settings):
    """The results of a kernel that is written for these lengths alone."""
    specs = tuple(map(as_spec, arguments))
    values = [np.asarray(argument) for argument in arguments if argument is not None]
    examples = [jax.ShapeDtypeStruct(argument.shape, argument.dtype) if isinstance(argument, np.ndarray) else argument
                for argument in arguments if argument is not None]  # fmt: skip
    with jax.enable_x64(True):
        return written(op.prepare(specs, settings), examples).body(*values), values


@pytest.mark.once("kernels are run by themselves")
def test_kernels_of_the_table_are_right_at_lengths_that_they_were_not_traced_with(ring):
    """All of them in the widest rings, one in three in the others."""
    compared, refused, unwritten = [], [], []
    share = 1 if rings.reaches(ring, "whole") else 3
    with np.errstate(all="ignore"):
        for name, sample in FIRST.items():
            if not rings.is_drawn(name, share):
                continue
            op = TABLE[name]
            first, second, third = (sized(sample, lambda n, k=k: n + k * n if n > 1 else n) for k in (1, 2, 4))
            try:
                expected, values = computed(op, *third)
                for arguments, settings in (first, second):
                    op.prepare(tuple(map(as_spec, arguments)), settings)
            except (Unwritable, RuntimeError, ValueError, TypeError, IndexError, ZeroDivisionError):
                unwritten.append(name)
                continue
            calls = [(tuple(map(as_spec, arguments)), settings) for arguments, settings in (first, second, third)]
            ranks = sum(spec.ndim for spec in calls[0][0] if isinstance(spec, Spec))
            pattern = pattern_of(lengths_of(*calls[0]), lengths_of(*calls[1]), ranks)
            try:
                structure = ShapeClass(op, *calls[1], pattern)
            except Exception:
                refused.append(name)
                continue
            sizes = structure.read(*lengths_of(*calls[2]))
            if sizes is None or structure.forward is None:
                refused.append(name)
                continue
            results = structure.forward.body(*values)
            results, expected = ([x] if structure.single else list(x) for x in (results, expected))
            assert [result.shape for result in results] == list(structure.outputs(*sizes)), name
            for result, other in zip(results, expected, strict=True):
                assert result.dtype == other.dtype, name
                np.testing.assert_array_equal(result, other, err_msg=name)
            compared.append(name)
    assert len(compared) > 300 // share


def results_and_gradients(op, arguments, settings, positions):
    """What a call gives on tensors, and the gradients of its floating inputs for ones."""
    tensors = list(arguments)
    for i, argument in enumerate(arguments):
        if isinstance(argument, np.ndarray):
            tensors[i] = torch.as_tensor(argument).requires_grad_(i in positions)
    results = op(*tensors, **settings)
    results = results if isinstance(results, tuple) else (results,)
    found = [result for result in results if result.requires_grad]
    if found:
        inputs = [tensors[i] for i in positions]
        results += torch.autograd.grad(found, inputs, list(map(torch.ones_like, found)), allow_unused=True)
    return [None if result is None else result.detach().resolve_conj().numpy() for result in results]


def differentiated(sample):
    """The positions of a sample's arguments that have gradients."""
    given = enumerate(sample.args)
    return [i for i, argument in given if isinstance(argument, np.ndarray) and argument.dtype.kind in "fc"
            and TABLE[sample.op].differentiable(i)]  # fmt: skip


@pytest.mark.once("chooses how kernels are run")
@pytest.mark.parametrize("name", FIRST)
def test_gradients_of_the_table_are_right_at_lengths_that_they_were_not_traced_with(name, monkeypatch):
    op, sample = TABLE[name], FIRST[name]
    lengths = [sized(sample, lambda n, k=k: n + k * n if n > 1 else n) for k in (1, 2, 4)]
    positions = differentiated(sample)
    with monkeypatch.context() as patch:
        patch.setattr(shape_class.ShapeClasses, "bound", lambda self, *call: None)
        patch.setattr(shape_class.ShapeClasses, "made", lambda self, *call: None)
        forget_plans()
        try:
            expected = results_and_gradients(op, *lengths[2], positions)
        except (RuntimeError, ValueError, TypeError, IndexError, ZeroDivisionError) as error:
            with pytest.raises(type(error)):  # what can't be made longer is refused by the rules of any length
                results_and_gradients(op, *lengths[2], positions)
            return
    forget_plans()
    for arguments, settings in lengths:
        found = results_and_gradients(op, arguments, settings, positions)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.once("chooses how kernels are run")
@pytest.mark.parametrize("name", [
    name for name in FIRST if (TABLE[name].uniform or TABLE[name].indifferent)
    and (TABLE[name].kind != "elementwise" or len(TABLE[name].inputs) > 1)
])  # fmt: skip
def test_uniform_operators_are_right_at_lengths_of_one_and_at_equal_ones(name):
    op, sample = TABLE[name], FIRST[name]
    positions = differentiated(sample)
    for final in (1, 6) if op.uniform else (6,):
        calls = [sized(sample, lambda n, k=k: n + k * n if n > 1 else n) for k in (1, 2)]
        calls.append(sized(sample, lambda n, final=final: final if n > 1 else n))
        found = []
        for others in ([], calls[:2]):  # by itself, and by the structure of others
            forget_plans()
            for arguments, settings in (*others, calls[2]):
                try:
                    results = results_and_gradients(op, arguments, settings, positions)
                except (RuntimeError, ValueError, TypeError, IndexError) as error:
                    results = [type(error)]
            found.append(results)
        for one, other in zip(*found, strict=True):
            if isinstance(one, np.ndarray):
                np.testing.assert_allclose(other, one, rtol=1e-6, atol=1e-6)
            else:
                assert one is other  # None, or the error that lengths of one are refused with


def test_lengths_that_follow_are_not_one_and_differ():
    for shape, summed in (((4, 5), (4, 5)), ((3, 2), (1, 2)), ((6, 7), (6, 7)), ((7, 8), (7, 8)), ((7, 8), (1, 8))):
        x = torch.arange(1.0 * shape[0] * shape[1]).reshape(shape)
        axes = tuple(axis for axis in (0, 1) if summed[axis] == 1)
        assert TABLE["sum_to"](x, shape=summed).tolist() == x.numpy().sum(axes, keepdims=True).tolist()


def test_a_mapped_operator_has_structures_of_its_own():
    for n in (3, 5, 7):
        x, w = torch.arange(2.0 * n).reshape(2, n), torch.arange(n, dtype=torch.float32)
        for one, other in ((x, x), (x, w), (w, x)):
            dims = tuple(0 if given is x else None for given in (one, other))
            found = torch.func.vmap(lambda a, b: (a * b).sum(), dims)(one, other)
            assert found.tolist() == (one * other).sum(-1).tolist()


def test_symbols_of_a_mapped_operator_are_not_compared_with_the_lengths_of_other_calls():
    for length in (2, 3):
        x = torch.ones(8, length, 9, requires_grad=True)
        torch.func.vmap(lambda example: example.softmax(0))(x).sum().backward()
    assert [torch.ones(length, 7).softmax(0).sum().item() for length in (3, 4, 9)] == pytest.approx([7.0] * 3)

"""What was written for calls is found by the next process, and computes the same bits."""

import sys

import jax.numpy as jnp
import numpy as np
import pytest

import tapegrad as torch
from benchmarks.first_operators import ARGUMENTS, CALLS, code_of
from tapegrad._src.dispatch import call_keys
from tapegrad._src.execution.state.persistent import persistent_cache
from tapegrad._src.execution.tiers import host_trace, keeping, symbolic_trace, tiered_kernel
from tapegrad._src.tape import kept
from tapegrad.ops.foreign import foreign
from tapegrad.ops.levels import Vmapped
from tapegrad.ops.operator import TABLE, forget_plans
from tests.execution.test_cold_start import printed

pytestmark = pytest.mark.once("a file of its own")


@pytest.fixture
def place(monkeypatch, tmp_path):
    monkeypatch.setattr(kept, "store", kept.Keeper(tmp_path))
    anew()
    yield tmp_path
    anew()


def anew():
    """Forget everything, as another process has not met it; what is new is on disk then."""
    kept.store.write()
    kept.store = kept.Keeper(kept.store.directory)
    torch.execution.clear_caches()
    forget_plans()


def computed(call):
    """The bits of what a call gives, and of what its derivatives are."""
    found = []
    record = lambda x: found.append(np.asarray(x.tolist()).tobytes())
    code, names = code_of(call)
    rng = np.random.default_rng(0)
    arrays = {name: ARGUMENTS[name](rng) for name in names}
    tensors = {name: torch.tensor(x if x.dtype == "int64" else x.astype("float32")) for name, x in arrays.items()}
    leaves = [tensor.requires_grad_() for tensor in tensors.values() if tensor.is_floating_point()]
    output = eval(code, {"t": torch, "F": torch.nn.functional, **tensors})
    record(output)
    grads = torch.autograd.grad(output, leaves, torch.ones_like(output), create_graph=True, allow_unused=True)
    again = [grad for grad in grads if grad is not None and grad.requires_grad]
    more = torch.autograd.grad(again, leaves, list(map(torch.ones_like, again)), allow_unused=True) if again else []
    for grad in (*grads, *more):
        if grad is not None:
            record(grad)
    return found


@pytest.fixture
def traces(monkeypatch):
    """What is traced and written from here on."""
    seen = []

    def watched(module, name):
        function = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *args, **settings: [seen.append(name), function(*args, **settings)][1])

    watched(sys.modules["tapegrad._src.dispatch.kernels"], "abstract")
    watched(sys.modules["tapegrad._src.dispatch.shape_class"], "traced")
    watched(tiered_kernel.Tiered, "_trace")
    watched(host_trace, "written_jaxpr")
    watched(symbolic_trace, "written_jaxpr")
    return seen


FAMILIES = [
    pytest.param(name, marks=() if name in ("products", "einsum") else pytest.mark.ring("full")) for name in CALLS
]


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_kept_computes_the_same_bits_and_nothing_is_traced(place, traces, family):
    before = [computed(call) for call in CALLS[family]]
    assert traces
    anew()
    traces.clear()
    assert [computed(call) for call in CALLS[family]] == before
    assert traces == [] and kept.store.new == {} and kept.store.missed == 0


def test_structures_are_kept_and_those_that_cannot_be_traced(place, traces):
    def run():
        rows = [torch.ones(n, 3, requires_grad=True) for n in (4, 5, 6, 7)]
        for x in rows:
            (x * 2.0).softmax(0).sum().backward()
        shapes = [((3, 1, 2, 2), (1, 4, 2, 2)), ((2, 2, 2, 2), (2, 2, 2, 2))]
        products = [torch.ones(left) @ torch.ones(right) for left, right in shapes]
        return [x.grad.tolist() for x in rows] + [product.tolist() for product in products]

    before = run()
    refused = [entry for entry in kept.store.new.values() if entry == keeping.as_bytes("wrong")]
    assert refused and "traced" in traces
    anew()
    traces.clear()
    assert run() == before and traces == []


def test_calls_that_differ_are_told_apart(place):
    mul, total = TABLE["mul"], TABLE["sum"]
    x, y = (torch.ones(2, 3, dtype=dtype)._spec for dtype in (torch.float32, torch.float64))
    calls = [("forward", mul, (x, x), {}), ("forward", mul, (x, y), {}), ("forward", mul, (x, float), {})]
    calls += [("backward", mul, (x, x), {}, (True, False)), ("backward", mul, (x, x), {}, (True, True))]
    calls += [("forward", total, (x,), {"axis": axis, "keepdims": 0}) for axis in (None, (0,), (1,), (1.0,), 1)]
    calls += [("forward", total, (x,), {"axis": None, "keepdims": kept}) for kept in (False, 0.0, -0.0, "0")]
    found = [call_keys.kept_entry(*call).key for call in calls]
    assert len(set(found)) == len(calls)
    torch.set_default_dtype(torch.float64)
    try:
        assert call_keys.kept_entry(*calls[0]).key != found[0]
    finally:
        torch.set_default_dtype(torch.float32)


def test_what_has_no_name_in_another_process_is_not_kept(place):
    spec = torch.ones(2)._spec
    assert call_keys.kept_entry("forward", TABLE["mul"], (spec, spec), {"of": lambda: 0}) is None
    for stranger in (Vmapped(TABLE["mul"], (True, False)), foreign(jnp.sin)):
        assert call_keys.kept_entry("forward", stranger, (spec, spec), {}) is None
    with torch.execution.tiers("xla"):
        assert call_keys.kept_entry("forward", TABLE["mul"], (spec, spec), {}) is None
    assert keeping.as_bytes(lambda: 0) is None
    assert keeping.as_bytes(np.zeros(1 << 20)[::2]) is None and keeping.as_bytes(np.array([object()])) is None


def test_functions_and_arrays_come_back_as_they_were():
    fixed = np.arange(6.0).reshape(2, 3)
    fixed.flags.writeable = False
    names = {"fixed": fixed, "turned": np.asfortranarray(fixed), "back": fixed[:, ::-1], "single": np.array(2.0),
             "part": fixed[:, 1], "spread": np.broadcast_to(np.arange(3.0), (2, 3)), "none": np.ones((0, 3)).T,
             "add": np.add, "total": np.add.reduce, "dtype": np.dtype("int8")}  # fmt: skip
    f = kept.defined(
        ["def f(x):", "    return add(fixed, x) + total(turned) * single, back, dtype, part, spread, none"], "f", names
    )
    g = keeping.of_bytes(keeping.as_bytes(f))
    assert g(1.0)[0].tolist() == f(1.0)[0].tolist() and g(1.0)[2] is np.dtype("int8")
    for name in ("fixed", "turned", "back", "single", "part", "spread", "none"):
        mine, its = f.__globals__[name], g.__globals__[name]
        assert (mine.dtype, mine.strides, mine.flags.writeable) == (its.dtype, its.strides, its.flags.writeable)
        assert mine.tobytes() == its.tobytes() and mine.dtype is its.dtype


def test_nothing_of_a_file_is_used_that_is_not_what_was_written(tmp_path):
    store = kept.Keeper(tmp_path)
    one, two = kept.digest(b"one"), kept.digest(b"two")
    store.keep(one, b"1111")
    store.keep(two, b"2222")
    store.write()
    data = store.path.read_bytes()

    def found(data):
        store.path.write_bytes(data)
        again = kept.Keeper(tmp_path)
        return again.find(one), again.find(two)

    assert found(data) == (b"1111", b"2222")
    assert found(data[:-1] + b"3") == (b"1111", None)  # an entry that was changed
    assert found(data[:-1]) == (b"1111", None)  # a file that was cut off
    for place in (0, 20, 40):  # the digest, the length, the table
        changed = bytearray(data)
        changed[place] ^= 1
        assert found(bytes(changed)) == (None, None)
    assert found(b"") == found(b"short") == (None, None)


def test_a_file_that_others_may_write_to_is_not_read(tmp_path):
    store = kept.Keeper(tmp_path / "made")
    store.keep(b"key", b"entry")
    store.write()
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o700 and store.path.stat().st_mode & 0o777 == 0o600
    assert kept.Keeper(tmp_path / "made").find(b"key") == b"entry"
    store.path.chmod(0o622)
    assert kept.Keeper(tmp_path / "made").find(b"key") is None


def test_processes_add_to_a_file_and_it_does_not_grow_for_ever(tmp_path, monkeypatch):
    first, second = kept.Keeper(tmp_path), kept.Keeper(tmp_path)
    first.keep(b"a", b"1" * 400)
    second.keep(b"b", b"2" * 400)
    first.write()
    second.write()
    third = kept.Keeper(tmp_path)
    assert third.find(b"a") and third.find(b"b")
    monkeypatch.setattr(kept, "LIMIT", 1000)
    fourth = kept.Keeper(tmp_path)
    assert fourth.find(b"b")
    fourth.keep(b"c", b"3" * 400)
    fourth.write()
    assert sorted(kept.Keeper(tmp_path)._read().table) == [b"b", b"c"]
    fourth.keep(b"e", b"5" * 700)
    fourth.keep(b"f", b"6")  # a process keeps no more than a file holds
    assert list(fourth.new) == [b"e"] and fourth.room < 0
    fourth.new = {}
    for number in range(5):
        (tmp_path / f"written-{number}.bin").write_bytes(b"")
    fifth = kept.Keeper(tmp_path)
    fifth.keep(b"d", b"4")
    fifth.write()
    assert len(list(tmp_path.iterdir())) == kept.FILES and fifth.path.exists()


def test_where_nothing_can_be_written_nothing_happens(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    store = kept.Keeper(tmp_path / "file" / "within")
    assert store.find(b"key") is None
    store.keep(b"key", b"entry")
    store.write()
    nowhere = kept.Keeper(None)
    nowhere.keep(b"key", b"entry")
    nowhere.write()
    assert nowhere.find(b"key") is None
    monkeypatch.setenv(kept.VARIABLE, "")
    assert kept.default_directory() is None
    monkeypatch.setenv(kept.VARIABLE, str(tmp_path))
    assert kept.default_directory() == tmp_path
    monkeypatch.delenv(kept.VARIABLE)
    assert kept.default_directory() == kept.platform_caches() / "tapegrad"


def test_the_persistent_cache_has_it_all_in_one_place(tmp_path):
    before = kept.store.directory
    try:
        persistent_cache(tmp_path)
        assert kept.store.directory == tmp_path
    finally:
        persistent_cache(enabled=False)
    assert kept.store.directory == before


PROGRAM = """
import json
import tapegrad as torch
from tapegrad._src.execution.tiers import tiered_kernel
from tapegrad._src.tape import kept
traced, trace = [], tiered_kernel.Tiered._trace
tiered_kernel.Tiered._trace = lambda self: [traced.append(self.kernel.name), trace(self)][1]
x = torch.linspace(-1, 1, 12).reshape(3, 4).requires_grad_()
y = torch.einsum("ij,kj->ik", x.tanh(), x.softmax(1))
(grad,) = torch.autograd.grad(y.sum(), x, create_graph=True)
grad.square().sum().backward()
print(json.dumps([x.grad.tolist(), traced, kept.store.missed, kept.store.found > 20]))
"""


@pytest.mark.ring("full")
def test_the_next_process_finds_it(tmp_path):
    first, second = (printed(PROGRAM, TAPEGRAD_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert first[0] == second[0] and first[1] and first[2]
    assert second[1:] == [[], 0, True]
    assert printed(PROGRAM)[:2] == first[:2]

"""What a fresh process pays before its first step: the import, and compilation that another process has done."""

import inspect
import json
import os
import subprocess
import sys
from functools import partial, wraps
from pathlib import Path

import jax
import pytest

import tapegrad as torch
from benchmarks.cold_start import COLD, Fresh, measured
from tapegrad._src.bindings.declaration.registry import NAMESPACES, TENSOR, Signature
from tapegrad._src.execution.array_functions import host
from tapegrad._src.execution.state.persistent import persistent_cache, platform_caches
from tapegrad.ops.kinds import general
from tapegrad.ops.operator import TABLE
from tapegrad.ops.signatures import parameters_of

pytestmark = pytest.mark.once("processes of their own")

ROOT = Path(__file__).resolve().parents[2]


def printed(program, *arguments, **environment):
    """What a fresh process prints, as JSON; it keeps nothing on disk unless the program says so."""
    kept_out = ("JAX_COMPILATION_CACHE_DIR", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "TAPEGRAD_EXECUTION")
    env = {name: value for name, value in os.environ.items() if name not in kept_out} | environment
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=env, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


# -- the import --------------------------------------------------------------------------------------------------------

IMPORT = """
import gc, json, sys
import jax, jax.numpy
{"enabled": gc.enable, "disabled": gc.disable, "frozen": gc.freeze}[sys.argv[1]]()
frozen, before = gc.get_freeze_count(), set(sys.modules)
import tapegrad
collects, thawed = gc.isenabled(), frozen - gc.get_freeze_count()
jax.config.update("jax_num_cpu_devices", 2)  # refused once JAX has looked for its devices
print(json.dumps([sorted(set(sys.modules) - before), collects, thawed, len(jax.devices())]))
"""


@pytest.mark.parametrize("collector", ["enabled", "disabled", "frozen"])
def test_the_import_leaves_the_process_as_it_was(collector):
    modules, collects, thawed, devices = printed(IMPORT, collector)
    assert collects == (collector != "disabled")
    assert thawed <= 1000  # some that were frozen are freed; all of them are some 100,000
    assert devices == 2
    rooms = {name.partition(".")[0] for name in modules}
    assert "tapegrad" in rooms
    assert not rooms & {"scipy", "torch", "matplotlib", "unittest"}
    parts = {name.split(".")[1] for name in modules if name.startswith("tapegrad.")}
    assert not parts & {"demo", "compiler", "func", "utils", "profiler", "serialization"}
    assert not any(name.startswith(("tapegrad.nn.modules", "tapegrad.nn.utils")) for name in modules)


FROZEN = """
import gc, json, sys, weakref
others = [[] for _ in range(int(sys.argv[1]))]
import tapegrad

class Node:
    pass

node = Node()
node.itself, gone = node, weakref.ref(node)
del node
gc.collect()
print(json.dumps([gc.get_freeze_count(), gone() is None]))
"""


@pytest.mark.parametrize("others", [0, 100_000])
def test_full_collections_leave_out_what_a_program_has_that_begins_with_the_import(others):
    frozen, collected = printed(FROZEN, others)
    assert frozen == 0 if others else frozen > 50_000
    assert collected


ON_DEMAND = """
import json, sys
import tapegrad as torch
if sys.argv[1] == "modules first":
    import tapegrad.compiler, tapegrad.func, tapegrad.utils.checkpoint, tapegrad.interop.compare
    import tapegrad.autograd.functional, tapegrad.autograd.profiler, tapegrad.autograd.gradcheck
listed = {"compile", "compiler", "func", "profiler", "utils", "vmap"} <= set(dir(torch))
made = torch.compile(torch.vmap(lambda x: x * 2))(torch.ones(2)).tolist()
found = [torch.compare, torch.func.grad, torch.utils.checkpoint.checkpoint, torch.profiler.profile,
         torch.autograd.functional.jacobian, torch.autograd.profiler.profile, torch.autograd.DeviceType,
         torch.autograd.gradcheck]
same = torch.compile is torch.compile and torch.autograd.profiler is sys.modules["tapegrad.autograd.profiler"]
from tapegrad import *
print(json.dumps([listed, made, [one.__name__ for one in found], same, compile is torch.compile]))
"""


@pytest.mark.parametrize("order", ["names first", "modules first"])
def test_what_is_imported_on_demand_is_there_when_it_is_asked_for(order):
    listed, made, names, same, starred = printed(ON_DEMAND, order)
    assert made == [2.0, 2.0] and listed and same and starred
    assert names == ["compare", "grad", "checkpoint", "profile", "jacobian", "profile", "DeviceType", "gradcheck"]


DISTRIBUTED = """
import json, sys
import tapegrad as torch
listed = "DistributedDataParallel" in dir(torch.nn.parallel) and "tapegrad.distributed" not in sys.modules
found = torch.nn.parallel.DistributedDataParallel
from tapegrad.nn.parallel.distributed import DistributedDataParallel
print(json.dumps([listed, found is DistributedDataParallel, found.__name__]))
"""


def test_modules_of_processes_are_found_without_an_import_of_torch_distributed():
    assert printed(DISTRIBUTED) == [True, True, "DistributedDataParallel"]


def test_a_name_that_nobody_declared():
    with pytest.raises(AttributeError, match="module 'tapegrad' has no attribute 'nonsense'"):
        torch.nonsense


def inspected(function):
    """The parameters of a function as ``inspect`` finds them."""
    return inspect.signature(function).parameters


def test_parameters_are_those_that_inspect_finds():
    functions = [op.function for op in TABLE.values()]
    functions += [formula.function for op in TABLE.values() for formula in op.formulas.values()]
    functions += [f.__wrapped__ for f in NAMESPACES["Tensor"].values() if hasattr(f, "__wrapped__")]
    assert len(functions) > 1500
    for function in functions:
        found, expected = parameters_of(function), inspected(function)
        assert found.names == tuple(expected)
        assert found.positional == tuple(n for n, p in expected.items() if p.kind in (0, 1))
        assert found.keyword == tuple(n for n, p in expected.items() if p.kind in (3, 4))
        assert found.defaults == {n: p.default for n, p in expected.items() if p.kind == 3 and p.default is not p.empty}


def test_parameters_of_what_is_no_plain_function():
    def plain(x, *ys, axis, keepdims=False, **more):
        """A parameter of each kind."""
        local = axis, keepdims, more
        return x, ys, local

    @wraps(plain)
    def wrapping(*args, **kwargs):
        return plain(*args, **kwargs)

    names = ("x", "ys", "axis", "keepdims", "more")
    assert parameters_of(plain).names == parameters_of(wrapping).names == names
    assert parameters_of(partial(plain, axis=0)).defaults == {"axis": 0, "keepdims": False}
    assert parameters_of(partial(plain, 1)).positional == ()


def test_declarations_are_still_checked():
    with pytest.raises(TypeError, match=r"declared_wrongly: formulas for \['z'\], but its inputs are \('x', 'y'\)"):

        @general(z=lambda g: g)
        def declared_wrongly(x, y, *, axis):
            return x


def test_which_arguments_must_be_tensors():
    for name, function in NAMESPACES["torch"].items():
        if inspect.isfunction(function) and hasattr(function, "__wrapped__"):
            found = Signature(function.__wrapped__, name)
            parameters = [p for p in inspected(function.__wrapped__).values() if p.kind < p.KEYWORD_ONLY]
            flags = tuple(p.annotation in TENSOR for p in parameters)
            assert found.tensors == (flags if any(flags) else ())


def test_symmetric_factorization_finds_lapack():
    x = torch.tensor([[2.0, 1.0], [1.0, 3.0]])
    assert torch.linalg.ldl_factor(x).pivots.tolist() == [1, 2]


def test_a_capture_makes_its_seed_without_a_kernel(monkeypatch):
    x = torch.tensor([0.5, 1.0, 2.0], requires_grad=True)
    step = torch.compile(lambda: (x * x).sum().backward())
    monkeypatch.setattr(host, "_copy", None)
    host._seen.clear(), host.ones.cache.clear()
    step()
    assert x.grad.tolist() == [1.0, 2.0, 4.0]


# -- compiled by another process ---------------------------------------------------------------------------------------

STEP = """
import collections, json, warnings
import jax
import tapegrad as torch

torch.execution.tiers("xla")
torch.ones(2) * 2  # JAX settles on a cache when it compiles for the first time
events = collections.Counter()
jax.monitoring.register_event_listener(lambda event, **more: events.update([event.rpartition("/")[2]]))
from tapegrad._src.execution.state.persistent import persistent_cache
place = persistent_cache()
x = torch.ones(3, requires_grad=True)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    (x * x).sum().backward()
assert x.grad.tolist() == [2.0, 2.0, 2.0]
assert all("Error reading persistent compilation cache entry" in str(warning.message) for warning in said)
print(json.dumps([str(place), events["cache_hits"], events["cache_misses"], len(said)]))
"""


def test_a_second_process_compiles_nothing(tmp_path):
    first, second = (printed(STEP, XDG_CACHE_HOME=str(tmp_path)) for _ in range(2))
    compiled = first[2]
    assert compiled >= 3
    assert second == [first[0], compiled, 0, 0]
    if sys.platform == "linux":
        assert first[0] == str(tmp_path / "tapegrad")


@pytest.mark.ring("full")
def test_broken_entries_are_compiled_again_with_a_warning(tmp_path):
    place, _, compiled, _ = printed(STEP, XDG_CACHE_HOME=str(tmp_path))
    for entry in Path(place).iterdir():
        entry.write_bytes(entry.read_bytes()[:100])
    assert printed(STEP, XDG_CACHE_HOME=str(tmp_path)) == [place, 0, compiled, compiled]


SETTINGS = ("compilation_cache_dir", "enable_compilation_cache", "persistent_cache_min_compile_time_secs",
            "persistent_cache_min_entry_size_bytes")  # fmt: skip


def test_switched_off_the_configuration_is_what_it_was(tmp_path):
    def configured():
        return [getattr(jax.config, f"jax_{name}") for name in SETTINGS]

    before = configured()
    try:
        assert persistent_cache(tmp_path / "a" / "b") == tmp_path / "a" / "b"
        assert configured() == [str(tmp_path / "a" / "b"), True, 0.0, -1]
        persistent_cache(tmp_path / "c")
    finally:
        persistent_cache(enabled=False)
    assert configured() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "c"]


@pytest.mark.parametrize(
    ("platform", "place"), [("linux", ".cache"), ("darwin", "Library/Caches"), ("win32", "AppData/Local")]
)
def test_where_platforms_have_their_caches(monkeypatch, platform, place):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    assert platform_caches() == Path.home() / place


def test_a_directory_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    before = jax.config.jax_compilation_cache_dir
    with pytest.raises(OSError, match="file"):
        persistent_cache(tmp_path / "file" / "cache")
    assert jax.config.jax_compilation_cache_dir == before


# -- the benchmark -----------------------------------------------------------------------------------------------------


@pytest.mark.ring("full")
def test_a_life_is_measured(tmp_path):
    taken = measured(Fresh("tapegrad immediate", COLD), str(tmp_path), quick=True)
    alone = {"import over jax", "setup", "first step", "work", "second step"}
    assert set(taken) == {"import", "whole", "whole work"} | alone
    assert taken["whole"] > taken["import"] + taken["first step"] and taken["whole work"] > taken["work"]
    assert all(seconds > 0 for seconds in taken.values())
    with pytest.raises(RuntimeError, match=r"(?s)no such mode, nothing kept: .*invalid choice"):
        measured(Fresh("no such mode", COLD), str(tmp_path), quick=True)

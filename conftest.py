"""What holds for every test: how XLA compiles, that modes are left as they were found, what happens without PyTorch.

Note [Compiled once per checkout]
A new kernel costs XLA tens of milliseconds, and the tests make thousands. They share shapes, compile quickly (Note
[Quick compilation]), and keep what was compiled in ``.cache/jax`` of the checkout, so that a second run compiles next
to nothing. All of this is said in the environment before jax is imported; what the environment says already is left
alone.

Of several workers each takes whole files (``--dist=loadfile``), as the tests of a file need the same kernels.

Note [What was compiled is dropped]
A process compiles thousands of kernels, of which most are needed by many tests, and which take less memory than others
(Note [One MLIR context]). So the limit of caches is as good as none (``caches``); but when the process has grown to
``PLENTY``, all are emptied between two tests, those of jax too. What is needed again comes from the folder.

Note [One MLIR context]
For each function that JAX lowers it makes an MLIR context and loads all dialects into it. That takes a quarter of the
time that a small kernel costs, and nine tenths of its memory, a megabyte that stays with the kernel. A context may
hold any number of modules: here each thread has one. JAX makes them by a function that isn't public; where it has
another name, nothing is changed.

Note [What stays is not searched]
Many tests collect garbage to see what is freed. A collection looks at all that is alive, and PyTorch's database, the
tests themselves and what jax remembers are millions of objects: a quarter of a second each time. So what is alive when
the tests start, and after each module, is frozen: it is freed when nobody refers to it, but no longer searched.

Collecting tests makes objects that stay, so that nothing is searched meanwhile; and what is there at the end is not
searched ten times by pytest, once will do.

Note [Cases that are not made]
Half of all cases are of rings that are wider than the one that is run. To make an item for each, in each worker, and
throw it away, takes longer than to say by its name that it isn't wanted. Public functions of pytest can't leave cases
out of what is parametrized; where the list that it keeps has another name, all are made, and deselected later.

Which tests run, and which of them twice, is said in ``tests/rings.py``: Note [Rings of tests], Note [Both executions].

Note [Parity tests without PyTorch]
Tests under ``parity/`` compare with PyTorch and are marked so. Without PyTorch their modules can't be imported: they
are read instead, one item for each test function, and all of these are deselected, as are tests elsewhere with the
mark; the summary says how many and why.
"""

import ast
import ctypes
import ctypes.util
import doctest
import gc
import importlib.metadata
import importlib.util
import itertools
import linecache
import os
import shutil
import sys
import threading
from pathlib import Path

from tests import quick_compilation

HERE = Path(__file__).resolve().parent
CACHE = HERE / ".cache" / "jax"
CACHE.mkdir(parents=True, exist_ok=True)
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(CACHE))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
os.environ.setdefault("TAPEGRAD_CACHE_DIR", "")  # what is written for calls is written each time
os.environ.setdefault("TAPEGRAD_SHIPPED", "")  # and nothing is there before
os.environ.setdefault("XLA_FLAGS", quick_compilation.flags())
for library in ("OMP", "OPENBLAS"):  # threads that wait for work take it from the other workers of pytest-xdist
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import pytest  # noqa: E402 - the environment comes first
from _pytest.doctest import DoctestModule  # noqa: E402

import tapegrad  # noqa: E402 - before pytest imports one of its modules by file name for the doctests
from tapegrad._src import caches  # noqa: E402
from tapegrad._src.execution.array_functions import host  # noqa: E402
from tapegrad._src.execution.programs import subprogram  # noqa: E402
from tapegrad._src.execution.recording import program as deferred  # noqa: E402
from tapegrad._src.execution.tiers import settings as tier_settings  # noqa: E402
from tests import rings  # noqa: E402

WRITERS = [f"tapegrad/utils/tensorboard/{name}.py" for name in ("__init__", "writer")]
collect_ignore = [] if importlib.util.find_spec("tensorboardX") else WRITERS
PROGRAMS = ("sharded_models", "sharded_programs", "sharded_traffic", "two_processes", "three_processes")
collect_ignore += [f"tests/distributed/{name}.py" for name in PROGRAMS]
collect_ignore += ["tests/parity/distributed/distributed_program.py"]
collect_ignore += [] if shutil.which("node") else ["tests/tools/test_viz_page.py"]  # whose scripts it runs
"""Modules that can't be imported without an extra, and have no examples; tests/tools/test_tensorboard.py tests them."""

pytest.register_assert_rewrite("harness", "oracles")

caches.memory.most = 1 << 20, 1 << 40
subprogram.SEEN_ENOUGH = 3
tier_settings.settings.background = False  # what is compiled, and when, is the same each time
host.SEEN_ENOUGH = 256  # the tests make tensors of hundreds of shapes: a kernel for each is not worth its compilation
gc.set_threshold(20_000, 20, 20)  # tracing makes many objects that live for long, which are looked at again and again

check_lines = linecache.checkcache
linecache.checkcache = lambda filename=None: filename and check_lines(filename)  # doctest asks of all files each time

test_of_docstring = doctest.DocTestFinder._get_test


def test_of_examples(finder, thing, *where):
    """Pass over docstrings without examples: to find the line at which each of them stands takes long."""
    text = thing if isinstance(thing, str) else getattr(thing, "__doc__", None) or ""
    return None if isinstance(text, str) and ">>>" not in text else test_of_docstring(finder, thing, *where)


doctest.DocTestFinder._get_test = test_of_examples

lowering = sys.modules.get("jax._src.interpreters.mlir")
if hasattr(lowering, "make_ir_context"):
    contexts, make_context = threading.local(), lowering.make_ir_context

    def context_of_thread():
        """See Note [One MLIR context]."""
        if not hasattr(contexts, "context"):
            contexts.context = make_context()
        return contexts.context

    lowering.make_ir_context = context_of_thread

PARITY = HERE / "tests" / "parity"
HAS_TORCH = importlib.util.find_spec("torch") is not None
PLENTY = 3 << 30
DESELECTED = pytest.StashKey[int]()
CASES = pytest.StashKey[list]()
NOTED = pytest.StashKey[dict]()
EXECUTIONS = {"both": ("immediate", "deferred"), "immediate": ("immediate",), "deferred": ("deferred",)}
CHOSEN = EXECUTIONS[os.environ.get("TAPEGRAD_EXECUTION", "both")]


def pytest_addoption(parser):
    help = "how much is run; if not said: of files that are named the whole, otherwise default. See tests/rings.py"
    parser.addoption("--ring", choices=rings.RINGS, help=help)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    config.stash[NOTED] = {}
    config.option.ring = config.option.ring or ("whole" if named else "default")  # workers are told


def pytest_report_header(config):
    return f"ring: {config.option.ring}, of {', '.join(rings.RINGS)}"


@pytest.fixture(scope="session")
def ring(pytestconfig):
    """The ring that is run. A test that can do more in wide ones asks ``rings.reaches(ring, "full")``."""
    return pytestconfig.option.ring


@pytest.fixture(scope="session")
def cases(pytestconfig):
    """All tests that were collected, also those that aren't run in this ring."""
    return pytestconfig.stash[CASES]


@pytest.fixture(scope="session", autouse=True)
def examples_say_torch(doctest_namespace):
    """Examples in docstrings don't import the package."""
    doctest_namespace["torch"] = tapegrad


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc):
    """See Note [Both executions], Note [Cases that are not made]."""
    definition = metafunc.definition
    twice = definition.get_closest_marker("once") is None
    if twice:
        metafunc.parametrize("execution", CHOSEN, indirect=True)
    if getattr(metafunc, "_calls", None) and not any("::" in arg for arg in metafunc.config.args):
        metafunc._calls = calls_in_ring(definition, metafunc._calls, twice and len(CHOSEN) > 1, metafunc.config)


def calls_in_ring(definition, calls, twice, config):
    """Those of a function's calls that are run in this ring, one at least; all are noted."""
    mark = definition.get_closest_marker("ring")
    said = mark and mark.args[0]
    cases = rings.cases_of_function(definition.nodeid, [
        (f"[{call.id}]", call.params["execution"] if twice else None,
         ring_of_marks([*definition.own_markers, *call.marks]) or said)
        for call in calls
    ])  # fmt: skip
    noted = dict(zip(calls_by_name(definition, calls), cases, strict=True))
    if HAS_TORCH or not definition.get_closest_marker("parity"):
        config.stash[NOTED].update(noted)
    chosen = [rings.reaches(config.option.ring, rings.ring_of(case)) for case in noted.values()]
    return list(itertools.compress(calls, chosen)) or calls[:1]


def calls_by_name(definition, calls):
    """The names that pytest gives to calls of a function."""
    return [f"{definition.nodeid}[{call.id}]" for call in calls]


def ring_of_marks(marks):
    """The ring that marks name, or None."""
    return next((mark.args[0] for mark in marks if mark.name == "ring"), None)


@pytest.fixture(autouse=True)
def execution(request):
    """When operators are computed: "immediate" or "deferred". What a test leaves deferred is not run."""
    once = request.node.get_closest_marker("once") is not None
    how = "immediate" if once else getattr(request, "param", CHOSEN[0])
    tapegrad.set_execution(how)
    yield how
    deferred.recording.__init__()
    tapegrad.set_execution("immediate")


@pytest.fixture(autouse=True)
def modes_are_left_as_they_were(execution):
    """A test restores the thread's modes and the default dtype; the next one gets them clean even if it doesn't."""
    from tapegrad._src.execution.data import dtypes
    from tapegrad._src.tape.modes import thread

    modes, default = thread.modes, dtypes.get_default_dtype()
    yield
    left, thread.modes = thread.modes, modes
    left_default = dtypes.get_default_dtype()
    dtypes.set_default_dtype(default)
    assert left is modes, f"the test left the modes as {left}"
    assert left_default is default, f"the test left {left_default} as the default dtype"


@pytest.fixture
def cache_limit():
    """``torch.execution.set_cache_limit``, taken back after the test; nothing is remembered at first."""
    tapegrad.execution.clear_caches()
    before = caches.memory.most
    yield tapegrad.execution.set_cache_limit
    caches.memory.most = before


@pytest.fixture(autouse=True)
def memory_is_given_back():
    """See Note [What was compiled is dropped]."""
    yield
    give_memory_back()


def give_memory_back():
    """Drop what was compiled, if that is much. The machine that draws programs does so, too."""
    if resident() > PLENTY:
        import jax

        tapegrad.execution.clear_caches()
        jax.clear_caches()
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        library = ctypes.util.find_library("c")
        if library is not None and hasattr(ctypes.CDLL(library), "malloc_trim"):
            ctypes.CDLL(library).malloc_trim(0)


@pytest.fixture(autouse=True, scope="module")
def what_stays_is_not_searched(request):
    """See Note [What stays is not searched]. Examples in docstrings leave little."""
    if not isinstance(request.node, DoctestModule):
        gc.collect()
        gc.freeze()


def resident():
    """How many bytes of memory this process has, where that can be asked cheaply."""
    statistics = Path("/proc/self/statm")
    return int(statistics.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if statistics.exists() else 0


class KernelCalls:
    """The names of the kernels that were run, by themselves or in programs."""

    def __init__(self, run_recorded):
        self.names, self.in_program, self.run_recorded = [], False, run_recorded

    def clear(self):
        """Begin anew; what is deferred counts as run before."""
        self.run_recorded()
        self.names.clear()

    def read(self):
        """The names since then; what is deferred is run."""
        self.run_recorded()
        return list(self.names)

    def counted(self, kernel):
        """A kernel's ``run`` that notes its name."""
        run = kernel.run

        def call(*values):
            if not self.in_program:
                self.names.append(kernel.name)
            return run(*values)

        return call

    def counted_program(self, run):
        """``run_program`` that notes the names of the program's kernels."""

        def call(program, wanted):
            self.names += [instruction[0].kernel.name for instruction in program.code]
            self.in_program = True
            try:
                return run(program, wanted)
            finally:
                self.in_program = False

        return call


@pytest.fixture
def kernel_calls(monkeypatch):
    """The calls of kernels that are made from here on, and of all that are recorded."""
    from tapegrad._src.execution.kernels.kernel import Kernel

    tapegrad.execution.clear_caches()  # what is known of other lengths is shared, and is not called as a kernel
    calls, make = KernelCalls(deferred.run_recorded), Kernel.__init__

    def counting(kernel, *args, **keywords):
        make(kernel, *args, **keywords)
        kernel.run = calls.counted(kernel)

    monkeypatch.setattr(Kernel, "__init__", counting)
    runner = deferred.program_runner
    monkeypatch.setattr(runner, "content", calls.counted_program(runner.content))
    return calls


@pytest.fixture
def no_gc():
    """What a test drops is freed by counting references alone, or stays."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class UnreadableItem(pytest.Item):
    """Stands for a test function of a module that can't be imported."""

    def runtest(self):
        raise RuntimeError("PyTorch is not installed; this test can't be run")


class UnreadableModule(pytest.File):
    """A parity module where there is no PyTorch. See Note [Parity tests without PyTorch]."""

    def collect(self):
        for node in ast.parse(self.path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield UnreadableItem.from_parent(self, name=node.name)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """See Note [What stays is not searched]."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path, parent):
    found = yield
    written_there = any(file_path.is_relative_to(HERE / room) for room in ("tests", "tapegrad/_src"))
    if written_there and ">>>" not in file_path.read_text():  # no examples to look for; namespaces have those of others
        found = [collector for collector in found if not isinstance(collector, DoctestModule)]
    if HAS_TORCH or not file_path.is_relative_to(PARITY):
        return found
    return [UnreadableModule.from_parent(parent, path=file_path)] if file_path.match("test_*.py") else []


def pytest_ignore_collect(collection_path, config):
    """The first ring doesn't even look at files that have nothing for it."""
    if config.option.ring != "first" or not collection_path.is_file():
        return None
    here = collection_path.is_relative_to(HERE) and collection_path.relative_to(HERE).as_posix()
    return None if here and rings.first_of(here) != () else True


def pytest_collection_modifyitems(config, items):
    for path, its in itertools.groupby(items, key=lambda item: item.path):
        if path.is_relative_to(PARITY):
            for item in its:
                item.add_marker(pytest.mark.parity)
    comparable = [item for item in items if HAS_TORCH or not item.get_closest_marker("parity")]
    config.stash[DESELECTED] = len(items) - len(comparable)
    noted = config.stash[NOTED]
    others = [item for item in comparable if item.nodeid not in noted]
    noted.update(zip([item.nodeid for item in others], rings.cases_of(others, both=len(CHOSEN) > 1), strict=True))
    config.stash[CASES] = list(noted.values())
    chosen = [item for item in comparable if rings.reaches(config.option.ring, rings.ring_of(noted[item.nodeid]))]
    kept = set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = rings.longest_first(chosen) if hasattr(config, "workerinput") else chosen


def pytest_report_collectionfinish(config):
    wider = len(config.stash[CASES]) - sum(
        rings.reaches(config.option.ring, rings.ring_of(case)) for case in config.stash[CASES]
    )
    return f"{wider} more in wider rings" if wider else []


def pytest_sessionfinish(session):
    gc.collect()
    gc.freeze()
    if hasattr(session.config, "workeroutput"):  # a worker of pytest-xdist: tell the controller, which collects nothing
        session.config.workeroutput["parity"] = session.config.stash.get(DESELECTED, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    node.config.stash[DESELECTED] = getattr(node, "workeroutput", {}).get("parity", 0)


def pytest_terminal_summary(terminalreporter, config):
    count = config.stash.get(DESELECTED, 0)
    if count:
        terminalreporter.write_line(
            f"{count} parity test functions deselected: they compare with PyTorch, which is not installed here"
        )
    entries = recorded(terminalreporter, "opinfo")
    if entries:
        counts = {stage: sum(entry["counts"][stage] for entry in entries) for stage in entries[0]["counts"]}
        stages = ", ".join(f"{stage} {count:,}" for stage, count in counts.items())
        names, left_out = len({entry["name"] for entry in entries}), entries[0]["left_out"]
        failed = sum(not entry["agrees"] for entry in entries)
        terminalreporter.write_line(
            f"PyTorch's database of operators: {names} entries ({left_out} left out), {len(entries)} with dtypes, "
            f"{failed} disagree; samples compared: {stages}"
        )
    entries = recorded(terminalreporter, "modinfo")
    if entries:
        names, left_out = len({entry["name"] for entry in entries}), entries[0]["left_out"]
        failed = sum(not entry["agrees"] for entry in entries)
        terminalreporter.write_line(
            f"PyTorch's database of modules: {names} entries ({left_out} left out), {failed} disagree; "
            f"samples compared: {sum(entry['samples'] for entry in entries):,}"
        )


    parts = {}
    for entry in recorded(terminalreporter, "wheel"):
        passed, of = parts.get(entry["part"], (0, 0))
        parts[entry["part"]] = passed + entry["passed"], of + entry["of"]
    for part, (passed, of) in parts.items():
        terminalreporter.write_line(f"PyTorch's wheel, {part}: {passed:,} of {of:,} are the same")


def recorded(terminalreporter, key):
    """What tests recorded as a property."""
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    called = [report for report in reports if getattr(report, "when", None) == "call"]
    return [value for report in called for name, value in report.user_properties if name == key]


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item, nextitem):
    """Let go of parsed sources after each room: millions of nodes would make each collection of garbage slow."""
    if nextitem is None or nextitem.path.parent != item.path.parent:
        for name, kept in (("sources", ("parsed", "nodes_in")), ("docs.pages", ("trees",))):
            for function in kept if name in sys.modules else ():
                getattr(sys.modules[name], function).cache_clear()

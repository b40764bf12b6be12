"""Which tests run, and which of them twice: rings, each of which has all tests of the one before. ``conftest.py`` asks.

Note [Rings of tests]
All tests together take the better part of an hour. What is broken shows early: a kind of check that finds nothing at
the first of its cases seldom finds something at the last. So there are rings; each has every kind of check that the
next one has, at fewer cases:

- ``first``: ``tests/first/``, the basics, and a few cases more, in seconds. ``.ci/run`` runs it on other Pythons and
  with another jax, too.
- ``default``: of every test function the first case, and one in ``IN_DEFAULT`` of the others. Three minutes without
  PyTorch, installation included.
- ``full``: of every test function the first case, and every other one; but of the files of ``DEAR`` one in
  ``IN_FULL`` of these, and of those of ``DEAREST`` no more than in the default ring. This must pass before anything is
  published: ``.ci/run``, which is to take less than a quarter of an hour on two cores.
- ``whole``: really every case, both ways (see below).
- ``everything``: also what takes minutes, and has hardly ever found anything.

``--ring NAME`` chooses one. Without it the ring is ``default``; but files or tests that are named run ``whole``.

A case is a test function with its parameters. Which ones are drawn is said by a hash of their names, so that each stays
what it is when others come and go, and all workers of pytest-xdist find the same ones. The room that a file is in
doesn't count: a file may move. A test, or a case, that belongs elsewhere says so, ``ring(name)``, and one that can do
more in wider rings than in others asks for the fixture ``ring``.

Note [Both executions]
Operators are computed at once, or deferred. What a program does depends on that where it depends on their order: views
and writes, hooks, what is saved, versions, threads, lifetimes, compiled steps. There each test runs twice, one run
right after the other: at once, and deferred. The second time most of what jax has to trace and to compile is there;
what costs are the programs that come again and are compiled, which here is when they come for the third time.

In the full ring a case that isn't the first of its function runs deferred, too, if that is drawn, one time in
``IN_DEFERRED``; from ``whole`` on each does.

In the files of ``ORDERLESS`` are values, gradients, shapes, dtypes and errors of operators, which are the same in any
order: there the deferred run of a case, the first one also, comes one ring later than the one at once, and only if it
is drawn; those of the others come in the whole ring. ``once(reason)`` marks tests that run at once
only, because they compute nothing, or choose for themselves when. ``TAPEGRAD_EXECUTION=immediate`` (or ``deferred``)
runs all of them that way only. Of doctests there is one run, the first.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

RINGS = ("first", "default", "full", "whole", "everything")
IN_DEFAULT, IN_FULL = 10, 5  # one in so many; the second divides the first, so that what is in one is in the other
IN_DEFERRED = 3

ALL = None
FIRST: dict[str, tuple[str, ...] | None] = {
    "README.md": ALL,
    "tests/engine/test_threads.py": ("test_gradients_lose_no_update", "test_threads_may_call_one_compiled_function"),
    "tests/ops/test_every_op.py": ("test_every_operator_has_samples",),
    "tests/parity/autograd/test_engine_programs.py": ("test_program",),
    "tests/parity/autograd/test_hooks.py": ("test_hooks",),
    "tests/parity/autograd/test_lifetimes.py": ("test_program",),
    "tests/parity/autograd/test_programs.py": ("test_program",),
    "tests/parity/autograd/test_saved_hooks.py": ("test_program",),
    "tests/parity/views/test_versions.py": ("test_program",),
    "tests/parity/views/test_view_history.py": ("test_program",),
}
"""The files of the first ring besides ``tests/first/``: all of one, or the first case of each of these functions."""


def files_of(text: str) -> frozenset[str]:
    """The paths of files that a text lists by rooms.

    >>> sorted(files_of("ops: compare dtypes  parity/nn: bags"))
    ['tests/ops/test_compare.py', 'tests/ops/test_dtypes.py', 'tests/parity/nn/test_bags.py']
    """
    room, found = "", []
    for word in text.split():
        if word.endswith(":"):
            room = word.removesuffix(":")
        else:
            found.append(f"tests/{room}/test_{word}.py")
    return frozenset(found)


ORDERLESS = files_of("""
    execution: convolution_ways strips
    ops: compare dtypes gradcheck oracles_can_fail
    parity/autograd: gradcheck gradcheck_orders roots
    parity/databases: modules_database operator_names opinfo opinfo_errors
    parity/facade: names
    parity/functions: arithmetic arrangement bessel beyond_database comparison conventions conversion creation
            dtypes_of_two fft gathering histograms indexing joining masked_gradients more_tensor_ops polynomials powers
            product_graphs promotion quantiles reductions retyping sampled scans segments selection sets shape
            signal_windows slicing sorting special unary
    parity/linalg: cholesky decompositions decompositions_errors determinants distances eigen einsum ldl lu matmul
            matrix_functions norms pseudoinverse qr solving svd
    parity/nn: activations attention bags convolution ctc dropout embedding grid_sampling losses margins multihead
            native normalization patches pooling resampling softmax unpooling
    parity/random: random samplers
    parity/tensor: dtypes masked meta nested numpy printing sizes
    parity/tools: testing
    parity/views: geometry memory_formats strides
    tools: demo viz
""")
"""The files whose tests are about operators, one by one, in no order."""

DEAR = files_of("""
    compiled: autograd_histories compile compile_kinds compile_modules compile_random compile_rebinding
            compile_tensors what_ran
    drawn: drawn
    engine: asynchrony backward_cache control_flow engine engine_threads function interrupts sums_in_place
    execution: batching bounded_memory cold_start deferred kept mechanisms releasing tiers
    interop: export files interop_to_jax optax pickled_functions
    ops: compare convolutions gradcheck
    parity/autograd: accumulation checkpoint errors functional gradient_strides graph_task lifetimes programs
            reentrant saved_hooks saved_mutation threads workers
    parity/compiled: compile compile_backends compile_checks compile_numbers compile_programs compile_returns
            compile_split control_flow export
    parity/custom: func_function function library
    parity/data: files
    parity/databases: hostile operator_names opinfo_errors
    parity/facade: hub imported_modules imported_names names settings
    parity/functions: arrangement bessel comparison conversion halves histograms joining many_pieces more_tensor_ops
            polynomials powers quantiles segments selection slicing special
    parity/fx: export_graphs fx_graph fx_tracing make_fx
    parity/linalg: cholesky decompositions determinants distances einsum ldl matrix_functions svd
    parity/nn: bags convolution dropout embedding flex_attention margins modules_layers modules_parametrize
            modules_utils multihead native nn_transformer recurrent softmax unpooling
    parity/optim: ao fused_layers observers quantization schedules swa
    parity/random: streams
    parity/tensor: complex32 dtypes function_modes handed_over masked_tensors meta nested shortcuts sizes sparse
            subclass tensor_flags
    parity/tools: testing
    parity/transforms: forward_ad_memory forward_ad_nested func_transforms_alone func_writes vmap_inside vmap_random
            vmap_writes
    parity/views: data_misfits inplace inplace_double_backward inplace_fast_path inplace_programs memory moved_views
            mutation_machine part_fast_path setitem shared_memory view_encounters view_history view_oracles
            view_tangents written_integers written_numbers written_results
    programs: programs
    tools: explain explain_steps viz
    views: memory_reuse tensor writes_compiled
""")
"""The files whose cases, but for the first of each function, take more than a second together."""

DEAREST = files_of("""
    execution: convolution_ways moving_settings strips structures
    ops: every_op every_op_mapped lowering numpy_backend numpy_backend_shapes
    parity/autograd: gradcheck gradcheck_orders
    parity/custom: view_functions
    parity/databases: inplace_database meta_database modules_database opinfo opinfo_sparse saved_database
    parity/distributed: distributed
    parity/functions: arithmetic beyond_database creation dtypes_of_two extremes fft foreach gathering indexing out
            promotion reductions sampled scans shape sorting unary
    parity/linalg: eigen lu matmul norms pseudoinverse qr solving
    parity/nn: activations attention ctc grid_sampling losses normalization pooling resampling
    parity/optim: amp optimizers
    parity/random: distributions random samplers
    parity/tensor: masked printing
    parity/tools: benchmarks
    parity/transforms: forward_ad forward_ad_programs func_memory func_transforms
    parity/views: memory_formats strides view_aliasing view_refusals view_versions
    tools: benchmarks whole_models
""")
"""Those whose cases take more than four, and differ least: grids of operators, dtypes and shapes, which wait for the
compiler at nearly each. Programs that differ are in ``DEAR``, however long they take."""

SECONDS_USUALLY = 0.05
SECONDS = {
    "tests/compiled/test_compile_background.py": 0.5,
    "tests/compiled/test_compiled.py": 0.5,
    "tests/compiled/test_compiled_updates.py": 0.7,
    "tests/distributed/test_processes.py": 4.0,
    "tests/distributed/test_sharded.py": 10.0,
    "tests/drawn/test_drawn.py": 0.2,
    "tests/engine/test_function.py": 0.3,
    "tests/engine/test_interrupts.py": 0.8,
    "tests/engine/test_threads.py": 0.7,
    "tests/execution/test_batching.py": 0.5,
    "tests/execution/test_cold_start.py": 0.9,
    "tests/execution/test_kept.py": 0.6,
    "tests/execution/test_mechanisms.py": 0.5,
    "tests/execution/test_tiers.py": 0.25,
    "tests/house/test_docs.py": 1.5,
    "tests/house/test_layers.py": 0.2,
    "tests/interop/test_export.py": 0.3,
    "tests/interop/test_tape_under_jit.py": 0.3,
    "tests/ops/test_every_op.py": 0.2,
    "tests/ops/test_every_op_mapped.py": 0.1,
    "tests/ops/test_numpy_backend.py": 0.1,
    "tests/parity/autograd/test_lifetimes.py": 0.3,
    "tests/parity/compiled/test_compile_programs.py": 0.5,
    "tests/parity/data/test_data.py": 0.4,
    "tests/parity/databases/test_opinfo.py": 0.12,
    "tests/parity/databases/test_opinfo_sparse.py": 1.0,
    "tests/parity/distributed/test_distributed.py": 0.7,
    "tests/parity/facade/test_script.py": 3.0,
    "tests/parity/tensor/test_complex32.py": 0.3,
    "tests/parity/tensor/test_nested.py": 0.2,
    "tests/parity/tensor/test_sparse.py": 0.4,
    "tests/programs/test_programs.py": 1.6,
    "tests/tools/test_benchmarks.py": 0.6,
    "tests/tools/test_demo.py": 0.6,
    "tests/tools/test_viz.py": 0.25,
    "tests/tools/test_whole_models.py": 1.0,
    "tests/typed/test_typed.py": 1.0,
}
"""What a test takes, of the files that don't have hundreds of quick ones."""

TOGETHER = {"tests/house"}
"""Rooms whose files read the same sources, which takes longer than most of their tests."""


class Case(NamedTuple):
    """A test with its parameters, as it is collected.

    Attributes:
        file: its path below the checkout.
        function: the name of the test function.
        name: what tells it from all other cases, however operators are computed.
        execution: "immediate" or "deferred" where the test runs both ways, otherwise None.
        leads: whether it is the first case of its function.
        said: the ring that its mark names, or None.
    """

    file: str
    function: str
    name: str
    execution: str | None
    leads: bool
    said: str | None


@cache
def ring_of(case: Case) -> str:
    """The smallest ring that has the case.

    >>> case = Case("tests/test_new.py", "test_sum", "test_sum[of nothing]", "immediate", leads=True, said=None)
    >>> ring_of(case)
    'default'
    """
    ring = case.said or ring_of_function(case) or ring_drawn(case)
    return ring_deferred(case, ring) if case.execution == "deferred" else ring


def ring_deferred(case: Case, ring: str) -> str:
    """The ring of the deferred run of a case whose run at once is in a ring. See Note [Both executions]."""
    drawn = is_drawn(f"{case.name}, deferred", IN_DEFERRED)
    if case.file in ORDERLESS and not reaches(ring, "whole"):
        return RINGS[RINGS.index(ring) + 1] if drawn else "whole"
    return "whole" if ring == "full" and not case.leads and not drawn else ring


def first_of(file: str) -> tuple[str, ...] | None:
    """The test functions of a file whose first cases are in the first ring; ``ALL`` if the whole file is."""
    return ALL if file.startswith("tests/first/") else FIRST.get(file, ())


def ring_of_function(case: Case) -> str | None:
    """The ring of a whole test file, or of the first case of a test function."""
    functions = first_of(case.file)
    if functions is ALL or (case.leads and case.function in functions):
        return "first"
    return "default" if case.leads else None


def ring_drawn(case: Case) -> str:
    """The ring of a case that isn't the first of its function."""
    if is_drawn(case.name, IN_DEFAULT):
        return "default"
    if case.file in DEAREST:
        return "whole"
    return "full" if case.file not in DEAR or is_drawn(case.name, IN_FULL) else "whole"


def is_drawn(name: str, share: int) -> bool:
    """Whether a case is the one of so many that is run, by a hash of its name."""
    return zlib.crc32(name.encode()) % share == 0


def without_room(name: str) -> str:
    """The name of a test, as if its file were in no room of ``tests/`` or of ``tests/parity/``.

    >>> without_room("tests/parity/nn/test_bags.py::test_bags[a/test_b]")
    'tests/parity/test_bags.py::test_bags[a/test_b]'
    """
    return re.sub(r"^(tests/(?:parity/)?)\w+/(?=test_\w+\.py)", r"\1", name)


def reaches(ring: str, other: str) -> bool:
    """Whether a ring is as wide as another one, or wider."""
    return RINGS.index(ring) >= RINGS.index(other)


def cases_of(items: Iterable[Any], both: bool) -> Iterator[Case]:
    """What is known of pytest's items; ``both`` says whether tests that aren't marked as ``once`` run twice."""
    functions: dict[str, list[Any]] = {}
    for item in items:
        functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for function, its in functions.items():
        twice = both and hasattr(its[0], "callspec") and its[0].get_closest_marker("once") is None
        marks = [item.get_closest_marker("ring") for item in its]
        yield from cases_of_function(function, [
            (item.nodeid[len(function) :], item.callspec.params["execution"] if twice else None, mark and mark.args[0])
            for item, mark in zip(its, marks, strict=True)
        ])  # fmt: skip


def cases_of_function(function: str, calls: Iterable[tuple[str, str | None, str | None]]) -> Iterator[Case]:
    """The cases of a function, of the parameters in brackets, the execution, and the ring that a mark names.

    >>> cases = cases_of_function("tests/ops/test_new.py::test_sum", [("[0-deferred]", "deferred", None)])
    >>> [case.name for case in cases]
    ['tests/test_new.py::test_sum[0']
    """
    (file, _, _), (_, _, short), room = function.partition("::"), function.rpartition("::"), without_room(function)
    first = None
    for parameters, execution, said in calls:
        if execution is not None:
            parameters = parameters.removesuffix(f"{execution}]")[:-1]
        first = parameters if first is None else first
        yield Case(file, short, room + parameters, execution, parameters == first, said)


def longest_first(items: Iterable[Any]) -> list[Any]:
    """The tests, by file, those files first that take longest: the last one a worker takes should be a short one.

    Files of a room of ``TOGETHER`` come one right after the other.
    """
    files: dict[str, list[Any]] = {}
    for item in items:
        files.setdefault(item.nodeid.partition("::")[0], []).append(item)
    seconds = {file: len(its) * SECONDS.get(file, SECONDS_USUALLY) for file, its in files.items()}
    rooms = {file: room if (room := file.rpartition("/")[0]) in TOGETHER else file for file in files}
    of_rooms: dict[str, float] = {}
    for file, room in rooms.items():
        of_rooms[room] = of_rooms.get(room, 0.0) + seconds[file]
    ordered = sorted(files, key=lambda file: (-of_rooms[rooms[file]], rooms[file], -seconds[file]))
    return [item for file in ordered for item in files[file]]

"""Which tests run, and which of them twice: rings, each of which has all tests of the one before. ``conftest.py`` asks.

Note [Rings of tests]
All tests together take the better part of an hour. What is broken shows early: a kind of check that finds nothing at
the first of its cases seldom finds something at the last. So there are rings; each has every kind of check that the
next one has, at fewer cases:

- ``first``: a few files of the basics, in seconds. ``.ci/run`` runs it on other Pythons and with another jax, too.
- ``default``: of every test function the first case, and one in ``IN_DEFAULT`` of the others. Three minutes without
  PyTorch, installation included.
- ``full``: every case; but of the files of ``DEAR``, which try operators in grids of arguments and wait for the
  compiler at nearly each, one in ``IN_FULL``. This must pass before anything is published: ``.ci/run``.
- ``whole``: really every case, both ways (see below).
- ``everything``: also what takes minutes, and has hardly ever found anything.

``--ring NAME`` chooses one. Without it the ring is ``default``; but files or tests that are named run ``whole``.

A case is a test function with its parameters. Which ones are drawn is said by a hash of their names, so that each stays
what it is when others come and go, and all workers of pytest-xdist find the same ones. A test, or a case, that
belongs elsewhere says so, ``ring(name)``, and one that can do more in wider rings than in others asks for the fixture
``ring``.

Note [Both executions]
Operators are computed at once, or deferred. What a program does depends on that where it depends on their order: views
and writes, hooks, what is saved, versions, threads, lifetimes, compiled steps. There each test runs twice, one run
right after the other: at once, and deferred. The second time most of what jax has to trace and to compile is there;
what costs are the programs that come again and are compiled, which here is when they come for the third time.

In the files of ``ORDERLESS`` are values, gradients, shapes, dtypes and errors of operators, which are the same in any
order: there the deferred run comes one ring later than the one at once. ``once(reason)`` marks tests that run at once
only, because they compute nothing, or choose for themselves when. ``TAPEGRAD_EXECUTION=immediate`` (or ``deferred``)
runs all of them that way only. Of doctests there is one run, the first.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

RINGS = ("first", "default", "full", "whole", "everything")
IN_DEFAULT, IN_FULL = 10, 5  # one in so many; the second divides the first, so that what is in one is in the other

ALL = None
FIRST: dict[str, tuple[str, ...] | None] = {
    "README.md": ALL,
    "tests/test_tiny.py": ALL,
    "tests/test_jax_contracts.py": ALL,
    "tests/test_compile_python.py": ALL,
    "tests/test_interop_trees.py": ALL,
    "tests/test_engine_runs.py": ALL,
    "tests/test_error_lines.py": ALL,
    "tests/test_every_op.py": ("test_every_operator_has_samples",),
    "tests/test_graph_api.py": ALL,
    "tests/test_saved_tensors.py": ALL,
    "tests/test_tape.py": ALL,
    "tests/test_threads.py": ("test_gradients_lose_no_update", "test_threads_may_call_one_compiled_function"),
    "tests/test_views.py": ALL,
    "tests/parity/test_engine_programs.py": ("test_program",),
    "tests/parity/test_hooks.py": ("test_hooks",),
    "tests/parity/test_lifetimes.py": ("test_program",),
    "tests/parity/test_programs.py": ("test_program",),
    "tests/parity/test_saved_hooks.py": ("test_program",),
    "tests/parity/test_versions.py": ("test_program",),
    "tests/parity/test_view_history.py": ("test_program",),
}
"""The files of the first ring: all of one, or the first case of each of these test functions."""

ORDERLESS = frozenset(f"tests/{name}.py" for name in """
    parity/test_activations parity/test_arithmetic parity/test_arrangement parity/test_attention parity/test_bags
    parity/test_bessel parity/test_beyond_database parity/test_cholesky parity/test_comparison parity/test_conventions
    parity/test_conversion parity/test_convolution parity/test_creation parity/test_ctc parity/test_decompositions
    parity/test_decompositions_errors parity/test_determinants parity/test_distances parity/test_dropout
    parity/test_dtypes parity/test_dtypes_of_two parity/test_eigen parity/test_einsum parity/test_embedding
    parity/test_fft parity/test_gathering parity/test_geometry parity/test_gradcheck parity/test_gradcheck_orders
    parity/test_grid_sampling parity/test_histograms parity/test_indexing parity/test_joining parity/test_ldl
    parity/test_losses parity/test_lu parity/test_margins parity/test_masked parity/test_masked_gradients
    parity/test_matmul parity/test_matrix_functions parity/test_memory_formats parity/test_meta
    parity/test_modules_database
    parity/test_more_tensor_ops parity/test_multihead parity/test_names parity/test_native parity/test_nested
    parity/test_normalization
    parity/test_norms parity/test_numpy parity/test_operator_names parity/test_opinfo parity/test_opinfo_errors
    parity/test_patches parity/test_polynomials parity/test_pooling parity/test_powers parity/test_printing
    parity/test_product_graphs parity/test_promotion parity/test_pseudoinverse parity/test_qr parity/test_quantiles
    parity/test_random parity/test_reductions parity/test_resampling parity/test_retyping parity/test_roots
    parity/test_sampled parity/test_samplers parity/test_scans parity/test_segments parity/test_selection
    parity/test_sets parity/test_shape parity/test_signal_windows parity/test_sizes parity/test_slicing
    parity/test_softmax parity/test_solving parity/test_sorting parity/test_special parity/test_strides parity/test_svd
    parity/test_testing parity/test_unary parity/test_unpooling test_compare test_demo test_dtypes test_gradcheck
    test_oracles_can_fail test_viz
""".split())  # fmt: skip  # noqa: SIM905 - a table is easier to read without the quotes
"""The files whose tests are about operators, one by one, in no order."""

DEAR = frozenset(f"tests/{name}.py" for name in """
    parity/test_activations parity/test_amp parity/test_ao parity/test_arithmetic parity/test_arrangement
    parity/test_attention parity/test_bags parity/test_bessel parity/test_beyond_database parity/test_cholesky
    parity/test_comparison parity/test_compile_programs parity/test_control_flow parity/test_convolution
    parity/test_ctc parity/test_decompositions
    parity/test_determinants parity/test_distances parity/test_distributions parity/test_dropout
    parity/test_dtypes_of_two parity/test_eigen parity/test_einsum parity/test_embedding parity/test_export
    parity/test_extremes parity/test_fft parity/test_forward_ad parity/test_forward_ad_programs
    parity/test_func_transforms parity/test_func_writes parity/test_fx_graph parity/test_fx_modules
    parity/test_fx_passes parity/test_fx_tracing parity/test_gathering parity/test_gradcheck_orders
    parity/test_grid_sampling
    parity/test_indexing parity/test_inplace parity/test_inplace_database parity/test_ldl parity/test_losses
    parity/test_lu parity/test_margins parity/test_masked parity/test_masked_tensors parity/test_matmul
    parity/test_matrix_functions
    parity/test_modules_database parity/test_modules_parametrize parity/test_moved_views parity/test_multihead
    parity/test_dispatch_modes parity/test_native parity/test_nested parity/test_normalization parity/test_norms
    parity/test_opinfo parity/test_opinfo_errors parity/test_opinfo_sparse
    parity/test_optimizers parity/test_out parity/test_patches parity/test_polynomials parity/test_pooling
    parity/test_powers parity/test_promotion parity/test_pseudoinverse parity/test_qr parity/test_quantization
    parity/test_random parity/test_reductions parity/test_resampling parity/test_retyping parity/test_sampled
    parity/test_samplers
    parity/test_scans parity/test_segments parity/test_selection parity/test_setitem parity/test_shape
    parity/test_shortcuts parity/test_slicing parity/test_softmax parity/test_solving parity/test_sparse
    parity/test_special parity/test_strides parity/test_svd parity/test_threads parity/test_unary parity/test_unpooling
    parity/test_view_aliasing parity/test_view_functions parity/test_vmap_writes compiled/test_autograd_histories
    compiled/test_what_ran programs/test_programs test_batching test_benchmarks test_bounded_memory
    test_compile_modules test_control_flow test_every_op test_every_op_mapped test_function test_gradcheck
    test_numpy_backend test_numpy_backend_shapes test_lowering test_mechanisms
    test_moving_settings test_optax test_processes test_sharded
    test_structures test_tape_under_jit test_viz
""".split())  # fmt: skip  # noqa: SIM905
"""The files with many cases that take a twentieth of a second and more, alike in kind."""



SECONDS_USUALLY = 0.05
SECONDS = {
    "tests/test_benchmarks.py": 1.2,
    "tests/test_cold_start.py": 1.5,
    "tests/test_demo.py": 1.0,
    "tests/test_docs.py": 2.0,
    "tests/test_every_op.py": 0.15,
    "tests/test_export.py": 0.8,
    "tests/test_every_op_mapped.py": 0.1,
    "tests/test_interrupts.py": 1.0,
    "tests/test_threads.py": 0.7,
    "tests/test_whole_models.py": 0.4,
    "tests/compiled/test_compiled.py": 0.8,
    "tests/drawn/test_drawn.py": 0.6,
    "tests/parity/test_compile_checks.py": 0.5,
    "tests/parity/test_decompositions.py": 0.3,
    "tests/parity/test_dtypes_of_two.py": 0.7,
    "tests/parity/test_data.py": 0.3,
    "tests/parity/test_export.py": 0.5,
    "tests/programs/test_programs.py": 0.8,
    "tests/parity/test_mutation_machine.py": 0.8,
}
"""What a test takes, of the files that don't have hundreds of quick ones."""


@dataclass(frozen=True)
class Case:
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


def ring_of(case: Case) -> str:
    """The smallest ring that has the case.

    >>> case = Case("tests/test_new.py", "test_sum", "test_sum[of nothing]", "immediate", leads=True, said=None)
    >>> ring_of(case)
    'default'
    """
    ring = case.said or ring_of_function(case) or ring_drawn(case)
    if case.execution == "deferred" and case.file in ORDERLESS and not reaches(ring, "whole"):
        return RINGS[RINGS.index(ring) + 1]
    return ring


def ring_of_function(case: Case) -> str | None:
    """The ring of a whole test file, or of the first case of a test function."""
    functions = FIRST.get(case.file, ())
    if functions is ALL or (case.leads and case.function in functions):
        return "first"
    return "default" if case.leads else None


def ring_drawn(case: Case) -> str:
    """The ring of a case that isn't the first of its function."""
    if is_drawn(case.name, IN_DEFAULT):
        return "default"
    return "full" if case.file not in DEAR or is_drawn(case.name, IN_FULL) else "whole"


def is_drawn(name: str, share: int) -> bool:
    """Whether a case is the one of so many that is run, by a hash of its name."""
    return zlib.crc32(name.encode()) % share == 0


def reaches(ring: str, other: str) -> bool:
    """Whether a ring is as wide as another one, or wider."""
    return RINGS.index(ring) >= RINGS.index(other)


def cases_of(items: Iterable[Any], both: bool) -> Iterator[Case]:
    """What is known of pytest's items; ``both`` says whether tests that aren't marked as ``once`` run twice."""
    leading: dict[str, str] = {}
    for item in items:
        function, mark = item.nodeid.partition("[")[0], item.get_closest_marker("ring")
        twice = both and hasattr(item, "callspec") and item.get_closest_marker("once") is None
        execution = item.callspec.params["execution"] if twice else None
        name = item.nodeid if execution is None else re.sub(rf"[-[]{execution}]$", "", item.nodeid)
        yield Case(
            file=function.partition("::")[0],
            function=function.rpartition("::")[2],
            name=name,
            execution=execution,
            leads=leading.setdefault(function, name) == name,
            said=mark.args[0] if mark else None,
        )


def longest_first(items: Iterable[Any]) -> list[Any]:
    """The tests, by file, those files first that take longest: the last one a worker takes should be a short one."""
    files: dict[str, list[Any]] = {}
    for item in items:
        files.setdefault(item.nodeid.partition("::")[0], []).append(item)
    ordered = sorted(files, key=lambda file: -len(files[file]) * SECONDS.get(file, SECONDS_USUALLY))
    return [item for file in ordered for item in files[file]]

"""What tapegrad takes for granted of jax, and of CPython, though no documentation promises it.

Each of these carries something in the package; where a new version breaks one, this file says which.
"""

import dis
import os
import sys
import warnings
from itertools import starmap

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tapegrad as torch
from tapegrad._src.execution.data import values
from tapegrad._src.execution.kernels.kernel import Kernel
from tapegrad._src.execution.recording import program

pytestmark = pytest.mark.once("jax is asked, and nothing else")


@pytest.mark.parametrize("wide", [False, True], ids=["32 bits", "64 bits"])
def test_a_jitted_function_refuses_what_is_no_array_by_type_error(wide):
    """Runners and kernels give it what may be deferred, and materialize that only then (``materialize_or_raise``)."""
    ran = []
    double = jax.jit(lambda x, y: (ran.append(True), x + y)[1], inline=True)
    dtype = np.dtype("float64" if wide else "float32")
    stranger = values.deferred_value(program.Program(), 0, values.aval((2,), dtype))
    with jax.enable_x64(wide):
        array = jnp.ones(2, dtype)
        for _ in range(2):  # before and after it has been compiled
            for given in ((stranger, array), (array, stranger)):
                with pytest.raises(TypeError, match="DeferredValue.* is not a valid JAX type"):
                    double(*given)
            double(array, array)
    assert ran == [True]  # nothing of it ran before the refusal


def test_a_jitted_function_has_the_function_it_was_made_of():
    """Values that are no arrays are given that (``dispatched``, ``Kernel.dispatcher``)."""

    def double(x):
        return x + x

    assert jax.jit(double, inline=True).__wrapped__ is double


TRANSFORMATIONS = {
    "jit": lambda f, x: jax.jit(f)(x),
    "vmap": lambda f, x: jax.vmap(f)(x),
    "grad": lambda f, x: jax.grad(lambda x: f(x).sum())(x),
    "jvp": lambda f, x: jax.jvp(f, (x,), (x,)),
    "eval_shape": lambda f, x: jax.eval_shape(f, x),
    "make_jaxpr": lambda f, x: jax.make_jaxpr(f)(x),
}


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_all_that_is_traced_is_a_tracer(name):
    """So it is known what has no elements, and passes for an array (``is_tracer``, ``is_traced``)."""
    seen, x = [], jnp.ones(2)

    def look(x):
        seen.append(isinstance(x, jax.core.Tracer) and isinstance(x, jax.Array))
        return x * 2.0

    TRANSFORMATIONS[name](look, x)
    assert seen == [True] and not isinstance(x, jax.core.Tracer)


def test_what_is_run_in_an_eval_context_is_no_part_of_a_trace():
    """A program that was recorded before is run while jax traces (``deferred.run``)."""

    def traced(x):
        with jax.core.eval_context():
            assert not isinstance(jnp.ones(2) + 1, jax.core.Tracer)
        return x * 2

    assert jax.jit(traced)(jnp.ones(2)).tolist() == [2.0, 2.0]


def test_64_bits_for_a_while_without_configuration():
    """Kernels that need them are traced and run inside; others outside are compiled as ever (``scoped``)."""
    with jax.enable_x64(True):
        wide = jax.jit(lambda x: x + 1)(np.float64(0.5))
    assert wide.dtype == "float64" and jnp.ones(2).dtype == "float32" and wide.item() == 1.5


def test_what_is_donated_is_deleted_and_the_results_take_its_place():
    """Results get the memory of donated inputs of their shape, in the order of both."""
    many = 1 << 16
    left, right = jnp.zeros(many) + 1, jnp.zeros(many) + 2
    places = [x.unsafe_buffer_pointer() for x in (left, right)]
    step = jax.jit(lambda x, y: (x + 1, y + 2), donate_argnums=(0, 1))
    results = step(left, right)
    assert left.is_deleted() and right.is_deleted()
    assert [x.unsafe_buffer_pointer() for x in results] == places


def test_a_result_is_in_its_list_when_the_call_that_c_makes_returns():
    """``found += starmap(...)``: Python runs nothing in between, so no interrupt takes it (``call_into``)."""
    found = []
    code = compile("found += starmap(function, (values,))", "<contract>", "exec")
    names = [one.opname for one in dis.get_instructions(code)]
    after = names[names.index("BINARY_OP") + 1 :]
    assert not any(name.startswith(("CALL", "JUMP", "RESUME")) for name in after)
    exec(code, {"found": found, "starmap": starmap, "function": jax.jit(lambda x: x), "values": (jnp.ones(2),)})
    assert len(found) == 1


def test_python_specialises_the_append_of_a_list():
    """After it, it looks for no interrupt: an instruction and its results are appended together (``deferred.py``)."""
    call = Kernel(lambda x: x * 2, name="double", wide=False).call_for([jnp.ones(2)])
    with torch.deferred():
        for _ in range(64):
            call.record(jnp.ones(2))
        made = [one.opname for one in dis.get_instructions(call.record, adaptive=True)]
    assert sum("LIST_APPEND" in name for name in made) >= 2


def test_a_list_holds_what_it_holds_once():
    """Which results are still wanted, and whose memory may be used again, is told by reference counts."""
    held = [object.__new__(values.DeferredValue)]
    assert not any(program._held(held))
    other = held[0]
    assert any(program._held(held)) and other is held[0]


def test_what_the_tests_patch_is_there():
    """``conftest.py`` lets all functions share an MLIR context; without, tests take longer and more memory."""
    lowering = sys.modules["jax._src.interpreters.mlir"]
    assert lowering.make_ir_context.__name__ == "context_of_thread"


def test_jax_calls_the_threads_of_a_fork_lost():
    """It warns in the parent; what the child computes is refused: Note [Forks] in ``execution/data/devices.py``."""
    jnp.ones(2).block_until_ready()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        child = os.fork()
        if not child:
            os._exit(0)
    os.waitpid(child, 0)
    assert any("os.fork" in str(warning.message) and "JAX" in str(warning.message) for warning in caught)

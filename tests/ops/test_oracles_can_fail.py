"""The oracles find what they are for: operators that are wrong in one way each, and an engine that is."""

import jax.numpy as jnp
import pytest
from oracles import Case, examine
from samples import Sample, array

import tapegrad as torch
from tapegrad._src.engine import Engine, GraphTask, InputBuffer
from tapegrad._src.tape.modes import switched
from tapegrad._src.tensor.storage import Counter
from tapegrad.ops import operator
from tapegrad.ops.kinds import Elementwise, conj, elementwise, general, linear, multilinear
from tapegrad.ops.operator import Operator
from tests.engine import test_engine
from tests.first import test_tiny

A, B, ROW = array(2, 3), array(2, 3, seed=1), array(1, 3)
Z, W = array(2, 3, dtype="complex128"), array(2, 3, dtype="complex128", seed=1)


@pytest.fixture(autouse=True)
def a_table_of_its_own(monkeypatch):
    """What is declared here stays out of the house's table."""
    monkeypatch.setattr(operator, "TABLE", {})


def complaints(op, *args, **fields):
    """The names of the oracles that complain."""
    return set(examine(op, Sample(op.name, args, **fields)).complaints)


def product(kind=elementwise, **changes):
    """A multiplication, right unless ``changes`` make it wrong."""
    formulas = {"x": lambda g, y: g * conj(y), "y": lambda g, x: g * conj(x)}
    formulas = {key: formula for key, formula in (formulas | changes).items() if formula is not None}

    def product(x, y):
        return jnp.multiply(x, y)

    operator.TABLE.clear()
    return kind(**formulas)(product)


@pytest.mark.parametrize("kind", [elementwise, multilinear], ids=["elementwise", "multilinear"])
@pytest.mark.parametrize("args", [(A, B), (Z, W), (A, W)], ids=["real", "complex", "mixed"])
def test_nobody_complains_of_a_right_operator(kind, args):
    assert complaints(product(kind), *args) == set()


def test_broadcasting_is_right_where_the_kind_undoes_it():
    assert complaints(product(), A, ROW) == set()


def test_a_wrong_formula():
    found = complaints(product(x=lambda g, y: g * conj(y) * 2), A, B)
    assert found >= {"gradient", "gradient of x alone", "recorded gradient", "finite differences", "second order"}
    assert found >= {"tangent", "tangent from x alone"}
    assert not found & {"gradient of y alone", "tangent from y alone", "gradient at once"}


def test_a_wrong_formula_of_a_multilinear_operator_is_found_by_each_mode_alone():
    found = complaints(product(multilinear, x=lambda g, y: g * conj(y) * 2), A, B)
    assert found >= {"gradient", "adjoint", "finite differences"}
    assert not any(name.startswith("tangent") for name in found)


def test_a_dropped_conjugate_shows_with_complex_numbers_only():
    op = product(x=lambda g, y: g * y)
    assert complaints(op, A, B) == set()
    assert complaints(op, Z, W) >= {"gradient", "finite differences", "tangent"}


@pytest.mark.parametrize("kind", [general, multilinear], ids=["general", "multilinear"])
def test_a_forgotten_undoing_of_broadcasting(kind):
    with pytest.raises(RuntimeError, match=r"ProductBackward0: grad_input 1 has the wrong shape: expected \(1, 3\)"):
        complaints(product(kind), A, ROW, forward=kind is not general)


def test_a_gradient_of_the_wrong_type(monkeypatch):
    monkeypatch.setattr(Elementwise, "restore", lambda self, grad, spec: grad)
    with pytest.raises(RuntimeError, match="ProductBackward0: grad_input 0 has the wrong dtype: expected float64"):
        complaints(product(), A, W)


def test_a_dropped_formula():
    found = complaints(product(y=None), A, B)
    assert found == {"gradient of y, which has no formula"}
    assert complaints(product(multilinear, y=None), A, B, constants=("y",)) == set()


def test_a_formula_that_gives_no_gradient():
    found = complaints(product(multilinear, y=lambda g, x: None), A, B)
    assert found >= {"gradient", "gradient of y alone", "recorded gradient", "pruning"}


def test_gradients_of_the_wrong_inputs():
    """An elementwise operator derives both modes from one formula, so they agree even where they are wrong."""
    crossed = {"x": lambda g, x: g * conj(x), "y": lambda g, y: g * conj(y)}
    assert complaints(product(**crossed), A, B) >= {"gradient", "finite differences"}


def test_a_wrong_forward_mode():
    @general(x=lambda g, x: g * (x + x), jvp=lambda t_x, x: t_x * x)
    def twice(x):
        return x * x

    assert complaints(twice, A) == {"tangent", "adjoint"}


def test_forward_mode_that_forgets_an_input():
    @general(x=lambda g, y: g * y, y=lambda g, x: g * x, jvp=lambda t_x, y: 0 * y if t_x is None else t_x * y)
    def forgetful(x, y):
        return x * y

    assert complaints(forgetful, A, B) == {"tangent", "tangent from y alone", "adjoint"}


def test_a_first_order_that_is_right_and_a_second_that_is_not():
    @general()
    def frozen(x):
        return x + 0

    @elementwise(x=lambda g, x: g * (frozen(x) + x))
    def square(x):
        return x * x

    assert complaints(square, A) == {"second order", "finite differences, second order"}


def test_an_operator_called_linear_that_is_not():
    @linear(x=lambda g: g)
    def shifted(x):
        return x + 1

    assert complaints(shifted, A) == {"tangent", "adjoint"}


def test_an_oracle_of_the_samples_own_decides():
    @elementwise(x=lambda g: g * 0)
    def floor(x):
        return jnp.floor(x)

    assert complaints(floor, A, oracle=lambda x: x) >= {"value", "gradient"}
    assert complaints(floor, A) == set()


def test_forward_mode_is_refused_by_name_or_works():
    @general(x=lambda g: g + 0)
    def same(x):
        return x + 0

    assert complaints(same, A, forward=False) == set()
    with pytest.raises(NotImplementedError, match="same"):
        complaints(same, A)
    assert complaints(product(), A, B, forward=False) == {"refused forward mode"}


def test_an_error_that_does_not_name_the_operator(monkeypatch):
    def anonymous(self, *args, **kwargs):
        raise NotImplementedError("no forward mode")

    monkeypatch.setattr(Elementwise, "jvp", anonymous)
    assert complaints(product(), A, B, forward=False) == {"refused forward mode"}


def test_a_derivative_that_is_refused_or_is_not():
    def refuse(g):
        raise RuntimeError("derivative for aten::refusing is not implemented")

    @general(x=refuse)
    def refusing(x):
        return x + 0

    assert complaints(refusing, A, derivable=False) == set()
    with pytest.raises(RuntimeError, match="is not implemented"):
        complaints(refusing, A)
    assert complaints(product(), A, B, derivable=False) == {"refused backward", "refused forward mode"}


def test_gradients_that_nobody_asked_for(monkeypatch):
    original = Operator.node_class

    def eager(self, base, num_outputs):
        node_class = original(self, base, num_outputs)
        apply_values = base.apply_values
        node_class.apply_values = lambda node, grads, needed: apply_values(node, grads, None)
        return node_class

    monkeypatch.setattr(Operator, "node_class", eager)
    assert complaints(product(), A, B) == {"pruning"}


def test_edges_to_inputs_that_do_not_require_grad(monkeypatch):
    right = Case.tensors
    monkeypatch.setattr(Case, "tensors", lambda case, arrays, wanted: right(case, arrays, case.inputs))
    assert complaints(product(), A, B) == {"edges"}


def test_a_formula_that_speaks_jnp_cannot_be_recorded():
    with pytest.raises(TypeError):
        complaints(product(x=lambda g, y: jnp.multiply(g, y)), A, B)


def test_a_kernel_that_is_not_a_function():
    """What a program that is traced once and what is computed at once must be the same."""

    @elementwise(x=lambda g, x: g * (x + x))
    def moody(x):
        return x * x

    right, calls = moody.prepare, []

    def prepare(specs, settings):
        calls.append(specs)
        shift, prepared = 0.25 * len(calls), right(specs, settings)
        return lambda *values: prepared(*values) + shift

    moody.prepare = prepare
    assert "value" in complaints(moody, A)


# -- the engine --------------------------------------------------------------------------------------------------------


def test_a_gradient_that_is_overwritten_instead_of_summed(monkeypatch):
    def overwrite(self, position, gradient, add, add_into=None):
        self[position] = gradient

    monkeypatch.setattr(InputBuffer, "accumulate", overwrite)
    with pytest.raises(AssertionError):
        test_engine.test_a_diamond_runs_its_meeting_point_once()


def test_a_dropped_edge(monkeypatch):
    original = Engine._run

    def dropping(self, task, root):
        for node in list(task.dependencies):
            node.next_edges = tuple(node.next_edges)[:1]
        return original(self, task, root)

    monkeypatch.setattr(Engine, "_run", dropping)
    with pytest.raises((AssertionError, ValueError)):
        test_engine.test_a_diamond_runs_its_meeting_point_once()


def test_a_dependency_counted_once_too_few(monkeypatch):
    original = GraphTask.count_dependencies

    def counting(self, root):
        original(self, root)
        self.dependencies.update(dict.fromkeys(self.dependencies, 1))

    monkeypatch.setattr(GraphTask, "count_dependencies", counting)
    with pytest.raises((AssertionError, KeyError)):
        test_engine.test_a_node_waits_for_all_of_its_gradients_even_if_it_was_made_last()


def test_a_missed_version(monkeypatch):
    monkeypatch.setattr(Counter, "version", property(lambda self: 0, lambda self, version: None))
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_tiny.test_a_saved_tensor_that_was_written_is_noticed()


def test_a_mode_that_is_not_restored(monkeypatch):
    monkeypatch.setattr(torch.no_grad, "__exit__", lambda self, *exception: None)
    with switched(), pytest.raises(AssertionError):
        test_tiny.test_no_grad_records_nothing()


def test_an_accumulator_that_replaces(monkeypatch):
    monkeypatch.setattr("tapegrad._src.dispatch.nodes.accumulate_grad.add_values", lambda left, right: right)
    with pytest.raises(AssertionError):
        test_tiny.test_gradients_accumulate_over_calls()

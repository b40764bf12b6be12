"""``compare`` finds the operator at which the tape and jax part; ``subgradient`` chooses between them at kinks."""

import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kinks import all_kinks

import tapegrad as torch
from tapegrad.autograd import forward_ad
from tapegrad.autograd.subgradient import conventions
from tapegrad.ops.kinds import Elementwise
from tapegrad.ops.operator import TABLE

X = np.array([1.0, 2.0, 3.0], "float32")
KINKS = all_kinks()
CONVENTIONS = {name: op.convention for name, op in TABLE.items() if op.convention is not None}


class Unlisted(Elementwise):
    """An operator that is not in the table."""

    listed = False


square = Unlisted(
    lambda x: x * x, {"x": lambda g, x: 3 * g * x}, promote="common", name="square", node="SquareBackward"
)
product = Unlisted(
    lambda x, y: x * y, {"x": lambda g, y: g * y, "y": lambda g, x: g * x * x}, promote="common", name="product"
)

# -- agreement ---------------------------------------------------------------------------------------------------------


def test_a_program_that_agrees():
    def program(x, y):
        return (x * y).exp().sum(), {"b": y.sin(), "n": 3}

    found = torch.compare(program, torch.tensor(X / 3), X)
    assert found.agrees and found.first is None and found.fault is None
    assert [row.name for row in found.rows] == ["value 0", "value 1", "gradient: x", "gradient: y"]
    assert "the tape and jax agree" in str(found) and "<td>gradient: x</td>" in found._repr_html_()


def test_complex_gradients_are_conjugates_of_those_of_jax():
    z = np.array([1 + 2j, 3 - 1j], "complex64")
    found = torch.compare(lambda z: (z * z * z).real.sum(), z)
    assert found.agrees and found.rows[1].conjugated and not found.rows[0].conjugated
    np.testing.assert_allclose(found.rows[1].ours, 3 * np.conj(z) ** 2, rtol=1e-5)
    assert "jax's is the conjugate" in str(found)


def test_what_is_constant_to_the_tape_is_constant_to_jax():
    def program(x):
        with torch.no_grad():
            constant = x * 3
        return (x * x.detach() * constant).sum()

    found = torch.compare(program, X)
    assert found.agrees
    np.testing.assert_allclose(found.rows[1].ours, 3 * X * X)


def test_both_draw_the_same_random_numbers():
    assert torch.compare(lambda x: torch.nn.functional.dropout(x, 0.5).sum(), np.ones(64, "float32")).agrees


def test_a_function_that_differentiates_inside():
    def penalty(x):
        (slope,) = torch.autograd.grad((x * x * x).sum(), x, create_graph=True)
        return (slope * slope).sum()

    found = torch.compare(penalty, X)
    assert found.agrees
    np.testing.assert_allclose(found.rows[1].theirs, 36 * X**3, rtol=1e-5)


def test_inputs_of_all_kinds_are_not_written_to():
    x, y = torch.tensor(X), jnp.asarray(X)

    def program(x, y, scale, axis):
        x.mul_(y)
        return (x * scale).sum(axis)

    found = torch.compare(lambda *args: program(args[0] * 1, *args[1:]), x, y, 2.0, 0)
    assert found.agrees and [row.name for row in found.rows[1:]] == [f"gradient: input {i}" for i in range(3)]
    assert x.tolist() == X.tolist() and not x.requires_grad


def test_a_decision_by_the_data_works_as_long_as_jax_knows_the_data():
    assert torch.compare(lambda x: x * 2 if x.sum() > 0 else x, X).agrees


def test_64_bit_inputs_are_compared_in_64_bits():
    found = torch.compare(lambda x: x.exp(), X.astype("float64"))
    assert found.agrees and found.rows[1].theirs.dtype == np.float64


def test_nothing_to_compare():
    with pytest.raises(RuntimeError, match="nothing that the function returns requires grad"):
        torch.compare(lambda x: x.detach(), X)


# -- faults ------------------------------------------------------------------------------------------------------------


def test_a_wrong_formula_is_named():
    found = torch.compare(lambda x: square(x.sin()).exp(), X)
    assert not found.agrees and found.rows[0].agrees and not found.rows[1].agrees
    assert found.first is found.fault
    assert (found.first.operator, found.first.node, found.first.input) == ("square", "SquareBackward", "x")
    assert found.first.where.file == __file__ and found.first.where.function == "<lambda>"
    assert "a fault: its formula is not the derivative of its kernel" in str(found)


def test_the_input_whose_formula_is_wrong_is_named():
    found = torch.compare(lambda x, y: product(x, y), X, X + 1)
    assert [row.agrees for row in found.rows] == [True, True, False]
    assert (found.fault.operator, found.fault.input) == ("product", "y")


def test_a_fault_is_found_behind_a_kink():
    found = torch.compare(lambda x: square(x + 1).clamp(4, 9), X)
    assert [(one.operator, one.cause) for one in found.differences] == [("clamp", "kink"), ("square", "fault")]
    assert found.first.cause == "kink" and found.fault is found.differences[1]
    assert "then SquareBackward" in str(found)


def test_a_fault_is_found_in_what_was_written_to_a_view():
    def program(x):
        y = x * 1
        y[1:].copy_(square(x[1:]))
        y[0].clamp_(1, 2)
        return y

    found = torch.compare(program, X)
    assert {(one.operator, one.cause) for one in found.differences} == {("clamp", "kink"), ("square", "fault")}


def test_an_operator_that_is_right_does_not_hide_what_hooks_and_custom_functions_change():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output * 3

    found = torch.compare(lambda x: Twice.apply(x).exp(), X)
    assert not found.agrees and found.first is None and found.unchecked == ["TwiceBackward"]
    assert "custom functions (here: TwiceBackward)" in str(found)

    def hooked(x):
        y = x * 2
        y.register_hook(lambda grad: grad * 2)
        return y

    assert "hooks" in str(torch.compare(hooked, X)) and not torch.compare(hooked, X).agrees


# -- conventions -------------------------------------------------------------------------------------------------------


def test_a_kink_is_no_fault():
    found = torch.compare(lambda x: x.abs().sum(), np.zeros(3, "float32"))
    assert (found.first.operator, found.first.cause, found.fault) == ("abs", "kink", None)
    assert "a kink: at 0, of real numbers, PyTorch gives 0; jax gives 1" in str(found)
    with torch.subgradient("jax"):
        assert torch.compare(lambda x: x.abs().sum(), np.zeros(3, "float32")).agrees


def test_at_zero_activations_are_to_jax_what_they_are_to_the_tape():
    def program(x):
        f = torch.nn.functional
        loss = f.binary_cross_entropy_with_logits(x, x)
        return f.relu(x), f.softplus(x), f.logsigmoid(x), f.elu(x), f.celu(x), x.sinc(), loss

    assert torch.compare(program, np.zeros(3, "float32")).agrees


def test_a_pole_is_no_fault():
    found = torch.compare(lambda x: x.lgamma(), np.zeros(3, "float32"))
    assert (found.first.cause, found.fault) == ("pole", None)


RULES = {
    "cholesky_ex": (lambda x: torch.linalg.cholesky(x), np.array([[2, 1], [1, 3]], "float32")),
    "embedding": (lambda w: torch.nn.functional.embedding(torch.tensor([0, 1]), w, padding_idx=0), X[:, None]),
    "floored": (lambda x: torch.cosine_similarity(x, torch.tensor(X), 0, eps=9.0), X),
    "normal": (lambda x: torch.normal(x, x), X),
    "polar": (lambda x: torch.polar(-x, x).real, X),
    "sgn": (lambda x: x.sgn(), (X + 2j).astype("complex64")),
}


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_no_fault(name):
    found = torch.compare(*RULES[name])
    assert (name, "rule") in [(one.operator, one.cause) for one in found.differences] and found.fault is None
    assert f"a rule: {CONVENTIONS[name].where}, PyTorch gives {CONVENTIONS[name].torch}; jax gives" in str(found)


def test_what_jax_has_no_derivative_of():
    with pytest.raises(NotImplementedError, match="householder_product"):
        torch.compare(torch.linalg.householder_product, np.eye(3, dtype="float32")[:, :2], X[:2])


def test_the_table_names_operators_and_each_kink_has_an_example():
    assert set(CONVENTIONS) <= set(TABLE)
    kinks = {name for name, convention in CONVENTIONS.items() if convention.kink}
    assert kinks == set(KINKS)
    assert {name for name, op in TABLE.items() if op.by_jax is not None} == kinks
    assert conventions().count("\n") == len(CONVENTIONS)


@pytest.mark.parametrize("name", KINKS)
def test_each_kink_by_either_convention(name):
    expected, by_jax = np.array(KINKS[name].by_torch), np.array(KINKS[name].by_jax)
    np.testing.assert_allclose(KINKS[name].gradient(torch), expected, rtol=1e-6, atol=1e-6)
    with torch.subgradient("jax"):
        np.testing.assert_allclose(KINKS[name].gradient(torch), by_jax, rtol=1e-6, atol=1e-6)
    assert not np.array_equal(expected, by_jax, equal_nan=True)


@pytest.mark.parametrize("name", [name for name, kink in KINKS.items() if kink.jnp is not None])
def test_so_does_jax_choose(name):
    np.testing.assert_allclose(KINKS[name].jax_gradient(), np.array(KINKS[name].by_jax), rtol=1e-6)


# -- the switch --------------------------------------------------------------------------------------------------------


def slope(x):
    return torch.autograd.grad(x.abs().sum(), x)[0].tolist()


def zero():
    return torch.zeros(3, requires_grad=True)


def test_a_block_restores_and_a_call_stays():
    assert torch.get_subgradient() == "torch"
    with torch.subgradient("jax"):
        assert (torch.get_subgradient(), slope(zero())) == ("jax", [1, 1, 1])
        with torch.subgradient("torch"):
            assert slope(zero()) == [0, 0, 0]
        assert slope(zero()) == [1, 1, 1]
    assert slope(zero()) == [0, 0, 0]
    torch.subgradient("jax")
    try:
        assert slope(zero()) == [1, 1, 1]
    finally:
        torch.subgradient("torch")
    assert torch.get_subgradient() == "torch"


def test_as_a_decorator_it_holds_while_the_function_runs():
    choosing = torch.subgradient("jax")(slope)
    assert torch.get_subgradient() == "torch"
    assert (choosing(zero()), slope(zero())) == ([1, 1, 1], [0, 0, 0])


def test_it_belongs_to_the_thread():
    seen = []
    with torch.subgradient("jax"):
        worker = threading.Thread(target=lambda: seen.append(torch.get_subgradient()))
        worker.start()
        worker.join()
    assert seen == ["torch"]


def test_what_counts_is_when_the_operator_is_recorded():
    x = zero()
    with torch.subgradient("jax"):
        y = x.abs()
    assert y.grad_fn.name() == "AbsBackward0"
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [1, 1, 1]


def test_another_choice_is_refused():
    with pytest.raises(ValueError, match='expected "torch" or "jax", but got \'tensorflow\''):
        torch.subgradient("tensorflow")


def test_forward_mode_chooses_too():
    with torch.subgradient("jax"), forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.zeros(3), torch.tensor(X))
        assert forward_ad.unpack_dual(dual.abs()).tangent.tolist() == X.tolist()


def test_second_derivatives_are_those_of_jax():
    def hessian_times_x(x):
        (first,) = torch.autograd.grad(torch.linalg.vector_norm(x), x, create_graph=True)
        return torch.autograd.grad((first * torch.tensor([1.0, 0, 0])).sum(), x)[0].numpy()

    expected = jax.hessian(jnp.linalg.norm)(X)[0]
    with torch.subgradient("jax"):
        np.testing.assert_allclose(hessian_times_x(torch.tensor(X, requires_grad=True)), expected, rtol=1e-5)


def test_optional_arguments_numbers_and_strides_stay_what_they_are():
    x = torch.tensor([[0.0, 1.0], [2.0, 3.0]], requires_grad=True)
    with torch.subgradient("jax"):
        y = x.t().clamp(max=torch.tensor(2.0))
        (grad,) = torch.autograd.grad(y.sum(), x)
        assert y.stride() == x.t().stride() and y.dtype is torch.float32
        assert grad.tolist() == [[1.0, 1.0], [0.5, 0.0]]
        assert x.abs_ is not None and (x * 1).abs_().grad_fn.name() == "AbsBackward0"

"""Choosing between tensors, beside PyTorch's."""

import math

import pytest
from elementwise import AWAY, FLAGS, INF, NAN, POINT, A, B, M, N, V, W, Z, at, call, same_function, same_saved
from harness import same, same_error

pytestmark = pytest.mark.parity

WHERE = {
    "tensors": (A, B), "broadcast": (A, V), "a number": (A, 2.5), "an int": (A, 2), "a number first": (2, A),
    "complex": (Z, A), "integers and floats": (N, V), "integers and a float": (N, 2.5), "numbers": (1, 2),
    "float and int": (1.0, 2),
}  # fmt: skip


@pytest.mark.parametrize("case", WHERE)
def test_where(case):
    grads = case != "complex"  # where PyTorch's backward fails
    same(lambda torch, c, x, y: torch.where(c, x, y), FLAGS, *WHERE[case], grads=grads)


def test_where_method():
    same(lambda torch, x, y: (x.where(x > 0, y), x.where(x > 0, 0)), A, B)


def test_masked_fill():
    same(lambda torch, x, m: x.masked_fill(m, 2), A, FLAGS)
    same(lambda torch, x, m, v: x.masked_fill(m, v), A, FLAGS[0], POINT)
    same(lambda torch, x, m: x.masked_fill(m, 2.7), N, FLAGS)
    same(lambda torch, x, m: x.masked_fill(m, math.nan), A, FLAGS)
    same(lambda torch, x, m: x.masked_fill(m, -INF), V, FLAGS)
    same(lambda torch, x, m: x.masked_fill(m, 1j), Z, FLAGS)
    same(lambda torch, x, m, v: x.masked_fill(m, v.float()), A, FLAGS, POINT)


TRAPS = {
    "where hides a value, not its gradient": (
        lambda torch, x: torch.where(x > 0, torch.log(x), torch.zeros(3, dtype=x.dtype)),
        at(-1, 0, 2),
    ),
    "sqrt masked at 0": (lambda torch, x: torch.where(x > 0, torch.sqrt(x), 0.0), at(0, 4)),
    "clamp at the bounds": (call("clamp", 0, 1), at(-1, 0, 0.5, 1, 2, NAN)),
    "clamp from below": (call("clamp", min=0), at(-1, 0, 0.5, NAN)),
    "clamp from above": (call("clamp", max=0), at(-1, 0, 0.5, NAN)),
    "clamp to contradicting bounds": (call("clamp", 2, 1), at(0.0, 1, 1.5, 2, 3)),
    "clamp to nan": (call("clamp", NAN, 1), at(0.0, 1)), "clamp_min": (call("clamp_min", 0.5), at(0, 0.5, 1, NAN)),
    "clamp_max": (call("clamp_max", 0.5), at(0, 0.5, 1, NAN)),
    "clamp to tensors": (call("clamp"), at(-1, 0, 0.5, 1, 2, NAN), at(0, 0, 0, 0, 0, 0), at(1, 1, 1, 1, 1, 1)),
    "clamp to contradicting tensors": (call("clamp"), at(0, 1.5, 3), at(2, 2, 2), at(1, 1, 1)),
    "clamp to a tensor": (lambda torch, x, y: (x.clamp(min=y), x.clamp(max=y)), at(0, 1, 2), at(1, 1, 1)),
    "clamp_min to a tensor": (call("clamp_min"), at(0, 1, 2, NAN), at(1, 1, 1, 1)),
    "clamp_max to a tensor": (call("clamp_max"), at(0, 1, 2, NAN), at(1, 1, 1, 1)),
    "lerp": (call("lerp", 0.5), at(1, INF), at(2, INF)),
    "lerp by a tensor": (call("lerp"), at(0, 0), at(10, 10), at(0.5, 0.2)),
}


@pytest.mark.parametrize("trap", TRAPS)
def test_trap(trap):
    program, *inputs = TRAPS[trap]
    same(program, *inputs)


FUNCTIONS = {
    "maximum": ((A, W), {}), "minimum": ((N, V), {}), "lerp": ((A, W, 0.3), {}), "lerp, complex": ((Z, Z, 0.7), {}),
    "addcmul": ((A, V, B), {"value": 2}), "addcmul of integers": ((N, M, N), {"value": 2.5}),
    "addcdiv": ((A, V, AWAY), {"value": 2}), "addcmul with integers": ((A, V, N), {}), "clamp": ((A, -0.5, 0.5), {}),
    "clip": ((A,), {"max": 0.5}), "clamp of integers": ((N, 0, 2.5), {}), "clamp of booleans": ((FLAGS, 0, 1), {}),
    "clamp by tensors": ((A, V, W), {}), "clamp_min": ((N, 1.5), {}),
}  # fmt: skip


@pytest.mark.parametrize("case", FUNCTIONS)
def test_function(case):
    same_function(case, *FUNCTIONS[case])


ERRORS = {
    "complex maximum": (call("maximum"), Z, Z), "complex clamp": (call("clamp", 1), Z),
    "clamp without bounds": (call("clamp"), A), "clamp int8 beyond": (call("clamp", -200, 300), N.astype("int8")),
    "maximum with a number": (call("maximum", 2), A), "where by integers": (lambda torch, x: torch.where(x, x, x), N),
    "masked_fill by integers": (lambda torch, x: x.masked_fill(x, 1), N),
    "masked_fill with dimensions": (lambda torch, x, m: x.masked_fill(m, x), V, FLAGS),
    "masked_fill overflow": (lambda torch, x: x.masked_fill(x > 0, 1e300), A.astype("float32")),
    "masked_fill int overflow": (lambda torch, x: x.masked_fill(x > 0, 300), N.astype("int8")),
    "masked_fill complex": (lambda torch, x: x.masked_fill(x > 0, 1j), A),
    "lerp dtypes": (call("lerp", 0.5), A, A.astype("float32")), "lerp of integers": (call("lerp", 0.5), N, N),
    "addcdiv of integers": (call("addcdiv"), N, N, N),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_error(case):
    same_error(*ERRORS[case])


SAVED = {
    "clamp": (lambda torch, x, y: x.clamp(0.5, 1), ["self", "min", "max"]),
    "clamp to tensors": (lambda torch, x, y: x.clamp(y, y + 1), ["self", "min", "max"]),
    "maximum": (lambda torch, x, y: x.maximum(y), ["self", "other"]),
    "where": (lambda torch, x, y: torch.where(x > 1, x, y), ["condition"]),
    "masked_fill": (lambda torch, x, y: x.masked_fill(x > 1, 2), ["mask"]),
    "lerp": (lambda torch, x, y: x.lerp(y, 0.3), ["weight"]),
    "addcmul": (lambda torch, x, y: x.addcmul(y, y, value=2), ["tensor1", "tensor2", "value"]),
}


@pytest.mark.parametrize("case", SAVED)
def test_what_nodes_have_saved(case):
    same_saved(*SAVED[case])

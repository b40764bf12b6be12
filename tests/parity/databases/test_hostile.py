"""Hostile calls beside PyTorch: a fixed handful of those that ``hostile.py`` draws, and what they came from."""

import numpy as np
import pytest
from harness import agree, attempt, same_error
from hostile import calls, difference

import tapegrad
from tapegrad._src.bindings.declaration.parser import check_call, overloads_of
from tapegrad._src.bindings.declaration.registry import NAMESPACES

pytestmark = pytest.mark.parity


@pytest.mark.once("arguments are judged before anything is computed")
@pytest.mark.parametrize("seed", range(4))
def test_drawn_calls_are_answered_as_pytorch_does(seed):
    """Of a hundred calls nearly all raise the same type of exception, or none, but for what is accepted.

    Which calls are drawn depends on the names that there are: one or two of a hundred may be of those that are left.
    """
    found = [(str(call), *difference(call)) for call in calls(100, seed)]
    others = [answer for answer in found if answer[1] in ("passes", "refuses", "type")]
    assert len(others) <= 2, others
    assert sum(kind in ("text", "foreign") for _, kind, _, _ in found) <= 5


REFUSED = {
    "no tensor": lambda torch, x: torch.sin("a"),
    "nothing": lambda torch, x: torch.cumsum(x),
    "too much": lambda torch, x: torch.sin(x, x),
    "too much of a method": lambda torch, x: x.topk(1, 2, True, True, 5),
    "an argument of a method without any": lambda torch, x: x.sin(1),
    "an unknown name": lambda torch, x: torch.topk(x, 1, j=2),
    "a name twice": lambda torch, x: torch.topk(x, 1, input=x),
    "the wrong type": lambda torch, x: torch.tril(x, 1.5),
    "the wrong type, by name": lambda torch, x: torch.cumsum(x, dim="a"),
    "no truth value": lambda torch, x: torch.sum(x, 0, 1),
    "a tensor for an int": lambda torch, x: torch.tril(x, torch.ones(2)),
    "a tensor for a start and a length": lambda torch, x: torch.narrow(x, 0, 0, torch.ones(2)),
    "no overload": lambda torch, x: torch.sum(x, "a"),
    "no overload of a method": lambda torch, x: x.clamp(1, "b", 3),
    "no overload, by name": lambda torch, x: x.sum(keepdim=1),
    "no overload, all arguments there": lambda torch, x: torch.narrow(x, 0, [1.0, "a"], {}),
    "no overload, unknown names": lambda torch, x: torch.clamp(x, 1, foo=1),
    "an element of a list": lambda torch, x: torch.flip(x, (0, "a")),
    "the first of a list": lambda torch, x: torch.flip(x, (1.5,)),
    "a list in which one is no tensor": lambda torch, x: torch.cat([x, 1]),
    "several sizes": lambda torch, x: x.permute(1.5, 0),
    "no size": lambda torch, x: x.expand(),
    "NumPy's number": lambda torch, x: torch.cumsum(x, np.float32(0)),
    "an array": lambda torch, x: torch.clamp(x, np.array(1.0)),
    "more than 64 bits": lambda torch, x: torch.tril(x, 2**63),
    "more than 64 bits for a float": lambda torch, x: torch.dropout(x, 10**400, True),
    "more than 64 bits for a number": lambda torch, x: x.add(2**64),
    "a stride that is a string": lambda torch, x: torch.conv2d(x, x, stride="a"),
    "an alias": lambda torch, x: x.multiply(),
    "in place": lambda torch, x: x.mul_("a"),
    "in place, as a function": lambda torch, x: torch.relu_("a"),
    "numbers alone": lambda torch, x: torch.remainder(5, 3),
    "of a function in Python, several elements for a number": lambda torch, x: torch.nn.functional.elu(
        x, alpha=torch.tensor([1])
    ),
    "of a function in Python, something else": lambda torch, x: torch.nn.functional.glu(x, {}),
    "of a function in Python, NumPy's truth value": lambda torch, x: torch.nn.functional.group_norm(x, np.bool_(True)),
    "a slope that is no number": lambda torch, x: torch.nn.functional.leaky_relu(x, []),
    "a complex slope": lambda torch, x: torch.nn.functional.leaky_relu(x, 1j),
    "a factor too large for float32": lambda torch, x: torch.celu_(x, 1e300),
    "a complex threshold": lambda torch, x: torch.nn.functional.softshrink(x, 1j),
    "bounds that are no numbers": lambda torch, x: torch.rrelu(x, float("nan")),
    "three factors of elu": lambda torch, x: torch.nn.functional.elu_(x, 1, 1j),
    "a tolerance that is nan": lambda torch, x: torch.allclose(x, x, float("nan")),
    "a norm that is nan": lambda torch, x: torch.renorm(x, 1, 0, float("nan")),
    "True from truth values": lambda torch, x: (x > 0).sub_(True),
    "terms that no memory holds": lambda torch, x: torch.mvlgamma(x, 2**45),
    "numbers alone, of ints": lambda torch, x: torch.bitwise_or(5, 3),
    "a tensor of one element for an int, of joined tensors": lambda torch, x: torch.cat([x, x], torch.tensor([1])),
    "a truth value for a size": lambda torch, x: torch.tile(x, [torch.tensor(True)]),
    "a difference of truth values": lambda torch, x: torch.nn.functional.pairwise_distance(x > 0, x > 0),
    "weights of other gates": lambda torch, x: torch.gru_cell(x, x, x, x),
    "places that are floats": lambda torch, x: torch.embedding_renorm_(x, x, 1.0, 2.0),
    "rows that are not there": lambda torch, x: torch.embedding_renorm_(x, torch.tensor([9]), 1.0, 2.0),
    "a largest norm that is no number": lambda torch, x: torch.nn.functional.embedding(x, x, 1, "a"),
    "the least norm too large": lambda torch, x: torch.nn.functional.normalize(x, eps=10**400),
    "None for the least norm": lambda torch, x: torch.nn.functional.normalize(x, eps=None),
    "a weight of two dimensions": lambda torch, x: torch.nn.functional.bilinear(x, x, x),
    "kinds of numbers": lambda torch, x: torch.nn.functional.bilinear(x, x.int(), torch.ones(2, 3, 3)),
    "a method in Python": lambda torch, x: x.unflatten(len, (1, 3)),
    "widths that are a string": lambda torch, x: torch.nn.functional.pad(x, "a"),
    "widths with a float": lambda torch, x: torch.nn.functional.pad(x, (1.5, 2)),
    "a filling that is a string": lambda torch, x: torch.nn.functional.pad(x, (1, 1), "constant", "a"),
    "None for a dimension": lambda torch, x: torch.nn.functional.glu(x, None),
    "NumPy's truth value for a dimension": lambda torch, x: torch.nn.functional.softmin(x, np.bool_(True)),
    "no tensors": lambda torch, x: torch.atleast_1d(None),
    "a list without tensors": lambda torch, x: torch.atleast_2d([1, "a"]),
    "lengths that are none": lambda torch, x: torch.nn.functional.adaptive_avg_pool2d(x[None], np.float32(1)),
    "lengths that are strings": lambda torch, x: torch.nn.functional.adaptive_max_pool2d(x[None], "ab"),
    "no GPU": lambda torch, x: x.cuda(),
    "a device that is no GPU": lambda torch, x: x.cuda("cpu"),
    "an index of more than 64 bits": lambda torch, x: torch.ones(2, device=2**70),
    "an index of more than 64 bits, of a device": lambda torch, x: torch.device("cpu", 2**63),
    "no groups": lambda torch, x: torch.group_norm(x, 0),
    "powers that are truth values": lambda torch, x: torch.ldexp(x, x > 0),
    "an order of complex numbers": lambda torch, x: torch.searchsorted(x[0] * 1j, 1j),
    "another dtype, of products": lambda torch, x: torch.addmm(x.int(), x, torch.tensor(1)),
    "fewer dimensions, of products": lambda torch, x: torch.baddbmm(x, x, x),
    "too many dimensions of an addend": lambda torch, x: torch.addmm(torch.ones(1, 3, 3), x, x),
    "two faults of places": lambda torch, x: torch.put(x, x, x[0]),
    "no matrices": lambda torch, x: torch.chain_matmul(),
    "a matrix that is a number": lambda torch, x: torch.chain_matmul(-1),
    "no shape": lambda torch, x: torch.broadcast_shapes(1.5),
    "two lengths that don't fit": lambda torch, x: x.expand(4, 5),
    "a bend that is no number": lambda torch, x: torch.nn.functional.huber_loss(x, x, delta=len),
    "steps back": lambda torch, x: torch.slice_copy(x, 0, 1, 2, -1),
    "numbers alone, of floats": lambda torch, x: torch.special.xlogy(5.0, 3.0),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    """The type of the exception and its text; and the same call is refused the second time."""
    same_error(lambda torch: REFUSED[name](torch, torch.ones(3, 3)))
    with pytest.raises((TypeError, ValueError, OverflowError, RuntimeError, IndexError, AssertionError)):
        REFUSED[name](tapegrad, tapegrad.ones(3, 3))


LARGE_COUNTS = {
    "roll": lambda torch, x, n: torch.roll(x, n), "chunk": lambda torch, x, n: torch.chunk(x, n)[0],
    "diff": lambda torch, x, n: torch.diff(x, n), "rot90": lambda torch, x, n: torch.rot90(x, n),
    "matrix_power": lambda torch, x, n: torch.linalg.matrix_power(x, n),
    "tril_indices": lambda torch, x, n: torch.tril_indices(3, n),
}  # fmt: skip


@pytest.mark.parametrize("name", LARGE_COUNTS)
def test_a_count_of_more_than_64_bits_is_refused_after_a_small_one(name):
    def program(torch):
        x = torch.ones(3, 3)
        return LARGE_COUNTS[name](torch, x, 1), attempt(lambda: LARGE_COUNTS[name](torch, x, 2**70))

    agree(program)


TAKEN = {
    "a tensor for an int": lambda torch, x: torch.split(x, torch.tensor(1))[0],
    "a tensor for a number": lambda torch, x: torch.clamp(x, torch.tensor(0.0), 0.3),
    "a tensor for a size": lambda torch, x: torch.nn.functional.adaptive_avg_pool1d(x, torch.tensor([1])),
    "a tensor for a start": lambda torch, x: torch.narrow(x, 0, torch.tensor(1), 2),
    "tensors among the dimensions": lambda torch, x: torch.sum(x, [torch.tensor(0), 1]),
    "tensors of one element for dimensions": lambda torch, x: x.permute(torch.tensor([1]), torch.tensor(0)),
    "a tensor of one element for a dimension": lambda torch, x: x.flip(torch.tensor([1])),
    "a tensor for what is squeezed": lambda torch, x: x[:1].squeeze(torch.tensor([0])),
    "a float tensor for a length": lambda torch, x: torch.split(x, torch.tensor(1.5))[1],
    "True for a norm": lambda torch, x: torch.cdist(x, x, True) + torch.pdist(x, True).sum(),
    "all dimensions": lambda torch, x: torch.nn.functional.normalize(x, dim=None),
    "None for a default": lambda torch, x: torch.roll(x, 1, None),
    "NumPy's ints": lambda torch, x: torch.moveaxis(x, np.int64(0), np.int64(1)),
    "a name of an overload": lambda torch, x: torch.tensor_split(x, sections=2)[0],
    "numbers alone": lambda torch, x: torch.add(1, 2.5),
    "nothing at all": lambda torch, x: torch.block_diag(),
    "NumPy's names": lambda torch, x: torch.sum(x, axis=0, keepdims=True),
    "a tensor for a number, of a function in Python": lambda torch, x: torch.nn.functional.elu(-x, torch.tensor(2)),
    "three factors": lambda torch, x: torch.nn.functional.elu_(-x, 2.0, 3.0, 0.5),
    "bounds that are crossed": lambda torch, x: torch.nn.functional.hardtanh_(x, 1, -5),
    "a generator": lambda torch, x: torch.nn.functional.rrelu_(-x, 0.5, 0.5, True, torch.Generator()),
    "more differences than there are elements": lambda torch, x: torch.diff(x, 2**40),
}


@pytest.mark.parametrize("name", TAKEN)
def test_taken(name):
    agree(lambda torch: TAKEN[name](torch, torch.arange(9.0).reshape(3, 3)))


LARGE = [2**31, 2**63 - 1, 2**63, 2**64, -(2**63), -(2**63) - 1]

NUMBERS = {
    "+": lambda x, n: x + n, "*": lambda x, n: n * x, "/": lambda x, n: x / n, "//": lambda x, n: x // n,
    "%": lambda x, n: x % n, "-": lambda x, n: x - n, "==": lambda x, n: x == n, "&": lambda x, n: x & n,
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", "float32"])
@pytest.mark.parametrize("operator", NUMBERS)
def test_large_numbers(operator, dtype):
    """Beside each dtype: what overflows does so as in PyTorch, or is refused in its words; nothing else is computed."""

    def program(torch):
        x = torch.tensor([1, 0]).to(getattr(torch, dtype))
        return [attempt(lambda n=n: NUMBERS[operator](x, n)) for n in LARGE]

    agree(program)


@pytest.mark.parametrize("make", [
    lambda torch, x: torch.add(x, x, alpha=2**31), lambda torch, x: torch.where(x > 0, x, 300),
    lambda torch, x: torch.nn.functional.threshold(x, 2**31, 0), lambda torch, x: x.masked_fill(x > 0, 300),
    lambda torch, x: torch.nn.functional.pad(x, (1, 0), value=300), lambda torch, x: torch.full_like(x, 300),
    lambda torch, x: x ** 2**63, lambda torch, x: torch.linspace(0, 300, 2, dtype=torch.int8),
])  # fmt: skip
def test_numbers_that_are_no_elements(make):
    same_error(lambda torch: make(torch, torch.tensor([1, 2], dtype=torch.int8)), match="without overflow")


@pytest.mark.once("nothing is computed")
def test_every_function_of_the_table_can_be_judged():
    """Each signature can be read, and a call without arguments is judged by it."""
    for home, names in NAMESPACES.items():
        for name in names:
            if overloads_of(name, home == "Tensor"):
                try:
                    assert check_call(name, home == "Tensor", (), {}) in (True, False)
                except TypeError as error:
                    assert name in str(error) or "positional" in str(error)


def test_a_call_that_passed_leaves_its_types():
    """The gate is asked once for arguments of given types, and again where the function raises."""
    x = tapegrad.ones(2, 2)
    assert x.sum(0, keepdim=True).shape == (1, 2)
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.sum(5, keepdim=True)
    with pytest.raises(TypeError, match="failed to unpack the object at pos 2"):
        x.sum((0, "a"), keepdim=True)
    assert x.sum((0, 1), keepdim=True).shape == (1, 1)

"""NumPy's functions on tensors, and arrays beside them, against PyTorch: what is a tensor, an array, an error.

PyTorch's own ``__array__`` and ``__array_wrap__`` have not got NumPy 2's arguments, of which NumPy warns.
"""

import numpy as np
import pytest
from case_tables import lines
from harness import sentence
from transcripts import MODULES

pytestmark = [
    pytest.mark.parity,
    pytest.mark.filterwarnings("ignore:__array_wrap__ must accept:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]


def names(torch):
    """What the lines below speak of."""

    class S(torch.Tensor):
        pass

    leaf = torch.tensor([0.25, 0.5, 1.0], requires_grad=True)
    return {
        "np": np, "torch": torch, "S": S, "leaf": leaf, "t": leaf.detach().clone(), "point": torch.tensor(2.0),
        "a": np.array([0.5, 1.0, 2.0], np.float32), "number": np.array(3.0, np.float32),
        "m": torch.arange(6.0).reshape(2, 3), "i": torch.tensor([1, 2, 3]), "b": torch.tensor([True, False, True]),
        "c": torch.tensor([1 + 2j, 3j]), "parameter": torch.nn.Parameter(torch.ones(3)), "s": S([0.25, 0.5, 1.0]),
    }  # fmt: skip


def shown(value, torch):
    """What is compared of a value: of tensors whether they require grad, too."""
    if isinstance(value, torch.Tensor):
        array = value.detach().resolve_conj().numpy()
        return [type(value).__name__, str(value.dtype).split(".")[-1], array.tolist(), value.requires_grad]
    if isinstance(value, np.ndarray):
        return [type(value).__name__, str(value.dtype), value.tolist()]
    if isinstance(value, (tuple, list)):
        return [type(value).__name__, *[shown(item, torch) for item in value]]
    return repr(value)


def told(line, torch):
    """What the last statement of a line gives, the others having been executed, or the error."""
    *before, last = line.split("; ")
    space = names(torch)

    def run():
        for statement in before:
            exec(statement, space)
        return shown(eval(last, space), torch)

    try:
        return run()
    except Exception as error:  # what it raises is what is compared
        return [type(error).__name__, sentence(error).splitlines()[0]]


UFUNCS = """
np.sin(t), np.sin(i), np.sin(c), np.sin(point), np.sin(m.T), np.exp(b), np.sqrt(i)
np.maximum(t, 0.5), np.maximum(0.5, t), np.add(a, t), np.add(t, a), np.add(point, 1), np.add(point, number)
np.abs(t), np.bitwise_and(i, 1), np.left_shift(i, 1), np.logical_not(t), np.matmul(m, t), np.matmul(t, a)
np.less(t, 0.5), np.isnan(t), np.equal(t, t), np.isfinite(t).all()
np.modf(t), np.divmod(t, 2), np.frexp(t)
np.add.reduce(t), np.add.reduce(m), np.add.accumulate(t), np.multiply.outer(t, t)
np.add.at(a, [0], t[:1]); a
np.sin(t, out=np.zeros(3, np.float32)), np.add(t, t, out=np.zeros(3))
np.sin(t, out=torch.zeros(3))
np.add(a, a, out=t)
np.sin(leaf)
np.add(a, leaf)
np.maximum(parameter, 0.5)
with torch.no_grad(): y = np.sin(leaf); y
np.sin(torch.ones(2, dtype=torch.bfloat16))
np.sin(c.conj())
np.sin(s), np.maximum(s, 0.5), s * a, np.less(s, 0.5)
hasattr(t, "__array_ufunc__"), hasattr(t, "__array_interface__"), t.__array_priority__
"""

ARRAYS = """
t.__array_wrap__(a), t.__array_wrap__(a > 0), t.__array_wrap__(np.zeros((), np.int64)), s.__array_wrap__(a)
t.__array_wrap__(np.float64(3))
np.asarray(t), np.array(t), np.array(t, dtype=np.float64), np.asarray(t, dtype=np.int64), np.copy(t), np.array(i)
np.array(t, copy=False)
t.__array__(), t.__array__(np.float64), t.__array__("f8"), t.__array__(None), s.__array__()
np.asarray(leaf)
np.asarray(parameter)
np.array([t, t]), np.array([t[0], t[1]]), np.array([point, 1]), np.array(t, dtype=object)
np.array(t.bfloat16())
"""

OPERATORS = """
t + a, t - a, t * a, t / a, t // a, t % a, t**a, t @ a, i & np.array([1, 0, 1]), i << np.array([1, 0, 1])
a / t, sum([t, a]), number / point, point + number, t * number, point * number
a + t
a - t
a * t
a // t
a**t
a @ t
number * t
t == a, a == t, t == number, leaf == a, t == np.array("x"), t != a, a != t, t == [1, 2]
t == np.zeros(2)
t < a
a <= t
leaf * a
a / leaf
parameter + a
a += t
a *= t
a @= t
a /= t; a
t += a; t
t *= a; t
number *= point
t & a
[t.__add__(a), t.__ne__(a), t.__rpow__(a), t.__and__(a), t.__rtruediv__(a)]
np.float32(2) * t, t * np.float32(2), np.float64(2) / t, np.int64(2) - t, np.float64(2) == t, np.bool_(True) & b
np.float64(2) * leaf, leaf * np.float32(2)
"""

FUNCTIONS = """
np.cumsum(t), np.argmax(t), np.clip(t, 0.1, 0.5), np.round(t), np.transpose(m), np.reshape(t, (3, 1)), np.take(t, [0])
np.dot(a, t), np.where(t > 0.5, t, a), np.concatenate([t, t]), np.stack([t, a]), np.ones_like(t), np.sort(t)
np.linspace(t[0], t[1], 3), np.linalg.inv(torch.eye(2)), np.allclose(t, a), np.linalg.norm(t), np.squeeze(t)
a[t > 0.5], a[torch.tensor([0, 2])], t[a > 0.5], t[np.array([0, 2])], a[torch.tensor(1)]
a[:] = t; a
a[0] = point; a
a[:] = leaf; a
t[:2] = a[:2]; t
np.copyto(a, t); a
"""


@pytest.mark.parametrize("line", lines(UFUNCS) + lines(ARRAYS) + lines(OPERATORS) + lines(FUNCTIONS))
def test_line(line):
    theirs, ours = (told(line, module) for module in MODULES)
    assert ours == theirs, f"{ours}\nexpected\n{theirs}"


@pytest.mark.filterwarnings("error")
def test_what_numpy_makes_of_tensors_gives_no_warning():
    torch = MODULES[1]
    assert type(np.sin(torch.ones(2))) is torch.Tensor
    assert np.array(torch.ones(2)).dtype == np.float32

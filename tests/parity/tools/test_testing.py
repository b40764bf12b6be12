"""``torch.testing`` against PyTorch: what is close, and every word of what is said where it is not."""

import importlib
import math
from collections import OrderedDict

import numpy as np
import pytest
from harness import agree, attempt
from transcripts import MODULES, plain

pytestmark = pytest.mark.parity

ARGUMENTS = """
t([1., 2., 3.]), t([1., 2., 4.])
t([1., 2., 3.]), t([1., 2., 3.000001])
t([1, 2, 3]), t([1, 2, 4])
t([1, 2, 3]), t([3, 2, 1])
t([1., nan]), t([1., nan])
t([1., nan]), t([1., nan]), equal_nan=True
t([1., inf]), t([1., -inf])
t([1., inf]), t([1., 2.])
t([1., inf]), t([1., inf])
t([[1., 2.], [3., 4.]]), t([[1., 2.], [3., 5.]])
t(1.), t(2.)
t(1), t(2)
t([True, False]), t([True, True])
t([1+1j, 2]), t([1+1j, 3])
t([1.]), t([1.]).double()
t([1.]), t([1.]).double(), check_dtype=False
t([1.]), t([1]), check_dtype=False
t([1., 2.]), t([1.])
t([[1., 2.]]), t([1., 2.])
t([[1., 2.], [3., 4.]]).T, t([[1., 2.], [3., 4.]]).T.contiguous()
t([[1., 2.], [3., 4.]]).T, t([[1., 2.], [3., 4.]]).T.contiguous(), check_stride=True
1.0, 2.0
1, 2
1, 1
1, 1.0
1, 1.5, check_dtype=False
1.0, 1.00000001
1.0, 0.0
nan, nan
nan, nan, equal_nan=True
inf, inf
inf, 1.0
1+1j, 1+2j
True, False
True, True
None, None
None, 1
1, None
t([1.]), None
"a", "a"
"a", "b"
object(), object()
[1., 2.], [1., 3.]
[1., 2.], [1., 2., 3.]
[1.], (1.,)
(t([1.]), t([2.])), (t([1.]), t([3.]))
{"a": t([1.])}, {"a": t([2.])}
{"a": 1}, {"b": 1}
{"a": 1, "c": 2}, {"a": 1, "b": 1}
{"a": [1, {"b": t([1.])}]}, {"a": [1, {"b": t([2.])}]}
[1, "a"], [1, "a"]
[t([1.])], t([1.])
t([1.]), [1.]
t([1.]), 1.0
t(1.), 1.0
1.0, t(1.)
np.array([1., 2.]), np.array([1., 3.])
np.array([1., 2.], np.float32), t([1., 2.])
t([1., 2.]), np.array([1., 2.], np.float32)
np.float64(1.), np.float64(2.)
np.float64(1.), 2.
t([1.]), t([2.]), rtol=1.0
t([1.]), t([2.]), atol=1.0
t([1.]), t([2.]), rtol=1.0, atol=0
t([1.]), t([2.]), rtol=0, atol=0
t([1.]), t([2.]), rtol=0, atol=0.5
t([1.]), t([2.]), rtol=0.1, atol=0.
1.0, 2.0, rtol=0, atol=0
1.0, 2.0, rtol=0.1, atol=0.2
t([1.]), t([2.]), msg="mine"
t([1.]), t([2.]), msg=lambda m: f"head\n{m}\ntail"
[t([1.])], [t([2.])], msg="mine"
[t([1.])], [t([2.])], msg=lambda m: f"head {m}"
[1], [1, 2], msg="mine"
t([1.]).half(), t([1.01]).half()
t([1.]).half(), t([1.0005]).half()
t([1.]).bfloat16(), t([1.01]).bfloat16()
t([1.]).double(), t([1.0000002]).double()
t([1.]).double(), t([1.00000001]).double()
t([1.]).half(), t([1.02]), check_dtype=False
t([]), t([])
t([]).reshape(0, 2), t([]).reshape(0, 3)
t([1], dtype=torch.uint8), t([255], dtype=torch.uint8)
t([1], dtype=torch.int8), t([-128], dtype=torch.int8)
t([2**62]), t([-2**62])
t([0., 0.]), t([0., 1e-6])
t([0., 1.]), t([0., 0.])
t([0., 1.]), t([0., 0.]), rtol=0, atol=0
t([1.], requires_grad=True), t([1.])
t([1.], requires_grad=True), t([2.])
P(t([1.])), t([1.])
P(t([1.])), t([1.]), allow_subclasses=False
P(t([1.])), P(t([1.])), allow_subclasses=False
S([1.]), t([1.])
S([1.]), S([1.])
S([1.]), S([1.]), allow_subclasses=False
S([1.]), U([1.])
t([1., 2., 3., 4., 5., 6., 7.]), t([1., 2., 3., 4., 5., 6., 8.])
t([1., 2., 3.]), t([1.1, 2.2, 3.3])
actual=t([1.]), expected=t([1.])
t([1.]), expected=t([2.])
t([1.]), t([1.]), 1e-3
OrderedDict(a=1), {"a": 1}
{"a": 1}, [1]
range(3), [0, 1, 2]
"ab", ["a", "b"]
t([1.]), t([1.]), check_layout=False, check_device=False
[[1., 2.], [3.]], [[1., 2.], [4.]]
{1: 2.}, {1: 3.}
t([1e10]), t([1e10 + 2000])
t([1e-10]), t([2e-10]), rtol=1e-3, atol=0
0.1 + 0.2, 0.3
123456.0, 123457.0
t([123456.0]), t([123457.0])
t([float('nan'), 1.]), t([1., 1.])
1, 1+0j
t([1,2]), t([1,5]), rtol=0.1, atol=1
t([1.], dtype=torch.float64), t([2.], dtype=torch.float32), check_dtype=False
t([1+1j]), t([1.]), check_dtype=False
"""


def home(torch):
    return importlib.import_module(f"{torch.__name__}.testing")


def said(arguments, torch):
    """What ``assert_close`` says of these arguments."""

    class S(torch.Tensor):
        pass

    class U(torch.Tensor):
        pass

    space = {
        "torch": torch, "t": torch.tensor, "P": torch.nn.Parameter, "S": S, "U": U, "np": np, "nan": math.nan,
        "inf": math.inf, "OrderedDict": OrderedDict, "AC": home(torch).assert_close,
    }  # fmt: skip
    result = attempt(lambda: eval(f"AC({arguments})", space))
    return [plain(item).replace("tapegrad", "torch") for item in result] if isinstance(result, list) else result


@pytest.mark.parametrize("arguments", ARGUMENTS.strip().splitlines())
def test_assert_close(arguments):
    theirs, ours = (said(arguments, torch) for torch in MODULES)
    assert ours == theirs


def test_a_bool_and_a_number_differ():
    """PyTorch raises an internal error here, and asks for a report."""
    with pytest.raises(AssertionError, match="types do not match: <class 'bool'> != <class 'int'>"):
        home(MODULES[1]).assert_close(True, 1)


MAKE = """
2, 3, dtype=torch.float32, device="cpu"
(2, 3), dtype=torch.float64, device="cpu"
[2, 3], dtype=torch.int64, device="cpu"
(), dtype=torch.float32, device="cpu"
0, 3, dtype=torch.float32, device="cpu"
2, dtype=torch.float32, device="cpu", low=2, high=2
2, dtype=torch.complex64, device="cpu", requires_grad=True
3, 4, dtype=torch.float32, device="cpu", noncontiguous=True
2, 3, 4, 5, dtype=torch.float32, device="cpu", memory_format=torch.channels_last
2, dtype=torch.float32, device="cpu", low=3, high=2
2, dtype=torch.int64, device="cpu", low=2, high=2
2, dtype=torch.int64, device="cpu", requires_grad=True
2, dtype=torch.float32, device="cpu", low=float("nan")
2, dtype=torch.float32, device="cpu", low=50
3, 4, dtype=torch.float32, device="cpu", noncontiguous=True, memory_format=torch.channels_last
-1, dtype=torch.float32, device="cpu"
2, 3
"""


@pytest.mark.parametrize("arguments", MAKE.strip().splitlines())
def test_make_tensor(arguments):
    """All but the numbers."""

    def program(torch):
        def make():
            x = eval(f"make({arguments})", {"torch": torch, "make": home(torch).make_tensor})
            return [str(x.dtype).split(".")[-1], tuple(x.shape), x.stride(), x.requires_grad, x.is_leaf]

        result = attempt(make)
        return [str(item).replace("tapegrad", "torch") for item in result]

    agree(program)


BOUNDS = ["bool", "uint8", "int64", "float16"]


@pytest.mark.parametrize("dtype", BOUNDS)
def test_make_tensor_stays_within_its_bounds(dtype):
    def program(torch):
        make = home(torch).make_tensor
        x = make(2000, dtype=getattr(torch, dtype), device="cpu")
        y = make(2000, dtype=getattr(torch, dtype), device="cpu", low=0, high=2, exclude_zero=True)
        whole = sorted(set(x.tolist())) if dtype != "float16" else [bool((x.abs() <= 9).all()), bool(x.max() > 8)]
        return [whole, bool((y == 0).any())]

    agree(program)

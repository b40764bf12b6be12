"""Making tensors against PyTorch: from data, from sizes and ranges, by the legacy constructors."""

import numpy as np
import pytest
import torch as pytorch
from case_tables import lines
from harness import agree, attempt
from transcripts import MODULES, same_transcript

import tapegrad

pytestmark = pytest.mark.parity

DATA = """
torch.tensor(1.5)
torch.tensor([1, 2.5, True])
torch.tensor([True, 2])
torch.tensor([1 + 0j, 2])
torch.tensor([[1, 2], [3, 4]], dtype=torch.float64)
torch.tensor([[[1.0]], [[2.0]]], requires_grad=True)
torch.tensor([])
torch.tensor(())
torch.tensor([[], []])
torch.tensor([[], [1]])
torch.tensor(range(3))
torch.tensor(bytearray(b"ab"))
torch.tensor(data=[1])
torch.tensor([1], dtype=float)
torch.tensor([1.0], pin_memory=False, device="cpu")
torch.tensor([1.0, 2.0], device=torch.device("cpu"), dtype=torch.complex64)
torch.tensor([1.0, float("nan"), float("inf")], dtype=torch.bfloat16)
torch.tensor(np.float64(1.5))
torch.tensor(np.float32(1.5))
torch.tensor(np.int32(3))
torch.tensor(np.bool_(True))
torch.tensor([np.float64(1.5)])
torch.tensor([np.complex128(1.5)])
torch.tensor([np.float16(1.5)])
torch.tensor([np.int32(3), 2])
torch.tensor([np.int32(3), np.float32(2)])
torch.tensor([np.array(1.0)])
torch.tensor(np.array([1, 2], dtype=np.uint16))
torch.tensor(np.array([300]), dtype=torch.uint8)
torch.tensor(np.array([1.5, -1.5]), dtype=torch.int32)
torch.tensor(np.array([1.5 + 1j]), dtype=torch.float32)
torch.tensor([torch.tensor(1.0), torch.tensor(2.0)])
torch.tensor([torch.tensor(1), 2.5])
torch.tensor([torch.tensor([1.0])])
torch.tensor([torch.tensor(1.0, dtype=torch.float64)])
torch.tensor(torch.tensor([1.0]))
torch.tensor(torch.tensor([1.0], requires_grad=True))
torch.tensor(torch.tensor([300.7]), dtype=torch.uint8)
x = torch.tensor([1.0]); torch.tensor(x).data_ptr() == x.data_ptr() or True
x = torch.ones(2, dtype=torch.int64); x.new_tensor([1.5, 2])
x = torch.ones(2); x.new_tensor([1, 2], requires_grad=True)
x = torch.ones(2); x.new_tensor([1, 2], dtype=torch.int64)
x = torch.ones(2, requires_grad=True); x.new_tensor(3).requires_grad
x = torch.ones(2); x.new_tensor(torch.ones(1))
torch.as_tensor([1, 2])
torch.as_tensor(np.array([1.0]))
torch.as_tensor(np.float32(3))
torch.as_tensor([1.0, 2.0], dtype=torch.float16, device="cpu")
x = torch.ones(2); torch.as_tensor(x) is x
x = torch.ones(2, requires_grad=True); torch.as_tensor(x, dtype=torch.float64)
torch.asarray([1, 2], dtype=torch.float32, requires_grad=True)
torch.asarray(3)
torch.asarray(torch.ones(2, requires_grad=True))
torch.asarray(torch.ones(2, requires_grad=True), requires_grad=False)
torch.asarray(torch.ones(2), requires_grad=True)
torch.asarray(torch.ones(2), copy=True)
torch.asarray(np.ones(2), copy=True)
torch.asarray(bytearray(b"abcd"), dtype=torch.uint8)
torch.from_numpy(np.array([1, 2]))
torch.from_numpy(np.array(True))
torch.frombuffer(bytearray(b"abcd"), dtype=torch.int16)
torch.frombuffer(bytearray(b"abcdef"), dtype=torch.int16, count=2, offset=2)
torch.scalar_tensor(3)
torch.scalar_tensor(True)
torch.scalar_tensor(3, dtype=torch.int64)
torch.scalar_tensor(torch.tensor(2.0))
"""

NUMBERS_THAT_DO_NOT_FIT = """
torch.tensor([1, 2**63])
torch.tensor(-(2**63) - 1)
torch.tensor(2**63, dtype=torch.uint64)
torch.tensor([2**64], dtype=torch.uint64)
torch.tensor([-1], dtype=torch.uint64)
torch.tensor([300], dtype=torch.uint8)
torch.tensor(-1, dtype=torch.uint8)
torch.tensor([-255], dtype=torch.uint8)
torch.tensor([-256], dtype=torch.uint8)
torch.tensor([-1.5], dtype=torch.uint8)
torch.tensor([-1], dtype=torch.uint16)
torch.tensor([70000], dtype=torch.int16)
torch.tensor([2**31], dtype=torch.int32)
torch.tensor([1.7, -1.7], dtype=torch.int32)
torch.tensor([1e10], dtype=torch.int32)
torch.tensor(float("nan"), dtype=torch.int64)
torch.tensor(float("inf"), dtype=torch.int32)
torch.tensor(float("nan"), dtype=torch.bool)
torch.tensor(1e300)
torch.tensor(1e5, dtype=torch.float16)
torch.tensor(2**70, dtype=torch.float64)
torch.tensor(10**400, dtype=torch.float32)
torch.tensor(1j, dtype=torch.float32)
torch.tensor(1j, dtype=torch.bool)
torch.tensor([torch.tensor(300)], dtype=torch.uint8)
torch.tensor([np.int64(300)], dtype=torch.uint8)
torch.full((1,), -1, dtype=torch.uint8)
torch.full((1,), -256, dtype=torch.uint8)
torch.full((1,), -1.5, dtype=torch.uint8)
torch.full((1,), -1, dtype=torch.uint16)
torch.full((1,), 1.5, dtype=torch.int64)
torch.full((1,), 1e10, dtype=torch.int16)
torch.full((1,), 1e10, dtype=torch.float16)
torch.full((1,), 1e300)
torch.full((1,), 1e39j, dtype=torch.complex64)
torch.full((1,), 1j, dtype=torch.float64)
torch.full((1,), 1j, dtype=torch.bool)
torch.full((1,), float("inf"), dtype=torch.int64)
torch.full((1,), float("nan"), dtype=torch.bfloat16)
torch.full((1,), 2**70)
torch.full((1,), 2**63)
torch.full((1,), 2**63, dtype=torch.uint64)
torch.full_like(torch.ones(1, dtype=torch.uint8), 300)
torch.ones(1).new_full((2,), 1j)
torch.scalar_tensor(1j)
"""

MISTAKES_IN_DATA = """
torch.tensor()
torch.tensor([1], [2])
torch.tensor([1], foo=1)
torch.tensor([1], dtype="float32")
torch.tensor([1], dtype=np.float32)
torch.tensor([1], device="foo")
torch.tensor([1], device=0)
torch.tensor([1], pin_memory=1)
torch.tensor([1], requires_grad=True)
torch.tensor([1.0], requires_grad=1)
torch.tensor([1.0], requires_grad=None)
torch.tensor([[1, 2], [3]])
torch.tensor([[1, 2], 3])
torch.tensor([1, [2, 3]])
torch.tensor([1.0, [2]])
torch.tensor([[1], []])
torch.tensor([[[1, 2], [3, 4]], [[5, 6], [7]]])
torch.tensor("a")
torch.tensor(["a"])
torch.tensor([1, "a"])
torch.tensor(b"ab")
torch.tensor(None)
torch.tensor([1, None])
torch.tensor({1: 2})
torch.tensor([1, {}])
torch.tensor([torch.tensor([1.0, 2.0])])
torch.tensor(np.array(["a"]))
torch.tensor(np.array([1, 2])[::-1])
torch.tensor(np.array([1], dtype=">f4"))
torch.tensor(np.array([1], dtype=object))
torch.as_tensor([1], requires_grad=True)
torch.as_tensor("a")
torch.asarray([1.0], copy=False)
torch.asarray(np.ones(2), dtype=torch.float32, copy=False)
torch.asarray(1, requires_grad=True)
torch.from_numpy([1, 2])
torch.from_numpy(np.float32(1))
torch.from_numpy(np.arange(3)[::-1])
torch.frombuffer(bytearray(b"abcde"), dtype=torch.int16)
torch.frombuffer(bytearray(b""), dtype=torch.int16)
torch.frombuffer([1], dtype=torch.int16)
torch.scalar_tensor("a")
"""

SIZES = """
torch.zeros(2, 3)
torch.zeros((2, 3))
torch.zeros([2])
torch.zeros(size=(2, 3))
torch.zeros(())
torch.zeros(torch.Size([2]))
torch.zeros(torch.tensor(2), np.int64(3))
torch.zeros(2, dtype=float)
torch.zeros(2, layout=torch.strided, device="cpu", pin_memory=False, requires_grad=True)
torch.ones(2, dtype=torch.bool)
torch.ones(0, 3)
torch.empty(2, 3).shape
torch.empty((0, 3))
torch.empty(2, memory_format=torch.contiguous_format).shape
torch.full((2,), 3)
torch.full((2,), 3.0)
torch.full((2,), True)
torch.full((2,), 1j)
torch.full((2,), np.float64(3))
torch.full((2,), torch.tensor(3.0))
torch.full(size=(2,), fill_value=3)
torch.full((), 3, dtype=torch.complex64)
torch.zeros_like(torch.ones(2, requires_grad=True))
torch.zeros_like(torch.ones(2, dtype=torch.int32))
torch.ones_like(torch.ones(2), requires_grad=True, memory_format=torch.preserve_format)
torch.empty_like(torch.ones(2, 3), dtype=torch.float16).shape
torch.full_like(torch.ones(2), 3)
torch.full_like(torch.ones(2, dtype=torch.int64), 3.5)
torch.full_like(torch.ones(1), torch.tensor(3.0))
x = torch.ones(2, dtype=torch.int32); x.new_zeros(3, 2)
x = torch.ones(2, dtype=torch.int32); x.new_ones(3, dtype=torch.float64)
x = torch.ones(2); x.new_zeros(2, requires_grad=True)
x = torch.ones(2); x.new_zeros(size=(2, 3)).shape
x = torch.ones(2, dtype=torch.int64); x.new_full((2,), 3.7)
x = torch.ones(2); x.new_full(size=(2,), fill_value=3, dtype=torch.int64)
x = torch.ones(2); x.new_empty((0,))
torch.zeros(2, out=torch.ones(2))
torch.full((2,), 3.0, out=torch.ones(2))
torch.arange(3, out=torch.empty(3, dtype=torch.int64))
with torch.device("cpu"): x = torch.zeros(2); x
"""

RANGES = """
torch.arange(5)
torch.arange(5.0)
torch.arange(1, 5)
torch.arange(1, 5, 2)
torch.arange(1, 5, 0.5)
torch.arange(5, 1, -1)
torch.arange(10, 0, -3)
torch.arange(0, -1.0, -0.25)
torch.arange(end=3)
torch.arange(start=1, end=3)
torch.arange(0, 2, step=torch.tensor(1))
torch.arange(torch.tensor(3))
torch.arange(torch.tensor(3.0))
torch.arange(True)
torch.arange(0)
torch.arange(3, dtype=torch.float16)
torch.arange(0, 3, 2, dtype=torch.bfloat16)
torch.arange(0, 10, 2.5, dtype=torch.int64)
torch.arange(-1, -10, -2.5, dtype=torch.int64)
torch.arange(0.5, 5, 1, dtype=torch.int32)
torch.arange(2**53, 2**53 + 3)
torch.arange(3.0, requires_grad=True, device="cpu", layout=torch.strided)
torch.arange(0.1, 1, 0.1).tolist()
torch.arange(0.1, 1, 0.3, dtype=torch.float64).tolist()
torch.range(0, 3)
torch.range(0, 3, 0.5)
torch.range(5, 1, -2)
torch.linspace(0, 1, 5)
torch.linspace(0, 1, 1)
torch.linspace(0, 1, 0)
torch.linspace(start=0, end=1, steps=2)
torch.linspace(0, 1, torch.tensor(2))
torch.linspace(0, 10, 4, dtype=torch.int64)
torch.linspace(-10, 10, 4, dtype=torch.int32)
torch.linspace(0, 10, 5, dtype=torch.uint8)
torch.linspace(1j, 2, 3)
torch.linspace(0, 1, 5, dtype=torch.complex64)
torch.linspace(3, -3, 5, dtype=torch.float16)
torch.linspace(0, 1, steps=3, requires_grad=True)
torch.linspace(torch.tensor(0.0), torch.tensor(1.0), 3)
torch.linspace(torch.tensor(0.0, requires_grad=True), 1, 3)
torch.linspace(0.1, 0.9, 7).tolist()
torch.linspace(0.1, 0.9, 7, dtype=torch.float64).tolist()
torch.logspace(0, 2, 3)
torch.logspace(0, 2, 3, base=2)
torch.logspace(0, 2, 3, 2, dtype=torch.int64)
torch.logspace(-1, 1, 5).tolist()
torch.logspace(0, 2, 0)
torch.eye(2)
torch.eye(2, 3)
torch.eye(n=3, m=2, dtype=torch.bool)
torch.eye(0)
torch.eye(2, requires_grad=True)
torch.tril_indices(3, 4, 1)
torch.tril_indices(2, 3, offset=-1, dtype=torch.int32)
torch.tril_indices(2, 3, -100)
torch.tril_indices(0, 3)
torch.triu_indices(3, 3, -1)
torch.triu_indices(4, 3, 2)
"""

SPACED = """
torch.logspace(0, 2, 8, dtype=torch.uint8)
torch.logspace(-1, 2, 7, dtype=torch.uint8)
torch.logspace(2, 0, 5, base=2.5, dtype=torch.uint8)
torch.linspace(97, -20, 8, dtype=torch.uint8)
torch.logspace(0, 2, 8, dtype=torch.int8)
torch.logspace(-1, 2, 7, dtype=torch.int8)
torch.logspace(2, 0, 5, base=2.5, dtype=torch.int8)
torch.linspace(97, -20, 8, dtype=torch.int8)
torch.logspace(0, 2, 8, dtype=torch.int32)
torch.logspace(-1, 2, 7, dtype=torch.int32)
torch.logspace(2, 0, 5, base=2.5, dtype=torch.int32)
torch.linspace(97, -20, 8, dtype=torch.int32)
torch.logspace(0, 2, 8, dtype=torch.int64)
torch.logspace(-1, 2, 7, dtype=torch.int64)
torch.logspace(2, 0, 5, base=2.5, dtype=torch.int64)
torch.linspace(97, -20, 8, dtype=torch.int64)
torch.logspace(torch.tensor(0.5), torch.tensor(1.7), 9, dtype=torch.int16)
torch.logspace(0, 3, 4, base=-2, dtype=torch.int64)
torch.logspace(0, 400, 4, dtype=torch.int64)
torch.linspace(-10, 10, 20, dtype=torch.float16).tolist()
torch.logspace(-3, 3, 7, dtype=torch.float16).tolist()
torch.linspace(-10, 10, 20, dtype=torch.bfloat16).tolist()
torch.logspace(-3, 3, 7, dtype=torch.bfloat16).tolist()
torch.linspace(-10, 10, 20, dtype=torch.float32).tolist()
torch.logspace(-3, 3, 7, dtype=torch.float32).tolist()
torch.linspace(-10, 10, 20, dtype=torch.float64).tolist()
torch.logspace(-3, 3, 7, dtype=torch.float64).tolist()
torch.linspace(-10, 10, 20, dtype=torch.complex64).tolist()
torch.logspace(-3, 3, 7, dtype=torch.complex64).tolist()
torch.linspace(-10, 10, 20, dtype=torch.complex128).tolist()
torch.logspace(-3, 3, 7, dtype=torch.complex128).tolist()
torch.logspace(0, 3, 4, base=-2, dtype=torch.complex128).tolist()
torch.linspace(0, 2, 1, dtype=torch.bool)
torch.logspace(0, 2, 3, dtype=torch.bool)
torch.linspace(0, 7, 3, dtype=torch.uint32)
torch.logspace(0, 400, 4)
torch.linspace(float('inf'), 1, 3)
torch.range(0, 5, 1.5, dtype=torch.int32)
"""

TARGETS = (
    "b = torch.zeros(12); o = b[2:4]", "b = torch.zeros(20); o = b[::3][:4]", "b = torch.zeros(6, 6); o = b[1:3, 1:3]",
    "b = torch.zeros(1); o = b.expand(3)", "b = torch.zeros(2, 3); o = b.t()",
    "b = o = torch.zeros(5, dtype=torch.int32)",
)  # fmt: skip
FACTORIES = (
    "linspace(0, 3, 4", "logspace(0, 2, 3", "arange(4", "arange(5", "range(0, 3", "zeros(3, 2", "full((4,), 7", "eye(2",
    "bernoulli(torch.ones(4)",
)  # fmt: skip
OPTIONS_OF_TARGETS = (
    "o = torch.ones(2); r = torch.{}, out=o, requires_grad=True); (r is o, o.requires_grad, o.is_leaf)",
    "o = torch.ones(2, dtype=torch.int32); torch.{}, out=o, requires_grad=True)",
    "o = torch.ones(2); torch.{}, out=o, dtype=torch.float64)", "o = torch.ones(2); torch.{}, out=o, device='meta')",
    "o = torch.ones(2, requires_grad=True); torch.{}, out=o)",
)  # fmt: skip
FACTORIES_INTO_TENSORS = [
    f"{target}; r = torch.{made}, out=o); (o, r is o, o.stride(), o.storage_offset(), b, b.untyped_storage().nbytes())"
    for target in TARGETS for made in FACTORIES
] + [
    line.format(made) for line in OPTIONS_OF_TARGETS
    for made in ("zeros(2", "empty(2", "randint(3, (2,)", "arange(2", "linspace(0, 1, 2")
] + [
    "o = torch.ones(4); torch.empty(4, out=o); o", "o = torch.ones(4); torch.empty(2, 2, out=o); o",
    "o = torch.zeros(2, dtype=torch.complex64); torch.bernoulli(torch.ones(2), out=o)",
    "o = torch.zeros(2, dtype=torch.bool); torch.bernoulli(torch.ones(2), out=o)",
    "o = torch.zeros(2, dtype=torch.int64); torch.normal(torch.ones(2), torch.zeros(2), out=o)",
]  # fmt: skip

MISTAKES_IN_SIZES_AND_RANGES = """
torch.zeros()
torch.zeros(2.0)
torch.zeros("a")
torch.zeros(True)
torch.zeros(None)
torch.zeros([2], 3)
torch.zeros(2, 3.5)
torch.zeros([2, "a"])
torch.zeros(2, -1)
torch.ones(2, -1)
torch.zeros(2, foo=1)
torch.zeros(2, dtype="a")
torch.zeros(2, device=3.5)
torch.zeros(2, requires_grad=1)
torch.zeros(2, pin_memory=True)
torch.zeros(2, dtype=torch.int64, requires_grad=True)
torch.zeros_like([1])
torch.zeros_like(torch.ones(2), dtype="a")
torch.zeros_like(torch.ones(2), dtype=torch.int64, requires_grad=True)
torch.full(2, 3)
torch.full((2,), "a")
torch.full((2,), torch.tensor([3.0]))
torch.full((2,), torch.tensor(3.0, requires_grad=True))
torch.full((2,), 3, requires_grad=True)
torch.full((-2,), 1)
torch.full_like(torch.ones(2), "a")
torch.ones(2).new_zeros()
torch.ones(2).new_zeros("a")
torch.ones(2).new_full(2, 3)
torch.arange()
torch.arange("a")
torch.arange(None)
torch.arange(0, None)
torch.arange(1, 2, 3, 4)
torch.arange(1j)
torch.arange(torch.tensor([3]))
torch.arange(5, 1)
torch.arange(0, 1, 0)
torch.arange(0, float("nan"))
torch.arange(0, float("inf"))
torch.arange(0, 1, float("nan"))
torch.arange(1e20)
torch.arange(2**63)
torch.arange(2**70)
torch.arange(3, dtype=torch.bool)
torch.arange(2, dtype=torch.complex64)
torch.arange(3, requires_grad=True)
torch.linspace(0, 1)
torch.linspace("a", 1, 3)
torch.linspace(0, 1, 2.5)
torch.linspace(0, 1, -1)
torch.linspace(0, 1, 3, dtype=torch.bool)
torch.linspace(0, 1j, 3, dtype=torch.float32)
torch.linspace(torch.tensor([0.0]), 1, 3)
torch.logspace(0, 1, -1)
torch.eye(-1)
torch.eye(2, -1)
torch.eye(2.0)
torch.eye(2, 2.5)
torch.tril_indices(-1, 3)
torch.triu_indices(2, -3)
torch.tril_indices(2.5, 3)
torch.tril_indices(2, 2, dtype=torch.float32)
"""

LEGACY = """
torch.Tensor()
torch.Tensor(2, 3).shape
torch.Tensor(3).shape
torch.Tensor(np.int64(3)).shape
torch.Tensor(torch.Size([2, 3])).shape
torch.Tensor(size=(2, 3)).shape
torch.Tensor([1, 2])
torch.Tensor(data=[1, 2])
torch.Tensor([[1, 2], [3, 4]], device="cpu")
torch.Tensor((1, 2))
torch.Tensor(range(3))
torch.Tensor([True, False])
torch.Tensor(np.array([1, 2]))
torch.Tensor(torch.ones(2, dtype=torch.int64))
torch.Tensor(torch.ones(2, requires_grad=True))
x = torch.ones(2); y = torch.Tensor(x); y.add_(1); x
torch.Tensor(3.5)
torch.Tensor("a")
torch.Tensor(None)
torch.Tensor(True)
torch.Tensor(np.float32(3))
torch.Tensor([1j])
torch.Tensor(["a"])
torch.Tensor([[1], [2, 3]])
torch.Tensor(-1)
torch.Tensor(2, 3.5)
torch.Tensor([1, 2], [3])
torch.Tensor([1, 2], dtype=torch.float64)
torch.FloatTensor([1, 2])
torch.FloatTensor(2, 3).shape
torch.FloatTensor()
torch.LongTensor([1.7, 2])
torch.LongTensor(2).dtype
torch.DoubleTensor(np.array([1, 2]))
torch.BoolTensor([1, 0])
torch.HalfTensor([1.0])
torch.BFloat16Tensor([1.0])
torch.ByteTensor([1, 300])
torch.FloatTensor(torch.ones(2))
torch.FloatTensor(torch.ones(2, dtype=torch.float64))
torch.LongTensor(torch.ones(2, dtype=torch.float64))
torch.FloatTensor(2.5)
torch.FloatTensor([1, 2], requires_grad=True)
torch.FloatTensor
torch.FloatTensor.dtype, torch.FloatTensor.is_cuda, torch.FloatTensor.layout, torch.FloatTensor.__name__
isinstance(torch.ones(2), torch.FloatTensor), isinstance(torch.ones(2), torch.DoubleTensor)
isinstance(torch.nn.Parameter(torch.ones(2)), torch.FloatTensor), isinstance(3, torch.FloatTensor)
issubclass(torch.FloatTensor, torch.Tensor)
torch.Tensor([1, 2]).new([3, 4])
torch.ones(2, dtype=torch.int64).new(2, 3).shape
torch.ones(2).new()
torch.ones(2).new(torch.ones(3)).shape
torch.arange(6.0).resize(2, 3), torch.arange(6.0).resize_as(torch.ones(3, 2))
t = torch.arange(6.0, requires_grad=True).resize(2, 3); t.grad_fn.name()
t = torch.arange(6.0); x = t.resize(2, 3); x[0, 0] = 9; t
torch.arange(6.0).resize(2, 2)
torch.arange(6.0).resize_as(torch.ones(7))
t = torch.ones(2, requires_grad=True); torch.ones(3).new(t).grad_fn
torch.ones(2).new(torch.ones(2, dtype=torch.float64))
"""


@pytest.mark.parametrize(
    "line",
    lines(
        DATA, NUMBERS_THAT_DO_NOT_FIT, MISTAKES_IN_DATA, SIZES, RANGES, SPACED, "\n".join(FACTORIES_INTO_TENSORS),
        MISTAKES_IN_SIZES_AND_RANGES, LEGACY,
    ),
)
def test_line(line):
    same_transcript(line)


@pytest.mark.parametrize("default", ["float64", "float16"])
@pytest.mark.parametrize("line", ["torch.tensor(1.5)", "torch.tensor([1, 2.5])", "torch.zeros(2)",
                                  "torch.arange(0, 1, 0.5)",
                                  "torch.full((2,), 1.0)", "torch.linspace(0, 1, 3)", "torch.Tensor([1])",
                                  "torch.eye(1)", "torch.tensor([np.float32(1)])"])  # fmt: skip
def test_default_dtype(default, line):
    for module in MODULES:
        module.set_default_dtype(getattr(module, default))
    try:
        same_transcript(line)
    finally:
        for module in MODULES:
            module.set_default_dtype(module.float32)


def test_list_of_arrays():
    for module in MODULES:
        module.set_warn_always(True)
        try:
            with pytest.warns(UserWarning, match="Creating a tensor from a list of numpy.ndarrays is extremely slow"):
                made = module.tensor([np.array([1, 2]), np.array([3, 4])])
        finally:
            module.set_warn_always(False)
        assert made.tolist() == [[1, 2], [3, 4]]


def test_default_tensor_type():
    try:
        for module in MODULES:
            module.set_warn_always(True)
            with pytest.warns(UserWarning, match="set_default_tensor_type"):
                module.set_default_tensor_type("torch.DoubleTensor")
        same_transcript("torch.tensor(1.5)")
    finally:
        for module in MODULES:
            module.set_warn_always(False)
            module.set_default_dtype(module.float32)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64", "int8", "uint8", "int64"])
def test_numbers_are_rounded_as_there(dtype):
    values = np.random.default_rng(0).uniform(-100, 100, 200).tolist()
    if dtype == "uint8":
        values = [abs(value) for value in values]
    ours, theirs = (module.tensor(values, dtype=getattr(module, dtype)).tolist() for module in MODULES)
    assert ours == theirs


@pytest.mark.once("no operator runs")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_linspace_to_the_last_digit(dtype):
    for low, high, counts in ((-1, 1, range(2, 70)), (0, 1, (100, 1000)), (5.5, -2.3, (33, 4097))):
        for count in counts:
            mine, theirs = (lib.linspace(low, high, count, dtype=getattr(lib, dtype)).numpy()
                            for lib in (tapegrad, pytorch))  # fmt: skip
            np.testing.assert_array_equal(mine, theirs)


SOURCES = {
    "a leaf": "torch.tensor([1.0, 2.0])", "a leaf that requires grad": "torch.tensor([1.0, 2.0], requires_grad=True)",
    "a result": "torch.tensor([1.0, 2.0], requires_grad=True) * 2", "whole numbers": "torch.tensor([1, 2])",
    "an array": "np.array([1.0, 2.0])", "an array of one number": "np.array(2.5)", "turned": "np.ones((2, 3)).T",
    "NumPy's number": "np.float32(3.5)", "a list": "[1.0, 2.0]", "a number": "3.5",
    "a buffer": "bytearray(b'abcdabcd')", "a list of tensors": "[torch.tensor(1.0)]",
    "a storage": "torch.arange(2.0).untyped_storage()",
}  # fmt: skip
MADE_OF = [
    f"asarray(o, {', '.join(given)})"
    for copy in ((), ("copy=True",), ("copy=False",))
    for dtype in ((), ("dtype=torch.float64",), ("dtype=torch.int64",))
    for grad in ((), ("requires_grad=True",), ("requires_grad=False",))
    if (given := (*copy, *dtype, *grad, "device='cpu'"))
] + [
    f"{function}(o{dtype})" for function in ("tensor", "as_tensor", "frombuffer")
    for dtype in ("", ", dtype=torch.float64", ", dtype=torch.int64")
]  # fmt: skip


@pytest.mark.once("memory is shared or not, whatever is recorded")
@pytest.mark.parametrize("source", SOURCES)
def test_who_shares_memory(source):
    for made in MADE_OF:
        start = f"o = {SOURCES[source]}; r = torch.{made}"
        same_transcript(f"{start}; (r, r.dtype, r.requires_grad, r.is_leaf, r.grad_fn is None, r is o, r.stride())")
        same_transcript(f"{start}; r.detach().zero_(); (o if not hasattr(o, 'tolist') else o.tolist())")


@pytest.mark.once("numbers are read, and nothing runs")
def test_numbers_of_others():
    numbers = (
        "np.float32(3.5)", "np.float64(3.5)", "np.int8(3)", "np.bool_(True)", "np.complex64(3)", "torch.tensor(3.5)",
        "torch.tensor(True)", "torch.tensor(3 + 0j)", "torch.tensor([3.5])", "torch.arange(2).untyped_storage()",
    )  # fmt: skip
    for number in numbers:
        for dtype in ("int64", "uint8", "bool", "float32", "complex64"):
            same_transcript(f"torch.tensor({number}, dtype=torch.{dtype})")
            same_transcript(f"torch.tensor([{number}], dtype=torch.{dtype})")
    same_transcript("torch.tensor(torch.ones(2, 3).t()).stride()")
    same_transcript("s = torch.arange(4.0).untyped_storage(); torch.tensor(s, dtype=torch.float32).zero_(); s.tolist()")


HALF_COMPLEX = (
    "torch.tensor(1j)", "torch.tensor([1j, 2])", "torch.asarray(1j)",
    "torch.complex(torch.ones(2), torch.ones(2))", "torch.view_as_complex(torch.ones(2, 2))",
)  # fmt: skip


@pytest.mark.once("settings are read")
@pytest.mark.parametrize("line", HALF_COMPLEX)
def test_complex_numbers_are_halves_where_halves_are_the_default(line):
    try:
        same_transcript(f"torch.set_default_dtype(torch.float16); {line}")
    finally:
        for module in (tapegrad, pytorch):
            module.set_default_dtype(module.float32)


@pytest.mark.once("settings are read")
@pytest.mark.parametrize("default", ["float16", "bfloat16"])
@pytest.mark.parametrize("line", ["torch.full((2,), 1j)",
                                  "torch.ones(2, dtype=torch.float32) * 1j", "torch.result_type(torch.ones(2), 1j)",
                                  "torch.tensor(np.complex64(1j))", "torch.ones(2, dtype=torch.complex64) * 2.5",
                                  "torch.tensor(1j, dtype=torch.complex64)", "torch.tensor(1j).is_complex()"])
def test_complex_numbers_where_halves_are_the_default(default, line):
    if (default, line) == ("float16", "torch.tensor(1j).is_complex()"):
        line = "torch.tensor(1.5).is_complex()"
    test_default_dtype(default, line)


def test_sizes_of_objects_with_an_index():
    class Three:
        def __index__(self):
            return 3

    def made(torch):
        three, x, image = Three(), torch.arange(12.0).view(3, 4), torch.ones(1, 1, 2, 2)
        found = [
            torch.empty(three), torch.zeros((three, 2)), torch.ones(2, three), torch.full((three,), 2.0),
            x.new_zeros(three), x.new_empty((2, three)), torch.zeros(three, dtype=torch.int32), torch.randn(2, three),
            torch.randint(0, 4, (three,)), torch.randint(three, (2,)), torch.randperm(three), torch.eye(three),
            torch.Tensor(three, 2), torch.empty_strided((three,), (1,)), x.as_strided((three,), (1,)),
            x.view(three, 4), x.reshape(-1, three), x[:1].expand(three, -1), x.repeat(1, three), x.narrow(0, 0, three),
            x.tensor_split(three)[2], x.clone().resize_(three, 2), x[:three], torch.nn.Linear(2, three).weight,
            torch.nn.functional.interpolate(image, three),
        ]  # fmt: skip
        refused = [lambda: torch.empty("3"), lambda: torch.full(("a", three), 1.0), lambda: torch.zeros(3.0)]
        return [tuple(one.shape) for one in found], [attempt(call) for call in refused]

    agree(made)

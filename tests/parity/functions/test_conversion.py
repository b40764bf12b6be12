"""Tensors to other dtypes, to NumPy and to Python, and the state that a user sees and sets, against PyTorch."""

import numpy as np
import pytest
import torch as pytorch
from case_tables import lines
from expressions import expression
from harness import agree, same, warned
from samples import array
from transcripts import MODULES, same_transcript

import tapegrad

pytestmark = pytest.mark.parity

A, Z, N = array(2, 3), array(3, dtype="complex128"), np.arange(6).reshape(2, 3)

CASTS = """
x.to(torch.float32)
x.to(torch.float64)
x.to(torch.float64, copy=True)
x.to("cpu")
x.to("cpu", torch.float32)
x.to(device="cpu", dtype=torch.float32)
x.to(torch.device("cpu"), torch.float32, True, True)
x.to(torch.float32, True, True)
x.to(torch.ones(1, dtype=torch.float32))
x.to(torch.ones(1, dtype=torch.float32), non_blocking=True, copy=True)
x.to(None, torch.float32)
x.to(torch.complex64)
x.to(torch.int64)
x.to(dtype=None)
x.to()
x.to(torch.float32, memory_format=torch.preserve_format)
x.float()
x.double()
x.half().double()
x.bfloat16().double()
x.cfloat()
x.cdouble()
x.int()
x.long()
x.short()
x.char()
x.bool()
x.cpu()
x.type(torch.float32)
x.type("torch.FloatTensor")
x.type(torch.LongTensor)
x.type(dtype=torch.float32)
x.type_as(torch.ones(1))
x.type_as(torch.ones(1, dtype=torch.int64))
x.float().double().float()
x.detach()
torch.detach(x)
"""


@pytest.mark.parametrize("text", lines(CASTS))
def test_cast(text):
    same(expression(text), A, rtol=1e-6)


@pytest.mark.parametrize(
    "text", ["x.to(torch.complex64)", "x.cdouble()", "x.bool()", "x.to(torch.complex128, copy=True)"]
)
def test_cast_of_complex(text):
    same(expression(text), Z, rtol=1e-6)


@pytest.mark.parametrize("text", ["x.double()", "x.bool()", "x.byte()", "x.cfloat()", "x.half()"])
def test_cast_of_integers(text):
    same(expression(text), N)


def test_cast_from_complex_to_real_warns_and_drops_the_imaginary_part():
    for module in MODULES:
        x = module.tensor([1 + 2j, 3 - 1j], requires_grad=True)
        module.set_warn_always(True)
        try:
            with pytest.warns(UserWarning, match="Casting complex values to real discards the imaginary part"):
                y = x.to(module.float32)
        finally:
            module.set_warn_always(False)
        y.sum().backward()
        assert y.grad_fn.name() == "ToCopyBackward0"
        assert (y.tolist(), x.grad.tolist()) == ([1, 3], [1, 1])


def test_what_else_warns_of_imaginary_parts():
    """Sums in another dtype, writes, results that are written to real tensors; at each call, if so set."""

    def program(torch):
        c, r = torch.tensor([[1 + 1j, 2.0, 3j]]), torch.zeros(1, 3)
        acts = [
            lambda: r.copy_(c), lambda: r.__setitem__(0, c[0]), lambda: r.__setitem__(torch.tensor([0]), r.clone()),
            lambda: r.fill_(c[0, 0]), lambda: c.sum(dtype=torch.float32), lambda: c.sum(0, dtype=torch.int64),
            lambda: c.prod(dtype=torch.float32), lambda: c.prod(0, dtype=torch.float64),
            lambda: c.mean(0, dtype=torch.float32), lambda: c.cumsum(0, dtype=torch.int64),
            lambda: c.cumprod(1, dtype=torch.float32), lambda: c.softmax(0, dtype=torch.float32),
            lambda: c.log_softmax(1, dtype=torch.float32), lambda: c.sum(dtype=torch.complex128),
            lambda: torch.sum(c, 0, out=torch.zeros(3)), lambda: torch.cumsum(c, 0, out=torch.zeros(1, 3)),
            lambda: torch.eq(c, c, out=r > 1), lambda: torch.abs(c, out=r), lambda: c.to(torch.bool),
        ]  # fmt: skip
        torch.set_warn_always(True)
        try:
            return [warned(act) for _ in range(4) for act in acts]
        finally:
            torch.set_warn_always(False)

    agree(program)


HARD = "[float('nan'), float('inf'), -float('inf'), 1e10, -1e10, 70000.0, 300.0, -300.0, 1.9, -1.9]"


@pytest.mark.parametrize("target", ["int8", "uint8", "int16", "int32", "int64", "bool"])
@pytest.mark.parametrize("source", ["float32", "float64", "bfloat16", "float16"])
def test_floats_that_integers_do_not_have(source, target):
    same_transcript(f"torch.tensor({HARD}, dtype=torch.{source}).to(torch.{target})")


PYTHON = """
torch.ones(2, requires_grad=True).numpy()
torch.ones(2, requires_grad=True).numpy(force=True)
torch.ones(2, dtype=torch.bfloat16).numpy()
torch.ones(2, dtype=torch.int32).numpy()
torch.ones(2).numpy().flags.writeable
torch.ones(3).item()
torch.ones(0).item()
torch.ones(1, 1).item()
torch.tensor(1.5, dtype=torch.bfloat16).item()
torch.tensor(1.1, dtype=torch.float32).item()
torch.tensor(True).item(), torch.tensor(1j).item(), torch.tensor(3, dtype=torch.uint8).item()
torch.ones(1, requires_grad=True).item()
torch.tensor([[1, 2], [3, 4]]).tolist()
torch.tensor(3.0).tolist(), torch.ones(0, 3).tolist(), torch.ones(2, 0).tolist()
torch.ones(2, dtype=torch.bfloat16, requires_grad=True).tolist()
bool(torch.ones(2))
bool(torch.ones(0))
bool(torch.zeros(1, 1)), bool(torch.tensor(float("nan"))), bool(torch.tensor(0j))
torch.is_nonzero(torch.tensor([0.0]))
torch.is_nonzero(torch.tensor([]))
int(torch.ones(2))
int(torch.tensor(2.7)), int(torch.tensor(-2.7)), int(torch.tensor(True)), int(torch.tensor(1 + 0j))
int(torch.tensor(float("nan")))
int(torch.tensor(float("inf")))
int(torch.tensor(1e300, dtype=torch.float64))
int(torch.tensor(1j))
int(torch.ones(0))
float(torch.ones(2))
float(torch.tensor(3)), float(torch.tensor(1 + 0j)), float(torch.tensor(2, dtype=torch.bfloat16))
float(torch.tensor(1j))
float(torch.tensor(3.0, requires_grad=True))
complex(torch.tensor(3)), complex(torch.tensor(3j))
complex(torch.ones(2))
[1, 2, 3][torch.tensor(1)], [1, 2, 3][torch.tensor([1])], [1, 2, 3][torch.tensor(True)]
[1, 2, 3][torch.tensor(1.0)]
[1, 2, 3][torch.tensor([1, 2])]
range(torch.tensor(3))
np.asarray(torch.tensor(3.0, requires_grad=True))
np.asarray(torch.ones(2))
np.asarray(torch.ones(2), dtype=np.float64)
np.sin(np.asarray(torch.zeros(2)))
f"{torch.tensor(1.23456):.2f} {torch.tensor(3):5} {torch.tensor(3):d} {torch.tensor(1.5, requires_grad=True)}"
f"{torch.ones(2):.2f}"
f"{torch.ones(2)}"
format(torch.tensor(True), "")
"%f %d %s" % (torch.tensor(2.0), torch.tensor(2.0), torch.tensor(2.0))
torch.ones(2).copy_(1e300), torch.ones(2, dtype=torch.float16).copy_(-1e6)
torch.ones(2, dtype=torch.int8).copy_(300), torch.ones(2, dtype=torch.uint8).copy_(-1)
torch.ones(2).copy_("a")
x, y = torch.ones(1), torch.ones(1); hash(x) == hash(x), hash(x) == hash(y)
x = torch.ones(1); {x: 3}[x]
2 in torch.tensor([1, 2]), 5.0 in torch.tensor([1, 2]), torch.tensor(2) in torch.tensor([1, 2])
"a" in torch.tensor([1, 2])
[1] in torch.tensor([1, 2])
reversed(torch.tensor([1, 2])), reversed(torch.tensor(1))
torch.ones(2).type(), torch.ones(2, dtype=torch.bfloat16).type(), torch.ones(2, dtype=torch.complex64).type()
torch.ones(2).type("foo")
torch.ones(2).type(3)
torch.ones(2).type(int)
torch.ones(2).to([1])
torch.ones(2).to(foo=3)
torch.ones(2).to(other=torch.ones(1))
torch.ones(2).to(torch.float64, dtype=torch.float32)
torch.ones(2).to("cpu", torch.float64, True, True, True)
torch.ones(2).to("foo")
torch.ones(2).to(3)
x = torch.ones(2); x.to(torch.float32) is x, x.cpu() is x, x.to("cpu") is x, x.to(torch.float32, copy=True) is x
x = torch.ones(2); x.type_as(x) is x, x.float() is x, x.type(torch.float32) is x
torch.ones(2).to_dense()
"""

FLAGS = """
x = torch.ones(2, 3, dtype=torch.int16); x.element_size(), x.nbytes, x.itemsize, x.numel(), torch.numel(x)
x = torch.ones(2); x.is_cuda, x.is_cpu, x.is_sparse, x.is_quantized, x.is_meta, x.is_mkldnn, x.is_mps, x.is_xla
x = torch.ones(2); x.is_nested, x.is_sparse_csr, x.is_xpu, x.is_ipu, x.is_vulkan, x.is_maia, x.is_mtia, x.layout
x = torch.ones(2); x.is_signed(), x.is_floating_point(), x.is_complex(), x.get_device(), x.is_pinned(), x.is_shared()
torch.is_signed(torch.ones(1, dtype=torch.uint8)), torch.is_complex(torch.ones(1)), torch.is_tensor(3)
torch.is_floating_point(3)
torch.numel([1])
torch.is_same_size(torch.ones(2), torch.ones(2)), torch.is_storage(3)
torch.typename(torch.ones(1)), torch.typename(torch.nn.Parameter(torch.ones(1))), torch.typename(torch.Tensor)
torch.typename(3), torch.typename(torch.float32), torch.typename(np.ones(1)), torch.typename("a")
torch.ones(2).volatile
x = torch.ones(2); x.share_memory_() is x
torch.ones(2).pin_memory()
"volatile" in dir(torch.ones(2)), "volatile" in dir(torch.Tensor)
[name for name in ("grad", "data", "T", "numpy", "to") if name not in dir(torch.ones(2))]
x = torch.ones(2); x.foo = 3; "foo" in dir(x)
x = torch.ones(2); x.data_ptr() == x.detach().data_ptr(), torch.ones(0).data_ptr()
torch.ones(2).foo
"""

REQUIRES_GRAD = """
x = torch.ones(2); x.requires_grad = True; x
x = torch.ones(2); x.requires_grad = 1
x = torch.ones(2); del x.requires_grad
x = torch.ones(2, dtype=torch.int64); x.requires_grad = True
x = torch.ones(2, dtype=torch.int64); x.requires_grad = False; x
x = torch.ones(2, dtype=torch.int64); x.requires_grad_()
x = torch.ones(2, dtype=torch.int64); x.requires_grad_(False)
x = torch.ones(2); x.requires_grad_() is x
x = torch.ones(2); x.requires_grad_(requires_grad=True)
x = torch.ones(2); x.requires_grad_(3)
x = torch.ones(2); x.requires_grad_(None)
x = torch.ones(2, requires_grad=True); y = x * 2; y.requires_grad = False
x = torch.ones(2, requires_grad=True); y = x * 2; y.requires_grad_(False)
x = torch.ones(2, requires_grad=True); y = x * 2; y.requires_grad = True
x = torch.ones(2, requires_grad=True); y = x * 2; y.requires_grad_() is y
x = torch.ones(2, requires_grad=True); x.requires_grad = False; (x * 2).requires_grad
x = torch.ones(2, requires_grad=True); y = x * 2; y.grad
x = torch.ones(2, requires_grad=True); y = x * 2; y.retain_grad(); y.grad
x = torch.ones(2, requires_grad=True); y = x * 2; y.retain_grad(); y.sum().backward(); y.grad
x = torch.ones(2); x.grad = torch.ones(2); x.grad
x = torch.ones(2); y = torch.ones(2); x.grad = y; x.grad is y
x = torch.ones(2); x.grad = x
x = torch.ones(2); x.grad = 3
x = torch.ones(2); x.grad = [1, 2]
x = torch.ones(2); x.grad = torch.ones(3)
x = torch.ones(2); x.grad = torch.ones(1)
x = torch.ones(2); x.grad = torch.ones(2, dtype=torch.float64)
x = torch.ones(2); x.grad = torch.ones(2, dtype=torch.int64)
x = torch.ones(2, dtype=torch.float16); x.grad = torch.ones(2, dtype=torch.bfloat16)
x = torch.ones(2); x.grad = torch.ones(2); x.grad = None; x.grad
x = torch.ones(2); x.grad = torch.ones(2); del x.grad; x.grad
"""

DATA = """
x = torch.ones(2, requires_grad=True); x.data
x = torch.ones(2); x.data is x.data
x = torch.ones(2); del x.data
x = torch.ones(2, requires_grad=True); x.data.mul_(3); x, x._version, x.data._version
x = torch.ones(2, requires_grad=True); d = x.detach(); d.mul_(3); x, x._version, d._version
x = torch.ones(2, requires_grad=True); d = x.detach(); e = d.detach(); e.add_(1); x, x._version
x = torch.ones(2); d = x.detach(); x.add_(1); d, d._version
x = torch.ones(2); x.mul_(2); d = x.data; x._version, d._version
x = torch.ones(2); d = x.data; x.add_(1); d.add_(1); x, d, x._version, d._version
x = torch.ones(2); x.mul_(2); y = torch.zeros(3); y.add_(1); y.add_(1); x.data = y; x, x._version, y._version
x = torch.ones(2); y = torch.zeros(3); x.data = y; y.add_(1); x, x._version, y._version
x = torch.ones(2); y = torch.zeros(3); x.data = y; x.add_(1); y, x._version, y._version
x = torch.ones(2, requires_grad=True); x.data = torch.ones(2, dtype=torch.float64); x
x = torch.ones(2, requires_grad=True); x.data = torch.ones(2, dtype=torch.int64)
x = torch.ones(2); x.data = torch.ones(2, dtype=torch.int64); x
x = torch.ones(2); x.data = 3
x = torch.ones(2); x.data = None
x = torch.ones(2, requires_grad=True); y = torch.ones(2, requires_grad=True) * 2; x.data = y; x
x = torch.ones(2, requires_grad=True); y = x * 2; y.data = torch.zeros(2); y
x = torch.ones(2, requires_grad=True); y = (x * x).sum(); x.data = torch.zeros(2); y.backward(); x.grad
x = torch.ones(2, requires_grad=True); y = (x * x).sum(); x.data.mul_(3); y.backward(); x.grad
x = torch.ones(2, requires_grad=True); y = (x * x).sum(); x.detach().mul_(3); y.backward()
x = torch.ones(2, requires_grad=True); y = x * 2; y.detach_(); y, y.is_leaf
x = torch.ones(2); x.detach_() is x
x = torch.ones(2, requires_grad=True); x.detach().requires_grad, (x * 2).detach().is_leaf
x = torch.ones(2, requires_grad=True); y = x.detach().requires_grad_(); (y * 2).sum().backward(); x.grad, y.grad
"""

COPIES = """
x = torch.ones(2, requires_grad=True); copy.deepcopy(x)
x = torch.ones(2, requires_grad=True); y = x * 2; copy.deepcopy(y)
x = torch.ones(2, requires_grad=True); y = x * 2; copy.copy(y)
x = torch.ones(2, requires_grad=True); x.foo = [1]; y = copy.deepcopy(x); y, y.foo is x.foo, y.foo
x = torch.ones(2, requires_grad=True); x.foo = [1]; y = copy.copy(x); y, y.foo is x.foo, y.is_leaf, y.grad
x = torch.ones(2); y = copy.copy(x); y.add_(1); x
x = torch.ones(2); y = copy.deepcopy(x); y.add_(1); x
x = torch.ones(2, requires_grad=True); x.grad = torch.ones(2); y = copy.deepcopy(x); y.grad, y.grad is x.grad
x = torch.ones(2); y, z = copy.deepcopy([x, x]); y is z
x = torch.ones(2); y, z = copy.deepcopy([x, x.detach()]); y.add_(1); x, z
x = torch.ones(2); x.foo = 3; y = pickle.loads(pickle.dumps(x)); y, y.foo
x = torch.ones(2, requires_grad=True); y = pickle.loads(pickle.dumps(x * 2)); y, y.is_leaf
x = torch.ones(2, requires_grad=True); x.grad = torch.ones(2); pickle.loads(pickle.dumps(x)).grad
x = torch.tensor(1.5, dtype=torch.bfloat16); pickle.loads(pickle.dumps(x))
[pickle.loads(pickle.dumps(torch.ones(2, dtype=torch.float64, requires_grad=True), p)) for p in range(2, 6)]
pickle.loads(pickle.dumps(torch.float32)) is torch.float32
pickle.loads(pickle.dumps(torch.ones(2, 3).shape))
x = torch.nn.Parameter(torch.ones(2)); pickle.loads(pickle.dumps(x))
x = torch.nn.Parameter(torch.ones(2), requires_grad=False); copy.deepcopy(x), copy.copy(x)
x = torch.nn.Parameter(torch.ones(2)); x.foo = 3; copy.deepcopy(x).foo
x = torch.nn.Parameter(torch.ones(2)); x.grad = torch.ones(2); copy.deepcopy(x).grad
"""

DLPACK = """
x = torch.ones(2, requires_grad=True); x.__dlpack__()
x = torch.ones(2, requires_grad=True); torch.from_dlpack(x)
x = torch.ones(2); torch.from_dlpack(x)
torch.from_dlpack(np.ones(2))
torch.from_dlpack(np.arange(3))
x = torch.ones(2); torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x))
np.from_dlpack(torch.ones(2))
torch.from_dlpack(3)
[int(part) for part in torch.ones(2).__dlpack_device__()]
"""

TEXT = """
repr(torch.ones(2)), str(torch.ones(2))
torch.ones(2, dtype=torch.float64, requires_grad=True)
torch.ones(2, requires_grad=True) * 2
torch.ones(2, requires_grad=True).sum()
torch.nn.Parameter(torch.tensor(1.5))
str(torch.nn.Parameter(torch.ones(2, 2)))
torch.ones(2).to(torch.complex64)
torch.tensor([[1.0, 1e10], [1e-5, 2.0]], requires_grad=True).exp()
"""


@pytest.mark.parametrize("line", lines(PYTHON, FLAGS, REQUIRES_GRAD, DATA, COPIES, DLPACK, TEXT))
def test_line(line):
    same_transcript(line)


@pytest.mark.parametrize("library", MODULES, ids=["pytorch", "tapegrad"])
def test_data_travels_between_libraries(library):
    other = MODULES[library is pytorch]
    assert other.from_dlpack(library.arange(3)).tolist() == [0, 1, 2]
    assert other.tensor(library.arange(3).numpy()).tolist() == [0, 1, 2]


def test_every_type_has_its_class():
    for name in ("Float", "Double", "Half", "BFloat16", "Int", "Long", "Short", "Char", "Byte", "Bool"):
        theirs, ours = (getattr(module, f"{name}Tensor") for module in MODULES)
        assert str(ours.dtype) == str(theirs.dtype)
        assert isinstance(tapegrad.ones(1, dtype=ours.dtype), ours)

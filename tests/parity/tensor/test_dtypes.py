"""Dtypes, promotion and devices: every description agrees with PyTorch's."""

import itertools
import operator

import numpy as np
import pytest
import torch as pytorch
from transcripts import same_transcript

from tapegrad._src.execution.data import devices, dtypes, promotion
from tapegrad._src.execution.data.dtypes import ALL_DTYPES

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore:ComplexHalf")]

NAMES = [d.name for d in ALL_DTYPES]
SCALARS = [True, 3, 2.5, 1j]


def theirs(d):
    return getattr(pytorch, d.name)


def outcome(function, *args, **keywords):
    """What a call gives, as text: its result, or the kind and message of its error."""
    try:
        return str(function(*args, **keywords))
    except (TypeError, RuntimeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def empty(d, ndim):
    """PyTorch's tensor of this description, without data."""
    return pytorch.empty([2] * ndim, dtype=theirs(d), device="meta")


@pytest.fixture(params=["float32", "float64", "float16", "bfloat16"])
def default_dtype(request):
    """Both libraries with this default dtype."""
    pytorch.set_default_dtype(getattr(pytorch, request.param))
    dtypes.set_default_dtype(getattr(dtypes, request.param))
    try:
        yield request.param
    finally:
        pytorch.set_default_dtype(pytorch.float32)
        dtypes.set_default_dtype(dtypes.float32)


# dtypes


@pytest.mark.parametrize("attribute", ["itemsize", "is_floating_point", "is_complex", "is_signed"])
def test_attributes(attribute):
    read = operator.attrgetter(attribute)
    assert [read(d) for d in ALL_DTYPES] == [read(theirs(d)) for d in ALL_DTYPES]


@pytest.mark.parametrize("method", ["to_real", "to_complex", "__repr__"])
def test_methods(method):
    call = operator.methodcaller(method)
    for d in ALL_DTYPES:
        assert outcome(call, d) == outcome(call, theirs(d))


def test_every_alias_of_pytorch_is_ours():
    for alias, their in vars(pytorch).items():
        if isinstance(their, pytorch.dtype) and str(their).removeprefix("torch.") in NAMES:
            assert str(getattr(dtypes, alias)) == str(their)


def test_dtypes_are_neither_made_nor_changed():
    assert outcome(dtypes.dtype) == outcome(pytorch.dtype)
    for float32 in (dtypes.float32, pytorch.float32):
        with pytest.raises(AttributeError, match="attribute 'itemsize' of 'torch.dtype' objects is not writable"):
            float32.itemsize = 3


@pytest.mark.parametrize("d", [d for d in ALL_DTYPES if d.numpy.kind != "V" and "float8" not in d.name], ids=str)
def test_numpy_dtypes(d):
    assert str(dtypes.from_numpy(d.numpy)) == str(pytorch.from_numpy(np.zeros(1, d.numpy)).dtype)


@pytest.mark.parametrize("code", ["U1", "O", "M8[s]", "S3", "f4,i4", "longdouble", ">f4", ">i8"])
def test_unsupported_numpy_dtypes(code):
    array = np.zeros(2, code)
    assert outcome(dtypes.from_numpy, array.dtype) == outcome(pytorch.from_numpy, array)


@pytest.mark.parametrize("kind", ["finfo", "iinfo"])
@pytest.mark.parametrize("d", ALL_DTYPES, ids=str)
def test_limits(kind, d):
    ours, their = getattr(dtypes, kind), getattr(pytorch, kind)
    assert outcome(ours, d) == outcome(their, theirs(d))
    if not outcome(ours, d).startswith("TypeError"):
        for name in (name for name in dir(their) if not name.startswith("_")):
            assert getattr(ours(d), name) == getattr(their(theirs(d)), name), name
            assert type(getattr(ours(d), name)) is type(getattr(their(theirs(d)), name)), name


@pytest.mark.parametrize("kind", ["finfo", "iinfo"])
@pytest.mark.parametrize("argument", [3, "float32", None, float, int, bool, str])
def test_limits_of_what_is_no_dtype(kind, argument):
    assert outcome(getattr(dtypes, kind), argument) == outcome(getattr(pytorch, kind), argument)


def test_limits_compare_by_dtype(default_dtype):
    for library in (dtypes, pytorch):
        assert library.finfo() == library.finfo(getattr(library, default_dtype))
        assert library.finfo(library.complex64) == library.finfo(library.float32) != library.finfo(library.float64)
        assert library.iinfo(library.int8) != library.iinfo(library.uint8)
        with pytest.raises(TypeError, match="unhashable"):
            hash(library.finfo())


@pytest.mark.parametrize("argument", [*NAMES, 3, None, float])
def test_set_default_dtype(argument):
    try:
        for library in (dtypes, pytorch):
            given = getattr(library, argument) if isinstance(argument, str) else argument
            result = outcome(library.set_default_dtype, given), str(library.get_default_dtype())
            if library is dtypes:
                ours = result
        assert ours == result
    finally:
        pytorch.set_default_dtype(pytorch.float32)
        dtypes.set_default_dtype(dtypes.float32)


# promotion


@pytest.mark.parametrize("function", ["promote_types", "can_cast"])
@pytest.mark.parametrize("d", ALL_DTYPES, ids=str)
def test_pairs_of_dtypes(function, d):
    for other in ALL_DTYPES:
        ours, their = getattr(promotion, function), getattr(pytorch, function)
        assert outcome(ours, d, other) == outcome(their, theirs(d), theirs(other)), other


@pytest.mark.parametrize("function", ["promote_types", "can_cast"])
def test_pairs_need_dtypes(function):
    ours, their = getattr(promotion, function), getattr(pytorch, function)
    assert outcome(ours, 3, dtypes.int8) == outcome(their, 3, pytorch.int8)
    assert outcome(ours, dtypes.int8, float) == outcome(their, pytorch.int8, float)
    assert outcome(ours, dtypes.int8, "int8") == outcome(their, pytorch.int8, "int8")


@pytest.mark.parametrize("ndims", [(0, 0), (0, 1), (1, 0), (2, 1)])
def test_result_of_two_tensors(ndims):
    for a, b in itertools.product(ALL_DTYPES, repeat=2):
        ours = outcome(promotion.result_dtype, [(a, ndims[0]), (b, ndims[1])])
        assert ours == outcome(pytorch.result_type, empty(a, ndims[0]), empty(b, ndims[1])), (a, b)


@pytest.mark.parametrize("ndim", [0, 1])
def test_result_of_tensor_and_scalar(ndim, default_dtype):
    for d, scalar in itertools.product(ALL_DTYPES, SCALARS):
        ours = outcome(promotion.result_dtype, [(d, ndim), type(scalar)])
        assert ours == outcome(pytorch.result_type, empty(d, ndim), scalar), (d, scalar)
        assert ours == outcome(promotion.result_dtype, [type(scalar), (d, ndim)]), "the order of operands is immaterial"


def test_result_of_two_scalars(default_dtype):
    for a, b in itertools.product(SCALARS, repeat=2):
        assert outcome(promotion.result_dtype, [type(a), type(b)]) == outcome(pytorch.result_type, a, b)


def test_result_of_three_tensors():
    """`addcdiv` refuses two integral operands, hence the floats."""
    floats = [dtypes.float16, dtypes.bfloat16, dtypes.float64, dtypes.complex64]
    others = [dtypes.bool, dtypes.uint8, dtypes.int8, dtypes.int64, *floats]
    operands = [list(itertools.product(kinds, (0, 1))) for kinds in (others, others, floats)]
    for three in itertools.product(*operands):
        assert str(promotion.result_dtype(three)) == str(pytorch.addcdiv(*(empty(*one) for one in three)).dtype), three


@pytest.mark.parametrize("default", ["float32", "float64", "float16"])
@pytest.mark.parametrize("scalar", SCALARS, ids=repr)
def test_inferred_dtype(scalar, default):
    try:
        pytorch.set_default_dtype(getattr(pytorch, default))
        dtypes.set_default_dtype(getattr(dtypes, default))
        assert str(promotion.inferred_dtype(type(scalar))) == str(pytorch.tensor(scalar).dtype)
    finally:
        pytorch.set_default_dtype(pytorch.float32)
        dtypes.set_default_dtype(dtypes.float32)


def test_inferred_dtype_of_what_is_no_scalar():
    assert outcome(promotion.inferred_dtype, str) == outcome(pytorch.tensor, "a")


# devices


@pytest.mark.parametrize(
    "args",
    [
        ("cpu",), ("cuda:0",), ("cuda", 1), ("cpu:0",), ("cpu:1",), ("cpu", None), ("cuda:127",), ("meta",), ("mps",),
        ("cuda:0", 1), ("",), ("cuda:",), ("cuda:01",), ("cuda:x",), ("cuda:-1",), ("cuda:0:1",), (" cpu",), ("1",),
        (":1",), ("cpu", -1), ("cuda", "1"), ("cuda", True), (), (None,), (3.5,), (True,), (-1,), (0,), ("a1:1",),
    ],
)  # fmt: skip
def test_device(args):
    if args == (0,) and pytorch.accelerator.is_available():
        pytest.skip("the number of an accelerator depends on the machine")
    ours, their = outcome(devices.device, *args), outcome(pytorch.device, *args)
    assert ours == their
    if "Error" not in ours:
        ours, their = devices.device(*args), pytorch.device(*args)
        assert (repr(ours), ours.type, ours.index) == (repr(their), their.type, their.index)


@pytest.mark.parametrize("keywords", [{"type": "cuda", "index": 2}, {"type": "cpu"}, {"device": "cuda:1"}])
def test_device_by_keyword(keywords):
    assert repr(devices.device(**keywords)) == repr(pytorch.device(**keywords))


@pytest.mark.parametrize("string", ["foo", "CPU", "cpu_:1"])
def test_no_device(string):
    """PyTorch's list, and tpu."""
    assert outcome(devices.device, string).replace(", tpu", "") == outcome(pytorch.device, string)


def test_default_device():
    for library, default in ((devices, devices.get_default_device), (pytorch, pytorch.get_default_device)):
        assert repr(default()) == "device(type='cpu')"
        with library.device("meta") as entered:
            with library.device("cpu:0"):
                assert repr(default()) == "device(type='cpu', index=0)"
            assert repr(default()) == "device(type='meta')" == repr(entered)
        assert repr(default()) == "device(type='cpu')"


TAKEN = """
x=torch.tensor([True,False]); x.add_(True); x
x=torch.tensor([True,False]); x.add_(torch.tensor([True,True])); x
x=torch.tensor([True,False]); x.add_(1); x
x=torch.tensor([True,False]); x.sub_(True); x
x=torch.tensor([True,False]); x.mul_(True); x
x=torch.tensor([True,False]); x.add_(True,alpha=True); x
x=torch.tensor([True,False]); x.add_(torch.tensor(True),alpha=2); x
x=torch.tensor([True,False]); torch.add(x,x,alpha=True)
x=torch.tensor([1j,2]); x.add_(1j); x
x=torch.tensor([1j,2]); x.add_(1,alpha=1j); x
x=torch.tensor([1.,2]); x.add_(1j); x
x=torch.tensor([1.,2]); x.add_(1,alpha=1j); x
x=torch.tensor([1j,2]); x.add_(torch.tensor([1.,2]),alpha=2.5); x
x=torch.tensor([1j,2]); x.div_(2); x
x=torch.tensor([True,False]).clamp(0,1)
torch.tensor([True,False]).clamp(min=True)
torch.tensor([True,False]).clamp(max=0)
torch.tensor([True,False]).clamp(False,True)
x=torch.tensor([True,False]); x.clamp_(0,1); x
x=torch.tensor([True,False]); x.clamp_(False,True); x
torch.clamp(torch.tensor([True,False]),torch.tensor([False,False]))
torch.clamp(torch.tensor([True,False]),torch.tensor([0,0]),torch.tensor([1,1]))
torch.clamp_min(torch.tensor([True,False]),1)
torch.clamp_max(torch.tensor([True,False]),0)
torch.clamp(torch.tensor([1j]),0,1)
torch.clamp(torch.tensor([True]),0.5,1)
F.adaptive_avg_pool2d(torch.tensor([[[1j,2.],[3,4]]]),1)
F.adaptive_avg_pool2d(torch.tensor([[[1j,2.],[3,4]]]),2)
F.adaptive_avg_pool2d(torch.tensor([[[1,2],[3,4]]]),1)
F.adaptive_avg_pool1d(torch.tensor([[1j,2.]]),1)
F.adaptive_avg_pool1d(torch.tensor([[1j,2.]]),2)
F.adaptive_avg_pool3d(torch.tensor([[[[1j,2.]]]]),1)
F.adaptive_avg_pool3d(torch.tensor([[[[1j,2.]]]]),(1,1,2))
F.adaptive_avg_pool2d(torch.tensor([[[True]]]),1)
F.avg_pool2d(torch.tensor([[[1,2],[3,4]]]),2)
F.avg_pool3d(torch.tensor([[[[1,2],[3,4]]]]),(1,2,2))
F.avg_pool3d(torch.ones(1,2,2,2,dtype=torch.float16),2)
F.avg_pool2d(torch.tensor([[[1j,2],[3,4]]]),2)
F.max_pool2d(torch.tensor([[[1,2],[3,4]]]),2)
F.pad(torch.tensor([[True,False]]),(1,0),'reflect')
F.pad(torch.tensor([[True,False]]),(1,0),'replicate')
F.pad(torch.tensor([[[True,False]]]),(1,0),'replicate')
F.pad(torch.tensor([[True,False]]),(1,0),'circular')
F.pad(torch.tensor([[True,False]]),(1,0))
F.pad(torch.ones(1,1,2,2).bool(),(1,0,1,0),'reflect')
F.pad(torch.ones(1,1,2,2).bool(),(1,0,1,0),'replicate')
F.pad(torch.ones(1,1,2,2,2).bool(),(1,0,1,0,0,0),'reflect')
F.pad(torch.tensor([[1j,2]]),(1,0),'reflect')
F.prelu(torch.tensor([1,-2]),torch.tensor([2]))
F.prelu(torch.tensor([1j]),torch.tensor([1j]))
F.prelu(torch.tensor([True]),torch.tensor([True]))
torch.ones(2,2).bool().index_reduce(0,torch.tensor([0]),torch.ones(1,2).bool(),'prod')
torch.ones(2,2).bool().index_reduce(0,torch.tensor([0]),torch.ones(1,2).bool(),'prod',include_self=False)
torch.ones(2,2).cfloat().index_reduce(0,torch.tensor([0]),torch.ones(1,2).cfloat(),'prod')
torch.ones(2,2).cfloat().index_reduce(0,torch.tensor([0]),torch.ones(1,2).cfloat(),'mean',include_self=False)
torch.ones(2,2).bool().index_reduce(0,torch.tensor([0]),torch.ones(1,2).bool(),'amax')
torch.ones(2,2).bool().index_reduce(0,torch.tensor([0]),torch.ones(1,2).bool(),'mean')
torch.ones(2,2).cfloat().index_reduce(0,torch.tensor([0]),torch.ones(1,2).cfloat(),'amin')
torch.ones(2).bool().index_reduce(0,torch.tensor([0]),torch.ones(1).bool(),'prod')
F.local_response_norm(torch.ones(1,2,3).long(),2)
F.local_response_norm(torch.ones(1,2,3).int(),2)
torch.bucketize(torch.tensor([True]),torch.tensor([False,True]))
F.embedding(torch.tensor([0]),torch.ones(2,2).long(),max_norm=1.)
F.conv_transpose1d(torch.ones(1,1,3).int(),torch.ones(1,1,2).int())
F.conv_transpose1d(torch.ones(1,1,3).long(),torch.ones(1,1,2).long())
F.conv_transpose2d(torch.ones(1,1,3,3).int(),torch.ones(1,1,2,2).int())
F.conv_transpose3d(torch.ones(1,1,3,3,3).int(),torch.ones(1,1,2,2,2).int())
F.conv1d(torch.ones(1,1,3).int(),torch.ones(1,1,2).int())
F.conv1d(torch.ones(1,1,3).bool(),torch.ones(1,1,2).bool())
F.conv3d(torch.ones(1,1,3,3,3).bool(),torch.ones(1,1,2,2,2).bool())
torch.clamp(torch.tensor([True,False]),torch.tensor([False,False]),torch.tensor([True,True]))
torch.clamp(torch.tensor([True,False]),max=torch.tensor([False,True]))
torch.clamp_min(torch.tensor([True,False]),True)
torch.clamp_max(torch.tensor([True,False]),False)
torch.clamp_min(torch.tensor([True,False]),torch.tensor([False,True]))
torch.tensor([True,False]).clamp(max=False)
torch.tensor([True,False]).clamp_min_(True)
torch.tensor([True]).clamp(0,True)
torch.tensor([1]).clamp(False,True)
torch.tensor([True]).clamp(torch.tensor(False),True)
torch.clip(torch.tensor([True]),False,True)
torch.tensor([True]).clamp(torch.tensor(0),torch.tensor(1))
""".strip().splitlines()
"""Calls with dtypes that PyTorch's kernels take or refuse."""


@pytest.mark.parametrize("which", range(4))
def test_what_kernels_take(which):
    for line in TAKEN[which::4]:
        same_transcript(f"F = torch.nn.functional; {line}")

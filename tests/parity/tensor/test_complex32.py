"""Complex halves: short programs on both libraries, and PyTorch's database of operators."""

import copy
import io
import pickle
import zlib

import pytest
import torch as pytorch
from halves_database import ENTRIES, disagreement, samples
from harness import agree

import tapegrad

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]


def numbers(torch, of=(1 + 2j, 3 - 4.5j, 0), **options):
    return torch.tensor(of, dtype=torch.complex32, **options)


def said(value):
    """A value as text, without what is no part of it."""
    return (
        [said(one) for one in value] if isinstance(value, (list, tuple)) else repr(value).replace("tapegrad", "torch")
    )


def outcome(action):
    try:
        return said(action())
    except Exception as error:
        return type(error).__name__, str(error).split("\n")[0]


def test_making_and_printing():
    def program(torch):
        half, kind = torch.ones(3, dtype=torch.float16), torch.complex32
        return said([
            numbers(torch), torch.zeros(2, 3, dtype=kind), torch.zeros(0, dtype=kind), torch.full((2,), 1j, dtype=kind),
            half * 2j, half + numbers(torch), torch.complex(half, half), half.chalf(), half.to(kind),
            torch.ones(2, dtype=torch.float64).chalf(), torch.zeros_like(numbers(torch)), numbers(torch).new_ones(2),
            torch.view_as_complex(torch.ones(2, 2, dtype=torch.float16)), torch.asarray([1j], dtype=kind),
            torch.ones((), dtype=torch.complex64) * half, torch.ones(2, dtype=torch.int32).view(kind),
            numbers(torch, requires_grad=True), numbers(torch, requires_grad=True) * 2, f"{numbers(torch)[0]}",
            torch.randn(3, dtype=kind).shape, torch.nn.Parameter(numbers(torch)),
        ])  # fmt: skip

    agree(program)


def test_memory_is_shared():
    def program(torch):
        x = torch.arange(12.0).reshape(3, 4).to(torch.complex32) * (1 + 1j)
        y, pairs = x.t(), torch.view_as_real(x)
        y[0, 1] = 5j
        pairs[0, 0, 0] = 7
        seen = [said(x), x._version, y._version]
        x.imag = torch.ones(3, 4, dtype=torch.float16)
        x.conj()[0] = 2j
        x[1].real.zero_()
        x.add_(1)
        x *= 2
        x[x.real > 4] = 0
        x.view(-1)[3:5].fill_(9)
        seen += [said(x), x.mH.is_conj(), x.H.stride(), x[:, 1:3].storage_offset(), x.t().is_contiguous()]
        seen += [x.expand(2, 3, 4).stride(), x.unfold(1, 2, 1).shape, [part.shape for part in x.split([1, 2])]]
        seen += [x.data_ptr() == x.view(-1).data_ptr(), x.element_size(), x.nbytes, said(x.view(torch.float16)[0])]
        return [*seen, x.untyped_storage().nbytes(), said(x.storage().tolist())]

    agree(program)


def test_gradients():
    def program(torch):
        ones, x = torch.ones(2, dtype=torch.float16), numbers(torch, (1 + 1j, 2), requires_grad=True)
        (x * x * (1 + 2j)).abs().float().sum().backward()
        seen, heard = [said(x.grad)], []
        y = x * 3
        y.register_hook(lambda grad: heard.append(str(grad.dtype)) or grad * 2)
        seen.append(said(torch.autograd.grad(y.imag, [x], ones)))
        half = ones.clone().requires_grad_()
        (half * 2j).imag.backward(ones)
        single = torch.ones(2, requires_grad=True)
        single.to(torch.complex32).real.backward(ones)
        z = x * 1
        z.mul_(2j)
        z[0] = 0
        x.grad = None
        z.imag.backward(ones)
        with torch.no_grad():
            x.mul_(2)
        return [
            *seen,
            heard,
            said([half.grad, single.grad, x.grad, x]),
            outcome(lambda: x.mul_(2)),
            type(y.grad_fn).__name__,
        ]

    agree(program)


def test_modules():
    def program(torch):
        layer = torch.nn.Linear(2, 2).to(torch.complex32)
        with torch.no_grad():
            layer.weight.fill_(1j)
        other = torch.nn.Linear(2, 2, dtype=torch.complex32)
        other.load_state_dict(layer.state_dict())
        return [said(other.weight), isinstance(other.weight, torch.nn.Parameter), said(copy.deepcopy(other).weight)]

    agree(program)


CALLS = """
    x.numpy()|x.tolist()|x[0].item()|x/2|x**2|2**x|1/x|x@x|x.sum()|x.sum(dtype=torch.complex64)|x.exp()|x.sqrt_()
    x.mean()|x>x|x.sort()|x.max()|x.clamp(0)|x.int()|x.bool()|x.half()|x.cfloat()|x.random_()|x.cumprod(0)|x//2|~x
    x.unique()|torch.eye(2,dtype=x.dtype)|torch.arange(3,dtype=x.dtype)|torch.zeros(2).sum(dtype=x.dtype)|x.type()
    torch.view_as_real(x.conj())|torch.ones(3,dtype=torch.float16).add_(x)|torch.ones(3).add_(x)|x.add_(x.cfloat())
    torch.cat([x,x.real])|torch.where(x.real>0,x,0)|torch.equal(x,x)|torch.allclose(x,x)|torch.fft.fft(x)|x.norm()
    torch.kron(x,x)|torch.einsum('i,i->i',x,x)|torch.index_add(x,0,torch.tensor([0]),x[:1])|torch.addcmul(x,x,x)
    torch.testing.assert_close(x,x*2)|torch.nn.functional.pad(x,(1,1))|torch.nn.functional.mse_loss(x,x)|x.sgn()
    torch.promote_types(x.dtype,torch.bfloat16)|torch.can_cast(x.dtype,torch.float16)|x.requires_grad_().numpy()
    torch.set_default_dtype(x.dtype)|x.chalf() is x|x.to('cpu') is x|x.to(x) is x|torch.as_tensor(x) is x|len(x)
    x.type('torch.ComplexHalfTensor')|torch.ones(2,dtype=torch.float16).sum(dtype=x.dtype)|list(x)|x.view(torch.int32)
    """


def test_what_is_computed_and_what_is_refused():
    def program(torch):
        calls = [call.strip() for line in CALLS.strip().split("\n") for call in line.split("|")]
        return [(call, outcome(lambda: eval(call, {"torch": torch, "x": numbers(torch)}))) for call in calls]  # noqa: B023

    agree(program)


def test_files():
    def written(torch):
        x, file = numbers(torch), io.BytesIO()
        torch.save({"whole": x, "part": x[1:], "conjugates": x.conj()}, file)
        file.seek(0)
        return file

    for writer in (pytorch, tapegrad):
        for reader in (pytorch, tapegrad):
            read = reader.load(written(writer))
            read["whole"][1] = 7
            assert said(read["part"]) == said(reader.tensor([7, 0], dtype=reader.complex32))
            assert read["conjugates"].is_conj()


def test_pickles_and_copies():
    """PyTorch itself fails to read such a pickle."""
    x = numbers(tapegrad, requires_grad=True)
    for again in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), copy.copy(x)):
        assert said(again) == said(x)
    assert said(pickle.loads(pickle.dumps(x.detach().conj()))) == said(x.detach().conj())


def test_transforms_refuse_them():
    with pytest.raises(NotImplementedError, match="no function transform takes complex32"):
        tapegrad.vmap(lambda x: x * 2)(numbers(tapegrad))


OTHER_WORDS = """
    aminmax as_strided.partial_views grid_sampler_3d histc histogramdd index_reduce.amax index_reduce.amin
    index_reduce.mean index_reduce.prod isin linalg.matrix_power nn.functional.fractional_max_pool2d
    nn.functional.fractional_max_pool3d nn.functional.interpolate.bicubic nn.functional.interpolate.bilinear
    nn.functional.interpolate.nearest nn.functional.interpolate.nearest-exact nn.functional.margin_ranking_loss
    nn.functional.multi_head_attention_forward nn.functional.multilabel_soft_margin_loss
    nn.functional.scaled_dot_product_attention nn.functional.upsample_bilinear nn.functional.upsample_nearest
    scatter_reduce.amax scatter_reduce.amin scatter_reduce.mean scatter_reduce.prod scatter_reduce.sum special.entr
    special.i0e special.i1 special.i1e stft tensordot masked.logaddexp bmm.triton_optimized
    """.split()  # noqa: SIM905 - shorter
"""Entries that both refuse, each naming another kernel, or in another order of looking."""

MORE_HERE = """
    cov einsum masked.std masked.var nn.functional.batch_norm nn.functional.batch_norm.without_cudnn norm.nuc renorm
    sum_to_size inner linspace logspace rot90 __rmatmul__ matmul""".split()  # noqa: SIM905 - shorter
"""Entries that are computed here, of which PyTorch lacks a kernel on the way for some shapes."""

LESS_HERE = """
    bernoulli cumprod cumsum flip lu_solve normal normal.number_mean searchsorted slice to_sparse masked.prod
    equal nn.functional.adaptive_avg_pool1d linspace linspace.tensor_overload logspace logspace.tensor_overload
    """.split()  # noqa: SIM905 - shorter
"""Entries of which a sample that has nothing to compute (an empty one, one of no dimension) or is sparse is refused."""

ROUNDED_OTHERWISE = ["nn.functional.conv_transpose2d", "nn.functional.conv_transpose3d"]
"""Entries that PyTorch computes in several steps of halves."""

def test_dtypes_of_results_with_numbers():
    found = []
    for m in (pytorch, tapegrad):
        z, half = m.tensor([1 + 2j]).to(m.complex32), m.tensor([1.0]).to(m.float16)
        others = (1j, 1.0, 1, m.tensor(1j), m.tensor(1.0), m.tensor([1j]), m.tensor([1.0]), half)
        found.append([str(m.result_type(one, other)) for one in (z, z[0]) for other in others])
    assert found[1] == found[0]


GROUPS = 6


@pytest.mark.once("PyTorch's own samples")
@pytest.mark.parametrize("group", range(GROUPS))
def test_database(group):
    """All operators of the database: what PyTorch's CPU computes is computed, what it refuses is refused."""
    names = [name for name in ENTRIES if zlib.crc32(name.encode()) % GROUPS == group]
    found = {
        name: complaints_of(name)
        for name in names
        if not name.startswith(("jiterator", "torch.", "_segment", "sparse."))
    }
    differing = {name: complaints for name, complaints in found.items() if complaints}
    known = {*OTHER_WORDS, *MORE_HERE, *LESS_HERE, *ROUNDED_OTHERWISE}
    assert not {name: complaints for name, complaints in differing.items() if name not in known}


def complaints_of(name):
    try:
        given = samples(name, 2)
    except Exception:
        return []  # the database has none of complex numbers
    small = [one for one in given if not hasattr(one.input, "numel") or one.input.numel() < 3000]
    return [complaint for one in small if (complaint := disagreement(name, one)) is not None]

"""Fourier transforms, shifts, frequencies and short-time transforms beside PyTorch's."""

import numpy as np
import pytest
from expressions import expression
from harness import agree, attempt, same, same_error, warned
from samples import array
from transcripts import same_transcript

pytestmark = pytest.mark.parity

X, ODD, Z = array(2, 4), array(2, 5), array(2, 4, dtype="complex128")
CUBE = array(2, 3, 4, dtype="complex128")
LINE = array(8)

TRANSFORMS = {
    "torch.fft.fft(x)": (X, Z),
    "torch.fft.ifft(x)": (X, Z),
    "torch.fft.fft(x, n=6, dim=0, norm='ortho')": (X,),
    "torch.fft.ifft(x, 3, norm='forward')": (Z,),
    "torch.fft.rfft(x)": (X, ODD),
    "torch.fft.irfft(x)": (Z,),
    "torch.fft.irfft(x, 5)": (Z,),
    "torch.fft.irfft(x, n=8, norm='ortho')": (Z,),
    "torch.fft.hfft(x)": (X,),
    "torch.fft.hfft(x, 3, 0, 'forward')": (Z,),
    "torch.fft.ihfft(x)": (ODD,),
    "torch.fft.fft2(x)": (X,),
    "torch.fft.ifft2(x, s=(3, 3), norm='ortho')": (Z,),
    "torch.fft.fftn(x)": (CUBE,),
    "torch.fft.fftn(x, s=(3, -1), dim=(1, 0))": (Z,),
    "torch.fft.ifftn(x, dim=[])": (Z,),
    "torch.fft.fftn(x.sum())": (Z,),
    "torch.fft.rfft2(x, dim=(1, 0))": (X,),
    "torch.fft.rfftn(x, s=3)": (X,),
    "torch.fft.irfftn(x, s=(3, 5), norm='forward')": (Z,),
    "torch.fft.hfft2(x, norm='backward')": (Z,),
    "torch.fft.hfftn(x, dim=1)": (Z,),
    "torch.fft.ihfft2(x)": (X,),
    "torch.fft.ihfftn(x, dim=(0,))": (X,),
    "torch.fft.fftshift(x)": (ODD,),
    "torch.fft.fftshift(x, dim=(0, 1))": (Z,),
    "torch.fft.ifftshift(x, 1)": (ODD,),
    "torch.fft.fft(x.T[::2])": (X,),
    "torch.fft.fft(torch.fft.ifft(x.conj())).conj()": (Z,),
}


@pytest.mark.parametrize(("text", "x"), [(text, x) for text, inputs in TRANSFORMS.items() for x in inputs])
def test_transforms(text, x):
    same(expression(text), x)


DTYPES = """
torch.fft.fft(torch.ones(2, dtype=torch.int64)).dtype, torch.fft.rfft(torch.ones(2, dtype=torch.bool)).dtype
torch.fft.fft(torch.ones(2)).dtype, torch.fft.irfft(torch.ones(2)).dtype, torch.fft.fftn(torch.ones(2)).dtype
torch.fft.fft(torch.ones(2, dtype=torch.complex64)).dtype, torch.fft.hfft(torch.ones(2, dtype=torch.int32)).dtype
torch.fft.fft(torch.ones(3, 0), 2), torch.fft.ifft(torch.ones(2)).is_conj(), torch.fft.fft(torch.ones(2)).is_conj()
torch.fft.fft(torch.arange(4.0)), torch.fft.rfft(torch.arange(4.0)), torch.fft.irfft(torch.ones(3))
torch.fft.fft(torch.ones(2), out=torch.ones(2, dtype=torch.complex64)), torch.fft.fft.__name__
torch.fft.fftfreq(5), torch.fft.fftfreq(4, 0.5), torch.fft.fftfreq(0), torch.fft.fftfreq(4, d=0)
torch.fft.fftfreq(4, dtype=torch.float64), torch.fft.fftfreq(3, dtype=torch.float16)
torch.fft.fftfreq(4, requires_grad=True), torch.fft.rfftfreq(5), torch.fft.rfftfreq(4, 2.0), torch.fft.rfftfreq(0)
torch.ops.aten.fft_fft(torch.ones(2))
"""

MISTAKES = """
torch.fft.fft(3)
torch.fft.fft(torch.ones(2), 0)
torch.fft.fft(torch.ones(2), -1)
torch.fft.fft(torch.ones(0))
torch.fft.fft(torch.ones(2), dim=1)
torch.fft.fft(torch.tensor(1.0))
torch.fft.fft(torch.ones(2), dim=None)
torch.fft.fft(torch.ones(2), 2.5)
torch.fft.fft(torch.ones(2), norm="foo")
torch.fft.fft(torch.ones(2), norm=3)
torch.fft.fft(torch.ones(2).half())
torch.fft.fft(torch.ones(2).bfloat16())
torch.fft.rfft(torch.ones(2) + 0j)
torch.fft.ihfft(torch.ones(2) + 0j)
torch.fft.irfft(torch.ones(2), 0)
torch.fft.irfft(torch.ones(1))
torch.fft.hfft(torch.ones(1))
torch.fft.fftn(torch.ones(2, 2), s=(2,), dim=(0, 1))
torch.fft.fftn(torch.ones(2, 2), s=(2, 2, 2))
torch.fft.fftn(torch.ones(2, 2), s=(-2, 2))
torch.fft.fftn(torch.ones(2, 2), dim=(0, 0))
torch.fft.fftn(torch.ones(2, 2), dim=(0, 3))
torch.fft.fftn(torch.ones(2, 2), norm="bad")
torch.fft.fft2(torch.ones(2))
torch.fft.rfftn(torch.ones(2) + 0j)
torch.fft.rfftn(torch.ones(2), dim=())
torch.fft.irfftn(torch.ones(2), dim=())
torch.fft.irfftn(torch.ones(2, 1))
torch.fft.hfftn(torch.ones(2, 2), s=(2, 0))
torch.fft.hfftn(torch.ones(2), dim=())
torch.fft.ihfftn(torch.ones(2) + 0j)
torch.fft.ihfftn(torch.ones(2), dim=())
torch.fft.fftshift(torch.ones(2), dim=3)
torch.fft.fftshift(torch.tensor(1.0))
torch.fft.fftfreq()
torch.fft.fftfreq(-1)
torch.fft.fftfreq(4.5)
torch.fft.fftfreq(4, dtype=torch.int64)
torch.fft.fftfreq(4, dtype=torch.complex64)
"""


@pytest.mark.parametrize("line", [*DTYPES.strip().splitlines(), *MISTAKES.strip().splitlines()])
def test_line(line):
    same_transcript(line)


def test_the_half_spectrum_is_not_doubled():
    """Where the two halves of a spectrum are one, gradients are of what was kept."""

    def program(torch):
        x = torch.arange(4.0, requires_grad=True)
        torch.fft.rfft(x).real.sum().backward()
        z = torch.tensor([2 + 1j, 1 + 3j, 1 - 1j], requires_grad=True)
        torch.fft.irfft(z).sum().backward()
        return x.grad, z.grad

    agree(program)


def test_what_is_saved():
    def program(torch):
        x = torch.ones(2, 4, requires_grad=True)
        first, second = torch.fft.rfft(x, norm="ortho").grad_fn, torch.fft.ifftn(x).grad_fn
        third = torch.fft.irfft(x + 0j).grad_fn
        return [(node.name(), node._saved_dim, node._saved_normalization) for node in (first, second, third)] + [
            first._saved_onesided, second._saved_forward
        ]  # fmt: skip

    agree(program)


# -- short-time transforms ---------------------------------------------------------------------------------------------

SIGNAL = array(2, 8)
WINDOW = np.array([0.2, 0.9, 1.0, 0.4])
SPECTRA = array(2, 3, 5, dtype="complex128")

SHORT = {
    "torch.stft(x, 4, window=y, return_complex=True)": (SIGNAL, WINDOW),
    "torch.stft(x[0], 4, 2, window=y, normalized=True, pad_mode='constant', return_complex=True)": (SIGNAL, WINDOW),
    "x.stft(4, 2, window=y, center=False, onesided=False, return_complex=False)": (SIGNAL, WINDOW),
    "torch.stft(x, 6, 2, 4, y, center=False, return_complex=True)": (SIGNAL, WINDOW),
    "torch.stft(x, 6, 2, 4, y, center=False, align_to_window=True, return_complex=True)": (SIGNAL, WINDOW),
    "torch.stft(x.T, 2, 1, 1, center=False, return_complex=True)": (SIGNAL,),
    "torch.stft(x * (1 + 1j), 4, window=y)": (SIGNAL, WINDOW),
    "torch.istft(x, 4, window=y)": (SPECTRA, WINDOW),
    "x[0].istft(4, 2, window=y, normalized=True, length=7)": (SPECTRA, WINDOW),
    "torch.istft(x, 4, window=y, length=9, center=False)": (SPECTRA, WINDOW),
    "torch.istft(x, 5, 3, 4, y, length=3)": (SPECTRA, WINDOW),
    "torch.istft(x[:, :2], 2, 1, window=y[:2], onesided=False, return_complex=True)": (SPECTRA, WINDOW),
    "torch.istft(x[:, :2], 2, 1, window=y[:2], onesided=False)": (SPECTRA, WINDOW),
    "torch.istft(torch.stft(x, 4, window=y, return_complex=True), 4, window=y, length=8)": (SIGNAL, WINDOW),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", SHORT)
def test_short_time(text):
    same(expression(text), *SHORT[text])


SHORT_MISTAKES = {
    "torch.stft(x, 4, window=y)": (SIGNAL, WINDOW),
    "torch.stft(x[None], 4, window=y, center=False, return_complex=True)": (SIGNAL, WINDOW),
    "torch.stft(x, 9, return_complex=True, window=y, center=False)": (SIGNAL, WINDOW),
    "torch.stft(x, 4, hop_length=0, return_complex=True, window=y)": (SIGNAL, WINDOW),
    "torch.stft(x, 4, win_length=5, return_complex=True, window=y)": (SIGNAL, WINDOW),
    "torch.stft(x, 4, win_length=3, return_complex=True, window=y)": (SIGNAL, WINDOW),
    "torch.stft(x, 4, window=y[:, None], return_complex=True)": (SIGNAL, WINDOW),
    "torch.stft(x + 0j, 4, window=y, return_complex=True, onesided=True)": (SIGNAL, WINDOW),
    "torch.stft(x.long(), 4, window=y, center=False, return_complex=True)": (SIGNAL, WINDOW),
    "torch.stft(x, 4, window=y, pad_mode='foo', return_complex=True)": (SIGNAL, WINDOW),
    "torch.stft(x, 4, window=y, align_to_window=True, return_complex=True)": (SIGNAL, WINDOW),
    "torch.stft(x, 40, return_complex=True, window=y)": (SIGNAL, WINDOW),
    "torch.istft(x.real, 4, window=y)": (SPECTRA, WINDOW),
    "torch.istft(x[0, 0], 4, window=y)": (SPECTRA, WINDOW),
    "torch.istft(x[None], 4, window=y)": (SPECTRA, WINDOW),
    "torch.istft(x[..., :0], 4, window=y)": (SPECTRA, WINDOW),
    "torch.istft(x, 6, window=y)": (SPECTRA, WINDOW),
    "torch.istft(x, 4, window=y, onesided=False)": (SPECTRA, WINDOW),
    "torch.istft(x, 4, window=y, onesided=True, return_complex=True)": (SPECTRA, WINDOW),
    "torch.istft(x, 4, hop_length=5, window=y)": (SPECTRA, WINDOW),
    "torch.istft(x, 4, win_length=5, window=y)": (SPECTRA, WINDOW),
    "torch.istft(x, 4, win_length=3, window=y)": (SPECTRA, WINDOW),
    "torch.istft(x, 4, window=y + 0j)": (SPECTRA, WINDOW),
    "torch.istft(x, 4, window=y * 0)": (SPECTRA, WINDOW),
    "torch.istft(x, 4, window=y, length=-1)": (SPECTRA, WINDOW),
}


@pytest.mark.parametrize("text", SHORT_MISTAKES)
def test_short_time_errors(text):
    same_error(expression(text), *SHORT_MISTAKES[text])


def test_warnings_of_short_time_transforms():
    def program(torch):
        torch.set_warn_always(True)
        try:
            x, spectra, window = torch.ones(8), torch.ones(3, 5, dtype=torch.complex64), torch.ones(4)
            return (
                warned(lambda: torch.stft(x, 4, return_complex=True)),
                warned(lambda: torch.stft(x, 4, window=window, return_complex=False)),
                warned(lambda: torch.istft(spectra, 4, length=20)),
            )
        finally:
            torch.set_warn_always(False)

    agree(program)


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
def test_tangents_of_short_time_transforms():
    """They end in views made in place, which the tangent goes along with."""

    def program(torch):
        with torch.autograd.forward_ad.dual_level():
            x = torch.autograd.forward_ad.make_dual(torch.arange(8.0), torch.ones(8))
            spectra = torch.stft(x, 4, window=torch.ones(4), return_complex=True)
            seen = [spectra.real, torch.autograd.forward_ad.unpack_dual(spectra).tangent.real]
            y = (x * 2).unsqueeze_(0).transpose_(0, 1)
            return [*seen, torch.autograd.forward_ad.unpack_dual(y).tangent]

    agree(program, rtol=1e-5, atol=1e-5)


SEVERAL = "fft2", "ifft2", "rfft2", "irfft2", "fftn", "hfft2", "ihfft2", "hfftn", "ihfftn"


@pytest.mark.parametrize("function", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft", *SEVERAL])
@pytest.mark.parametrize("layout", ["row-major", "permuted", "transposed", "expanded"])
def test_how_transforms_lie_in_memory(function, layout):
    def program(torch):
        x = torch.arange(24.0).view(2, 3, 4)
        x = {
            "row-major": x,
            "permuted": x.permute(2, 0, 1).contiguous().permute(1, 2, 0),
            "transposed": x.transpose(0, 1),
            "expanded": x[:1].expand(2, 3, 4),
        }[layout]
        transform, halves = getattr(torch.fft, function), function.startswith(("rfft", "ihfft"))
        given = [x] if halves else [x, x * 1j]
        dims = [(0, 1), (-1, 0), (1, 2)] if function in SEVERAL else [-1, 0, 1]
        return [transform(each, dim=dim).stride() for each in given for dim in dims]

    agree(program)


TRANSFORMS = [kind + size for size in ("", "2", "n") for kind in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")]


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized", "ignore:The number of elements")
@pytest.mark.parametrize("name", [*TRANSFORMS, "fftfreq", "rfftfreq"])
def test_targets(name):
    """Complex numbers go into complex targets and real ones into real ones, of any width, but not conjugates."""

    def account(torch):
        transform, x = getattr(torch.fft, name), torch.tensor([[0.5, 2.0, 3.0], [1.0, -1.0, 0.25]])
        given = [4] if name.endswith("freq") else [x, x.double(), torch.complex(x, x), x.t()]
        dtypes = [torch.float32, torch.float64, torch.complex64, torch.complex128, torch.int64, torch.bool]
        told = []
        for one in given:
            for dtype in dtypes:
                out = torch.zeros(0, dtype=dtype)
                told.append([attempt(lambda one=one, out=out: transform(one, out=out)), list(out.shape), out.stride()])
        return [told, attempt(lambda: transform(given[0], out=torch.zeros(1).expand(4)))]

    agree(account)

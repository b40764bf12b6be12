"""Windows beside PyTorch's: ``torch.hann_window`` and the like, ``torch.signal.windows``."""

import pytest
from expressions import expression
from harness import agree, same_error

pytestmark = pytest.mark.parity

LENGTHS = (0, 1, 2, 5, 6)
OLDER = ("hann_window", "hamming_window", "bartlett_window", "blackman_window", "kaiser_window")
NEWER = {
    "bartlett": {}, "blackman": {}, "cosine": {}, "exponential": {"tau": 2.5}, "gaussian": {"std": 0.7},
    "general_cosine": {"a": [0.46, 0.23, 0.31]}, "general_hamming": {"alpha": 0.3}, "hamming": {}, "hann": {},
    "kaiser": {"beta": 3.0}, "nuttall": {},
}  # fmt: skip


@pytest.mark.parametrize("name", OLDER)
def test_older_windows(name):
    def program(torch):
        window, kind = getattr(torch, name), torch.float64
        return [window(n, dtype=kind) for n in LENGTHS] + [window(n, False, dtype=kind) for n in LENGTHS]

    agree(program, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", NEWER)
def test_newer_windows(name):
    def program(torch):
        window = getattr(torch.signal.windows, name)
        options = NEWER[name] | {"dtype": torch.float64}
        given = window(5, **options, requires_grad=True)
        return [window(n, **options, sym=sym) for n in LENGTHS for sym in (True, False)] + [given]

    agree(program, rtol=1e-12, atol=1e-13)


def test_what_is_given():
    def program(torch):
        windows = torch.signal.windows
        return [
            torch.hamming_window(5, True, 0.5), torch.hamming_window(5, True, 0.5, 0.3),
            torch.kaiser_window(5, True, 4.0),
            torch.hamming_window(5, periodic=False, alpha=0.5, beta=0.2), torch.kaiser_window(6, False, beta=4),
            torch.hann_window(window_length=3, requires_grad=True), torch.hann_window(4, dtype=torch.bfloat16).dtype,
            windows.exponential(5, center=2, sym=False), windows.exponential(5), windows.gaussian(4), windows.kaiser(3),
            windows.kaiser(5, requires_grad=True),
        ]  # fmt: skip

    agree(program, rtol=1e-5, atol=1e-6)


MISTAKES = """
torch.hann_window(-1)
torch.hann_window(5, dtype=torch.int64)
torch.hann_window(5, dtype=torch.complex64)
torch.hann_window(2.5)
torch.hann_window(True)
torch.hann_window()
torch.hann_window(5, True, 3)
torch.hann_window(5, 1)
torch.hann_window(5, out=torch.ones(5))
torch.hamming_window(5, alpha=0.5)
torch.kaiser_window(6, beta=4)
torch.signal.windows.hann(5, dtype=torch.int32)
torch.signal.windows.cosine(5, dtype=torch.float16)
torch.signal.windows.blackman(-1)
torch.signal.windows.bartlett(5, layout=torch.sparse_coo)
torch.signal.windows.general_cosine(5, a=3)
torch.signal.windows.general_cosine(5, a=[])
torch.signal.windows.kaiser(5, beta=-1)
torch.signal.windows.gaussian(5, std=0)
torch.signal.windows.exponential(5, tau=0)
torch.signal.windows.exponential(5, center=2)
torch.signal.windows.nuttall('a')
"""


@pytest.mark.parametrize("text", MISTAKES.strip().splitlines())
def test_errors(text):
    same_error(expression(text))

"""Repetition, reversal, rotation, padding and shuffles, against PyTorch."""

import pytest
from case_tables import cases, lines
from expressions import expression
from harness import same, same_error

from tests.parity.functions.test_shape import CUBE, A, E, S, Z

pytestmark = pytest.mark.parity

RESULTS = cases(
    (lines("""
x.repeat(2, 1)
x.repeat((1, 2))
x.repeat(2, 1, 1)
x.repeat(0, 1)
x.repeat(repeats=(1, 1))
x.tile(2)
x.tile((2, 1))
x.tile(2, 1, 1)
x.tile(())
torch.tile(x, dims=(2,))
x.repeat_interleave(2)
x.repeat_interleave(2, 0)
x.repeat_interleave(3, dim=-1)
x.repeat_interleave(L([1, 2]), 0)
x.repeat_interleave(L([1, 0, 2]), 1)
x.repeat_interleave(L(2), 0)
x.repeat_interleave(L([2]))
x.repeat_interleave(L([1, 2]), 0, output_size=3)
torch.repeat_interleave(L([1, 0, 2]))
torch.repeat_interleave(x, repeats=2, dim=1)
x.flip(0)
x.flip(0, 1)
x.flip((0, -1))
x.flip(())
torch.flip(x, dims=(1,))
x.fliplr()
torch.flipud(x)
x.roll(1)
x.roll(-7)
x.roll(1, 0)
x.roll((1, 2), (0, 1))
x.roll((1, 1), (0, 0))
torch.roll(x, shifts=4, dims=1)
x.rot90()
torch.rot90(x, 2)
torch.rot90(x, -1, (1, 0))
torch.rot90(x, k=4, dims=[0, 1])
F.pad(x, (1, 1))
F.pad(x, (1, 2, 0, 1))
F.pad(x, (0, 0))
F.pad(x, ())
F.pad(x, (-1, 2))
F.pad(x, (-3, 0))
F.pad(x, (1, 1), value=2.5)
F.pad(x, [1, 0], "constant", None)
F.pad(x, (2, 1), mode="reflect")
F.pad(x, (1, -1), mode="reflect")
F.pad(x[None], (2, 1), mode="reflect")
F.pad(x[None], (1, 2, 1, 0), mode="reflect")
F.pad(x, (4, 1), mode="replicate")
F.pad(x[None], (1, 2, -1, 3), mode="replicate")
F.pad(x[None, None], (0, 1, 1, 0, 2, 0), mode="replicate")
"""), {"matrix": A}),
    (lines("""
x.rot90(1, (2, 0))
x.fliplr()
F.pixel_unshuffle(x[:, :2, :], 2)
F.pixel_shuffle(x.reshape(1, 8, 1, 3), 2)
F.channel_shuffle(x.reshape(1, 6, 2, 2), 3)
torch.channel_shuffle(x.reshape(1, 6, 2, 2), 2)
F.pad(x, (1, 1, 2, 0), mode="reflect")
F.pad(x, (1, 1, 2, 0, 1, 1), value=1)
"""), {"cube": CUBE}),
    (lines("""
x.repeat(2)
x.repeat(2, 1)
x.tile(2)
x.repeat_interleave(2)
x.flip(0)
x.flip(())
x.roll(1)
F.pad(x, ())
"""), {"point": S}),
    (lines("""
x.repeat(2, 2)
x.flip(0)
x.roll(1, 0)
F.pad(x, (1, 1, 1, 0))
x.repeat_interleave(2, 1)
"""), {"empty": E}),
    (lines("""
F.pad(x, (1, 0), value=2)
x.repeat(2, 1)
"""), {"complex": Z}),
)  # fmt: skip


@pytest.mark.parametrize(("text", "x"), RESULTS)
@pytest.mark.filterwarnings("ignore")
def test_results(text, x):
    same(expression(text), x)


@pytest.mark.parametrize("text", [
    "F.pad(x, (1, 2), mode='circular')", "F.pad(x[None, None], (1, 2, 2, 0), mode='circular')",
    "F.pad(x[None], (2, -1), mode='circular')",
])  # fmt: skip
def test_circular_padding(text):
    same(expression(text), A, names=False)


def test_padding_of_complex_numbers():
    same(expression("F.pad(x, (1, 1), mode='replicate')"), Z, second=False)


@pytest.mark.parametrize("text", """
x.repeat(2)
x.repeat()
x.repeat(2, -1)
x.repeat_interleave(-1)
x.repeat_interleave(L([1, 2]))
x.repeat_interleave(L([1.0, 2, 3]), 1)
x.repeat_interleave(L([[1]]), 1)
x.repeat_interleave(L([-1, 2]), 0)
x.repeat_interleave(L([1, 2]), 0, output_size=4)
x.flip(2)
x.flip(0, 0)
x.flip()
x[0].fliplr()
L(1.0).flipud()
x.roll((1, 2))
x.roll((1, 2), 0)
x.roll(1, 2)
L(1.0).roll(1, 0)
x.rot90(1, (0, 0))
x.rot90(1, (0,))
x[0].rot90()
x.rot90(1, (0, 2))
F.pixel_shuffle(x, 2)
F.pixel_shuffle(torch.zeros(3, 2, 2), 2)
F.pixel_shuffle(torch.zeros(4, 2, 2), -2)
F.pixel_unshuffle(torch.zeros(1, 3, 2), 2)
F.pixel_unshuffle(torch.zeros(1, 3, 2), 0)
F.channel_shuffle(torch.zeros(1, 3, 2), 2)
F.channel_shuffle(torch.zeros(3, 2), 2)
F.pad(x, (1, 0), value=1j)
F.pad(x, (1,))
F.pad(x, (1, 1, 1, 1, 1, 1))
F.pad(x, (-4, 0))
F.pad(x, (3, 3), "reflect")
F.pad(x[None], (1, 1, 3, 0), "reflect")
F.pad(x, (1, 1, 1, 1), "reflect")
F.pad(x, (1, 1), "foo")
F.pad(x, (1, 1), "reflect", value=1)
F.pad(x[0], (1, 1), "reflect")
F.pad(x[None], (4, 0), "circular")
F.pad(torch.zeros(1, 0, 3), (1, 1), "reflect")
F.pad(torch.zeros(1, 2, 0), (1, 1), "replicate")
""".strip().splitlines())  # fmt: skip
def test_errors(text):
    same_error(expression(text), A)

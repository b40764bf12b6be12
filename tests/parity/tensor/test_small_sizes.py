"""Sizes that are integers of other libraries, none, or too many; and warnings that PyTorch gives of arguments."""

import warnings

import pytest
from transcripts import same_transcript

import tapegrad

pytestmark = pytest.mark.parity

INTEGERS = ("np.int64(2)", "np.uint8(2)", "np.array(2)", "torch.tensor(2)")
SIZED = """
torch.zeros({}, 3)
torch.full(({}, 1), 1.0)
torch.ones(1, 2).expand(({}, 2))
torch.ones(2).repeat(({}, 1))
torch.ones(2).new_zeros({}, 1)
torch.arange(4).view({}, -1)
torch.ones(4).split([{}, 2])
torch.ones(4).resize_({})
torch.ones(4).as_strided((2,), ({},))
torch.tensor_split(torch.arange(4), ({}, 3))
torch.nn.functional.max_pool2d(torch.ones(1, 1, 4, 4), ({}, 2)).shape
torch.nn.functional.adaptive_avg_pool2d(torch.ones(1, 1, 4, 4), ({}, 2)).shape
torch.nn.functional.conv2d(torch.ones(1, 1, 4, 4), torch.ones(1, 1, 2, 2), stride=({}, 1)).shape
torch.Size([{}, 3])
""".strip().splitlines()

LENGTHS = (
    "[1.5]", "[1, 2.0]", "['a']", "[True]", "[torch.tensor([3])]", "[torch.tensor(3.0)]", "3", "", "[None]", "range(3)",
    "[np.float64(2)]", "[-1]", "[1], [2]", "'ab'", "[2**64]", "torch.tensor([1, 2])", "np.array([1, 2])", "[[1]]",
)  # fmt: skip

F = "torch.nn.functional."
NOTHING = f"""
x = torch.ones(1, 2, 4, requires_grad=True); {F}adaptive_avg_pool1d(x, 0).sum().backward()
x = torch.ones(1, 2, 4, 4, requires_grad=True); {F}adaptive_avg_pool2d(x, (0, 2)).sum().backward()
x = torch.ones(1, 2, 4, 4, 4, requires_grad=True); {F}adaptive_avg_pool3d(x, 0).sum().backward()
x = torch.ones(0, 2, 4, 4, requires_grad=True); {F}adaptive_avg_pool2d(x, 2).sum().backward(); x.grad.shape
x = torch.ones(1, 2, 4, requires_grad=True); {F}adaptive_max_pool1d(x, 0).sum().backward()
x = torch.ones(1, 2, 4, 4, requires_grad=True); {F}adaptive_max_pool2d(x, 0).sum().backward()
{F}adaptive_max_pool2d(torch.ones(1, 2, 4, 4), 0)
torch.ones(2, 0).index_select(1, torch.tensor([0]))
torch.ones(0, 2).index_select(0, torch.tensor(0))
torch.ones(0).index_select(0, torch.tensor([0]))
torch.ones(0, 2).index_select(0, torch.tensor([], dtype=torch.int64)).shape
torch.ones(0, 2).index_select(1, torch.tensor([1])).shape
torch.ones(0, 2).index_select(1, torch.tensor([5]))
torch.tensor_split(torch.arange(6), torch.tensor([[1, 2], [3, 4]]))
torch.tensor_split(torch.arange(6), torch.tensor([[2]]))
torch.nonzero(torch.tensor([0, 1]), as_tuple=True, out=torch.empty(0, dtype=torch.int64))
torch.nonzero(torch.tensor([0, 1]), as_tuple=False, out=torch.empty(0, dtype=torch.int64))
torch.ones([1] * 65).sum(0)
torch.ones([1] * 65).mean((0, 1))
torch.ones([1] * 65).flip(0)
""".strip().splitlines()

BYTES = "m = torch.tensor([1, 0, 1], dtype=torch.uint8); x = torch.arange(3); "
WARNED = f"""
{F}conv1d(torch.ones(1, 1, 5), torch.ones(1, 1, 2), padding='same').shape
{F}conv1d(torch.ones(1, 1, 5), torch.ones(1, 1, 2), padding='same', dilation=2).shape
{F}conv3d(torch.ones(1, 1, 5, 5, 5), torch.ones(1, 1, 3, 2, 3), padding='same').shape
torch.nn.Conv1d(1, 1, 4, padding='same')(torch.ones(1, 1, 6)).shape
torch.ones(3).index_reduce(0, torch.tensor([0]), torch.ones(1), 'prod')
torch.ones(3).index_reduce_(0, torch.tensor([0]), torch.ones(1), 'amax')
torch.ones(3).scatter(0, torch.tensor([0]), torch.ones(1), reduce='add')
torch.ones(3).scatter_(0, torch.tensor([0]), torch.ones(1), reduce='multiply')
torch.ones(3).scatter_(0, torch.tensor([0]), 2.0, reduce='add')
{BYTES}x[m]
{BYTES}torch.where(m, 1, 2)
{BYTES}x.masked_scatter(m, x)
{BYTES}x.index_put_((m,), torch.tensor(1), accumulate=True)
{BYTES}x.index_put((m,), torch.tensor(1))
{BYTES}x.masked_select(m)
""".strip().splitlines()


@pytest.mark.once("arguments are read before anything runs")
@pytest.mark.parametrize("integer", INTEGERS)
def test_integers_of_others(integer):
    for line in SIZED:
        same_transcript(line.format(integer))


@pytest.mark.once("arguments are read before anything runs")
@pytest.mark.parametrize("lengths", LENGTHS)
def test_sizes(lengths):
    same_transcript(f"torch.Size({lengths})")


@pytest.mark.parametrize("line", [*NOTHING, *WARNED])
def test_line(line):
    same_transcript(line)


@pytest.mark.once("a warning is given before anything runs")
def test_bytes_are_warned_of_at_each_call():


    mask, x = tapegrad.tensor([1, 0], dtype=tapegrad.uint8), tapegrad.arange(2)
    for read in (lambda: x[mask], lambda: x.index_put_((mask,), tapegrad.tensor(1), accumulate=True)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(3):
                read()
        assert len(caught) == 3

"""Data shared with other libraries through DLPack, against PyTorch and with it. See Note [Shared with others]."""

import importlib

import jax.numpy as jnp
import numpy as np
import pytest
import torch as pytorch
from harness import agree, attempt
from transcripts import same_transcript

import tapegrad
import tapegrad.utils.dlpack

pytestmark = pytest.mark.parity

LINES = """
x = torch.ones(2, requires_grad=True); x.__dlpack__()
x = torch.ones(2, requires_grad=True); np.from_dlpack(x)
x = torch.ones(2, requires_grad=True); torch.from_dlpack(x)
x = torch.ones(2, requires_grad=True); type(torch.utils.dlpack.to_dlpack(x)).__name__
x = torch.ones(2, requires_grad=True); torch.from_dlpack(x.detach())
z = torch.tensor([1 + 2j]); z.conj().__dlpack__()
z = torch.tensor([1 + 2j]); np.from_dlpack(z.conj())
z = torch.tensor([1 + 2j]); np.from_dlpack(z), np.from_dlpack(z.conj().resolve_conj())
z = torch.tensor([1 + 2j]); torch.from_dlpack(z.imag)
np.from_dlpack(torch.tensor([True, False]))
np.from_dlpack(torch.ones(2, dtype=torch.bfloat16))
torch.from_dlpack(torch.ones(2, dtype=torch.bfloat16))
x = torch.arange(6.0).reshape(2, 3); np.from_dlpack(x.t()), np.from_dlpack(x[:, ::2]), np.from_dlpack(x[0, 1])
np.from_dlpack(torch.ones(0, 3)).shape, torch.from_dlpack(np.zeros((0, 3))).shape
x = torch.arange(6.0).reshape(2, 3); y = torch.from_dlpack(x.t()); y, y.stride()
x = torch.arange(6.0).reshape(2, 3); y = torch.from_dlpack(x.t()); y.data_ptr() == x.data_ptr()
x = torch.zeros(3); y = torch.from_dlpack(x); y.add_(1); x, x._version, y._base
x = torch.zeros(3); y = torch.from_dlpack(x, copy=True); y.add_(1); x
x = torch.zeros(3); torch.from_dlpack(x, copy=False, device="cpu").data_ptr() == x.data_ptr()
torch.from_dlpack(np.array([True, False])), torch.from_dlpack(np.array([1j]))
torch.from_dlpack(np.arange(3, dtype=np.uint16)), torch.from_dlpack(np.arange(3, dtype=np.float16))
torch.from_dlpack(np.array(3.0))
y = torch.from_dlpack(np.arange(6.0).reshape(2, 3).T); y, y.stride()
torch.from_dlpack(np.arange(6.0)[::2])
x = np.arange(3.0); x.flags.writeable = False; torch.from_dlpack(x)
torch.from_dlpack(np.array(["a"]))
torch.from_dlpack(np.array([1, 2], dtype=">i4"))
torch.from_dlpack(3)
torch.from_dlpack([1, 2])
x = torch.ones(2); torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x))
c = torch.utils.dlpack.to_dlpack(torch.ones(2)); torch.from_dlpack(c); torch.from_dlpack(c)
torch.from_dlpack(torch.utils.dlpack.to_dlpack(torch.ones(2)), copy=True)
torch.utils.dlpack.to_dlpack(3)
torch.ones(2).__dlpack__(stream=1)
torch.ones(2).__dlpack__(stream="a")
type(torch.ones(2).__dlpack__(max_version=(1, 0), dl_device=(1, 0), copy=True)).__name__
[int(part) for part in torch.ones(2).__dlpack_device__()]
"""


@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_line(line):
    same_transcript(line)


# -- between the libraries ---------------------------------------------------------------------------------------------


def aligned(length):
    """Zeros that start where XLA can use them."""
    memory = np.zeros(length + 16)
    start = -memory.ctypes.data % 64 // 8
    return memory[start : start + length]


def address(tensor):
    return tensor.jax().unsafe_buffer_pointer()


def test_memory_is_shared_with_pytorch_both_ways():
    theirs = pytorch.arange(64.0)
    ours = tapegrad.from_dlpack(theirs)
    assert ours.data_ptr() == theirs.data_ptr()
    assert pytorch.from_dlpack(ours).data_ptr() == theirs.data_ptr()


def test_memory_is_shared_with_numpy_both_ways():
    theirs = np.zeros(64)
    ours = tapegrad.from_dlpack(theirs)
    assert ours.data_ptr() == theirs.ctypes.data
    back = np.from_dlpack(ours)
    assert back.ctypes.data == theirs.ctypes.data and back.flags.writeable


def test_an_array_of_jax_is_shared_and_never_written_to():
    theirs = jnp.arange(64.0)
    ours = tapegrad.from_dlpack(theirs)
    assert address(ours) == theirs.unsafe_buffer_pointer() == ours.jax().unsafe_buffer_pointer()
    np.from_dlpack(ours)[:] = 5
    ours.add_(1)
    assert theirs[3] == 3 and ours[3] == 6


def test_what_is_read_only_is_shared_where_jax_can():
    theirs = aligned(64)
    theirs.flags.writeable = False
    ours = tapegrad.from_dlpack(theirs)
    ours.add_(1)
    assert (ours[0], theirs[0]) == (1, 0)


@pytest.mark.parametrize("name", ["bfloat16", "bool", "complex64", "float64", "int64", "uint8", "float16"])
def test_types_travel_to_pytorch_and_back(name):
    theirs = pytorch.tensor([[1, 0, 1]]).to(getattr(pytorch, name))
    ours = tapegrad.from_dlpack(theirs)
    assert ours.dtype is getattr(tapegrad, name) and ours.shape == (1, 3)
    back = pytorch.from_dlpack(ours)
    assert back.dtype is theirs.dtype and pytorch.equal(back, theirs)


def test_layouts_travel_from_pytorch():
    theirs = pytorch.arange(6.0).reshape(2, 3)
    for view in (theirs.t(), theirs[:, 1:], theirs[:, ::2], theirs[0, 0], theirs.expand(2, 2, 3)):
        ours = tapegrad.from_dlpack(view)
        assert ours.tolist() == view.tolist()
    assert tapegrad.from_dlpack(theirs.t()).stride() == (1, 3)


def test_a_write_to_what_numpy_has_no_type_for_is_not_seen_on_the_other_side():
    ours = tapegrad.zeros(3, dtype=tapegrad.bfloat16)
    theirs = pytorch.from_dlpack(ours)
    ours.add_(1)
    assert (ours.tolist(), theirs.tolist()) == ([1, 1, 1], [0, 0, 0])


def test_a_capsule_is_an_array():
    def program(torch):
        to = importlib.import_module(f"{torch.__name__}.utils.dlpack").to_dlpack
        x = torch.arange(4.0)
        shared, copied = torch.asarray(to(x)), torch.asarray(to(x), copy=True)
        shared[0] = 7
        read = to(x)
        seen = [shared, copied, x, torch.asarray(read, dtype=torch.int64), torch.asarray(to(x), requires_grad=True)]
        refused = [lambda: torch.asarray(read), lambda: torch.asarray(to(x), dtype=torch.int64, copy=False)]
        return seen, list(map(attempt, refused))

    agree(program)


def test_what_can_not_be_shared():
    gaps = np.arange(6.0)[::2]
    gaps.flags.writeable = False
    with pytest.raises(ValueError, match="can't be shared without copying it.*Set copy=None or copy=True"):
        tapegrad.from_dlpack(gaps, copy=False)
    with pytest.raises(ValueError, match="strides"):
        tapegrad.from_dlpack(np.arange(3.0)[::-1])
    with pytest.raises(BufferError, match="give a contiguous copy of it"):  # NumPy has no such type
        tapegrad.from_dlpack(pytorch.ones(2, 6, dtype=pytorch.bfloat16)[:, ::2])
    with pytest.raises(BufferError, match="Can't export tensors that require gradient"):
        tapegrad.from_dlpack(pytorch.ones(2, requires_grad=True))

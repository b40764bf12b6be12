"""Sequences of several lengths, packed: beside PyTorch's."""

import copy
import pickle

import pytest
from harness import agree, attempt

import tapegrad

pytestmark = pytest.mark.once("what is packed depends on no order")

PACKS = [
    lambda torch, rnn: rnn.pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5])]),
    lambda torch, rnn: rnn.pack_sequence([torch.tensor([1]), torch.tensor([4, 5])], enforce_sorted=False),
    lambda torch, rnn: rnn.pad_sequence([torch.ones(2, 3), torch.ones(3, 3)], padding_value=2.5),
    lambda torch, rnn: rnn.pad_sequence([torch.ones(2), torch.ones(3)], True, 2, "left"),
    lambda torch, rnn: rnn.pad_sequence([torch.tensor([1, 2]), torch.tensor([3])], padding_value=0.5),
    lambda torch, rnn: rnn.pad_sequence([torch.ones(0, 2), torch.ones(3, 2)]),
    lambda torch, rnn: rnn.unpad_sequence(torch.arange(6).reshape(3, 2), torch.tensor([1, 3])),
    lambda torch, rnn: rnn.unpack_sequence(rnn.pack_sequence([torch.ones(3, 2), torch.zeros(1, 2)])),
    lambda torch, rnn: rnn.invert_permutation(torch.tensor([2, 0, 1])),
    lambda torch, rnn: rnn.invert_permutation(None),
    lambda torch, rnn: rnn.pad_packed_sequence(rnn.pack_sequence([torch.ones(3), torch.ones(3)]), total_length=4),
]


@pytest.mark.parametrize("program", PACKS)
def test_packing(program):
    agree(lambda torch: [repr(program(torch, torch.nn.utils.rnn))])


def test_a_packed_sequence_is_converted():
    def program(torch):
        packed = torch.nn.utils.rnn.pack_sequence([torch.ones(2), torch.ones(1)])
        again = pickle.loads(pickle.dumps(copy.deepcopy(packed)))
        dtypes = [getattr(packed, name)().data.dtype for name in ("double", "half", "long", "int", "short", "byte")]
        same = [packed.to("cpu") is packed, packed.cpu() is packed, packed.float() is packed, packed.char() is packed]
        return [str(one) for one in dtypes], same, repr(again), packed.is_cuda, packed.is_pinned(), len(packed)

    agree(program)


REFUSED = [
    lambda torch, nn: nn.utils.rnn.pad_sequence([]), lambda torch, nn: nn.utils.rnn.pad_sequence(3),
    lambda torch, nn: nn.utils.rnn.pad_sequence([torch.ones(2)], padding_side="up"),
    lambda torch, nn: nn.utils.rnn.pad_sequence([torch.ones(2, 3), torch.ones(2, 2)]),
    lambda torch, nn: nn.utils.rnn.pad_sequence([torch.ones(())]),
    lambda torch, nn: nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2), [2, 3]),
    lambda torch, nn: nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2), [3, 0]),
    lambda torch, nn: nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2), [3]),
    lambda torch, nn: nn.utils.rnn.pack_padded_sequence(torch.ones(0, 2), [1, 1]),
    lambda torch, nn: nn.utils.rnn.pad_packed_sequence(nn.utils.rnn.pack_sequence([torch.ones(3)]), total_length=2),
    lambda torch, nn: nn.utils.rnn.PackedSequence(torch.ones(3)),
    lambda torch, nn: torch._pack_padded_sequence(torch.ones(3, 2), torch.tensor([3.0, 2.0]), False),
]


@pytest.mark.parametrize("make", REFUSED)
def test_refusals(make):
    agree(lambda torch: [attempt(lambda: make(torch, torch.nn))])


def test_lengths_beyond_the_steps_are_refused():
    with pytest.raises(RuntimeError, match="Expected lengths of at most 3"):
        tapegrad.nn.utils.rnn.pack_padded_sequence(tapegrad.ones(3, 2), [4, 2])

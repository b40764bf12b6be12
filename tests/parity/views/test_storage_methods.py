"""Storages as programs handle them: how they are made, converted, copied, and found in files, against PyTorch."""

import numpy as np
import pytest
from transcripts import MODULES, plain, transcript

pytestmark = [
    pytest.mark.parity, pytest.mark.once("memory is read and written at once"), pytest.mark.filterwarnings("ignore"),
]  # fmt: skip

LINES = """
s = torch.ones(2).untyped_storage(); s.type()
s = torch.ones(2).untyped_storage(); s.float()
s = torch.ones(2).untyped_storage(); s.long()
s = torch.tensor([1, 2], dtype=torch.uint8).untyped_storage(); s.double(), s.half(), s.int(), s.short(), s.char()
s = torch.tensor([1, 2], dtype=torch.uint8).untyped_storage(); s.byte(), s.bool(), s.bfloat16(), s.complex_float()
s = torch.tensor([1, 2], dtype=torch.uint8).untyped_storage(); s.complex_double()
s = torch.ones(2).storage(); s.double(), s.long(), s.bool(), s.half(), s.float(), s.int(), s.short(), s.char()
s = torch.ones(2).storage(); s.byte(), s.bfloat16(), s.complex_float(), s.complex_double()
s = torch.ones(2).storage(); s.float().data_ptr() == s.data_ptr()
s = torch.ones(2).storage(); s.type()
s = torch.ones(2).untyped_storage(); s.is_sparse, s.is_sparse_csr, s.is_hpu, s.is_cuda, s.get_device(), s.resizable()
s = torch.ones(2).untyped_storage(); s.is_shared(), s.is_pinned()
s = torch.ones(2).storage(); s.is_sparse, s.is_hpu, s.is_cuda, s.get_device(), s.resizable(), s.is_shared()
s = torch.ones(2).storage(); s.is_pinned()
s = torch.ones(2).untyped_storage(); s.filename
s = torch.ones(2).storage(); s.filename
s = torch.ones(2).untyped_storage(); copy.copy(s) is s, copy.copy(s).tolist() == s.tolist()
s = torch.ones(2).untyped_storage(); t = copy.deepcopy([s, s]); t[0] is t[1], t[0] is s
s = torch.ones(2).storage(); t = copy.deepcopy([s, s]); t[0].data_ptr() == t[1].data_ptr()
s = torch.ones(2).storage(); t = copy.deepcopy([s, s]); t[0].data_ptr() == s.data_ptr(), t[0]
s = torch.ones(2).storage(); copy.copy(s).data_ptr() == s.data_ptr()
s = torch.ones(2).untyped_storage(); s.new()
s = torch.ones(2).untyped_storage(); s.byteswap(torch.float32); s
s = torch.ones(2).untyped_storage(); s.share_memory_() is s, s.is_shared()
s = torch.ones(2).storage(); s.share_memory_() is s, s.is_shared()
s = torch.ones(2).storage(); s.cpu() is s, s.cpu()
s = torch.ones(2).untyped_storage(); s.cpu() is s
torch.TypedStorage(3, dtype=torch.float64).size()
torch.TypedStorage([1, 2, 3], dtype=torch.float64)
torch.TypedStorage([1, 2, 3])
torch.TypedStorage(device="cpu"), torch.TypedStorage(device="cpu").dtype
torch.TypedStorage([1], device="cpu")
torch.TypedStorage()
torch.TypedStorage(dtype=torch.int64)
torch.TypedStorage(1, 2)
torch.TypedStorage("ab")
torch.TypedStorage(3.5)
torch.TypedStorage(wrap_storage=torch.ones(2).untyped_storage())
torch.TypedStorage(wrap_storage=torch.ones(2).untyped_storage(), dtype=torch.float32)
torch.TypedStorage(wrap_storage=3, dtype=torch.float32)
torch.TypedStorage(wrap_storage=torch.ones(2).untyped_storage(), dtype=3)
torch.TypedStorage(3, wrap_storage=torch.ones(2).untyped_storage(), dtype=torch.float32)
torch.TypedStorage(wrap_storage=torch.ones(2).untyped_storage(), dtype=torch.float32, device="cpu")
torch.TypedStorage(device="meta").device
torch.TypedStorage(2, dtype=torch.float32, device="meta")
torch.UntypedStorage(4, device="cpu").nbytes()
torch.UntypedStorage(device="cpu").nbytes()
torch.UntypedStorage([1, 2, 3])
torch.UntypedStorage([1, 2, 3], device="meta")
torch.UntypedStorage(2, device="meta")
torch.UntypedStorage("ab")
torch.Storage
torch.Storage([1, 2])
torch.Storage(2).size()
isinstance(torch.ones(1).storage(), torch.Storage)
torch.Storage is torch.FloatStorage
torch.Storage(dtype=torch.float64)
torch.from_file(3, size=2)
torch.ByteStorage.from_buffer(b'abcd')
torch.FloatStorage.from_buffer(b'abcdefgh', 'native')
torch.FloatStorage.from_buffer(b'abcdefgh', byte_order='big')
torch.FloatStorage.from_buffer(b'abcdefgh', byte_order='little', count=1, offset=4)
torch.ByteStorage.from_buffer(b'abcd', offset=2)
s = torch.ones(2).storage(); s.pickle_storage_type(), s._size(), s._nbytes(), s._element_size()
s = torch.ones(2).storage(); s._data_ptr() == s.data_ptr(), s._cdata == s.untyped()._cdata
s = torch.ones(2).storage(); s._resize_(3); s.size()
s = torch.ones(2).storage(); s._setitem(0, 5.0); s._getitem(0)
"""

IN_FILES = """
torch.UntypedStorage.from_file(six, nbytes=8)
torch.UntypedStorage.from_file(six, False, 8)
torch.UntypedStorage.from_file(six, False)
s = torch.UntypedStorage.from_file(six, True, 8); s[0] = 7; s.filename, torch.UntypedStorage.from_file(six, False, 1)
s = torch.UntypedStorage.from_file(six, False, 8); s[0] = 7; s.filename, torch.UntypedStorage.from_file(six, False, 1)
torch.UntypedStorage.from_file(none, False, 8)
torch.UntypedStorage.from_file(none, True, 8)
torch.UntypedStorage.from_file(six, False, 48)
torch.UntypedStorage.from_file(six, True, 32).nbytes()
torch.FloatStorage.from_file(six, False, 3)
torch.FloatStorage.from_file(six, True, 3)
torch.Storage.from_file(six, False, 3)
torch.TypedStorage.from_file(six, False, 3)
torch.from_file(six, size=4)
torch.from_file(six, False, 4, dtype=torch.float64)
torch.from_file(six, shared=False, size=4, dtype=torch.int32)
x = torch.from_file(six, shared=True, size=4); x.add_(1); torch.from_file(six, size=6)
x = torch.from_file(six, shared=False, size=4); x.add_(1); torch.from_file(six, size=6)
x = torch.from_file(six, shared=False, size=4, requires_grad=True); x
torch.from_file(six)
torch.from_file(none, size=2)
torch.from_file(none, shared=True, size=2)
torch.from_file(six, size=10)
x = torch.from_file(six, shared=True, size=4); x.untyped_storage().filename
"""


def same(line, **names):
    theirs, ours = (transcript(module, line, **names)[0] for module in MODULES)
    assert ours == theirs, f"{ours}\nexpected\n{theirs}"


@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_lines(line):
    same(line)


@pytest.mark.parametrize("line", IN_FILES.strip().splitlines())
def test_files(line, tmp_path):
    """Six floats are in a file, and none in another, which does not exist."""
    told = []
    for module in MODULES:
        six, none = tmp_path / "six.bin", tmp_path / "none.bin"
        np.arange(6, dtype=np.float32).tofile(six)
        none.unlink(missing_ok=True)
        told.append(plain(transcript(module, line, six=str(six), none=str(none))[0]))
    assert told[1] == told[0]


def test_a_file_is_written_to_as_long_as_a_tensor_shows_it(tmp_path):
    """Also by operators that know nothing of it, and when nobody else holds the memory."""
    path = tmp_path / "six.bin"
    for module in MODULES:
        np.arange(6, dtype=np.float32).tofile(path)
        x = module.from_file(str(path), shared=True, size=4)
        view = x[1:3]
        view.mul_(10)
        x.sum().item()
        x[3] = 7
        module.add(x, 1, out=x)
        assert np.fromfile(path, np.float32).tolist() == [1, 11, 21, 8, 4, 5]


def test_all_methods_are_there():
    names = "UntypedStorage", "TypedStorage"
    theirs, ours = ({name: set(dir(getattr(module, name))) for name in names} for module in MODULES)
    missing = {name for cls in theirs for name in theirs[cls] - ours[cls] if not name.startswith("_")}
    assert missing == {
        "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "from_buffer", "hpu", "mps", "pin_memory",
    }  # fmt: skip

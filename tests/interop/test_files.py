"""Files that are damaged, or were made to do harm; whole files or none; files of safetensors."""

import io
import os
import pickle
import random
import stat
import struct
import sys
import threading
import tracemalloc
import warnings
import zipfile

import numpy as np
import pytest

import tapegrad as torch
from tests.rings import reaches

pytestmark = pytest.mark.once("files are the same however tensors were computed")


def written(thing, **options):
    file = io.BytesIO()
    torch.save(thing, file, **options)
    return file.getvalue()


def load(data, **options):
    return torch.load(io.BytesIO(data), **options)


# -- pickles that were made by hand ------------------------------------------------------------------------------------


def archive(pickled, records=(), **entry):
    """A file with this pickle, and other records by their names; ``entry`` is said of each of them."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as new:
        for name, data in [("archive/data.pkl", pickled), *records]:
            made = zipfile.ZipInfo(name)
            for key, value in entry.items():
                setattr(made, key, value)
            new.writestr(made, data)
    return file.getvalue()


def program(*instructions):
    return b"\x80\x02" + b"".join(instructions) + b"."


def name(module, attribute):
    return b"c%s\n%s\n" % (module.encode(), attribute.encode())


def constant(thing):
    """The instructions that put something plain on the stack."""
    return pickle.dumps(thing, 2)[2:-1]


def storage(kind="FloatStorage", key="0", count=4):
    return (
        b"("
        + b"".join([constant("storage"), name("torch", kind), constant(key), constant("cpu"), constant(count)])
        + b"tQ"
    )


def tensor(memory, offset=0, size=(4,), stride=(1,), requires_grad=False, metadata=None):
    arguments = [memory, *map(constant, (offset, size, stride, requires_grad, None))]
    arguments += [] if metadata is None else [constant(metadata)]
    return name("torch._utils", "_rebuild_tensor_v2") + b"(" + b"".join(arguments) + b"tR"


FOUR = [("archive/data/0", struct.pack("<4f", 1, 2, 3, 4))]


def test_programs_by_hand_are_read():
    assert load(archive(program(tensor(storage())), FOUR)).tolist() == [1, 2, 3, 4]
    assert load(archive(program(tensor(storage(), 1, (2, 2), (0, 2))), FOUR)).tolist() == [[2, 4], [2, 4]]


def nested(depth, wide):
    """A tuple of tuples of one tuple..., as instructions that are as few as it is deep."""
    return b")" + b"".join([b"q\x00", *[b"h\x00" * (wide - 1), b"\x85\x86"[wide - 1 : wide]]] * depth)


CALLS = {
    "os.system": name("posix", "system") + constant(("touch harmed",)) + b"R",
    "os": name("os", "system") + constant(("touch harmed",)) + b"R",
    "eval": name("builtins", "eval") + constant(("open('harmed', 'w')",)) + b"R",
    "eval of Python 2": name("__builtin__", "eval") + constant(("open('harmed', 'w')",)) + b"R",
    "getattr": name("builtins", "getattr") + constant(([], "append")) + b"R",
    "through an allowed module": name("torch", "os.system") + constant(("touch harmed",)) + b"R",
    "through an allowed class": name("torch", "Tensor.__init__.__globals__") + b")R",
    "torch.load": name("torch", "load") + constant(("harmed",)) + b"R",
    "ours": name("tapegrad.serialization.saving", "save") + constant((1, "harmed")) + b"R",
    "a module": name("torch.hub", "load") + constant(("x", "y")) + b"R",
    "a text": constant("text") + b")R",
    "a dtype": name("torch", "float32") + b")R",
    "a class of storages": name("torch.storage", "UntypedStorage") + constant((1 << 50,)) + b"R",
    "a million million parts": nested(40, 2) + b")R",
    "a mapping of a million million parts": name("collections", "OrderedDict") + b")R" + constant("x") + nested(40, 2)
    + b"s)\x81",
    "new": constant(1) + b")\x81",
    "an instance of what": b"]" + constant({"a": 1}) + b"b",
    "a module in Python 2": b"(" + constant("module") + name("os", "system") + b"tQ",
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_nothing_is_called(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        load(archive(program(call), FOUR))
    assert os.listdir(tmp_path) == []


CLAIMS = {
    "a storage larger than its record": tensor(storage(count=5)),
    "a huge storage": tensor(storage(count=1 << 50)),
    "a storage of many more elements than there can be": tensor(storage(count=1 << 62)),
    "a negative storage": tensor(storage(count=-1)),
    "a storage that isn't there": tensor(storage(key="1")),
    "a storage in another place": tensor(storage(key="../../../etc/passwd")),
    "a storage of what": tensor(storage(kind="Size")),
    "a tensor larger than its storage": tensor(storage(), size=(5,)),
    "a tensor that begins too late": tensor(storage(), offset=1),
    "a huge tensor": tensor(storage(), size=(1 << 40, 1 << 40), stride=(0, 0)),
    "a tensor with a negative stride": tensor(storage(), stride=(-1,)),
    "a tensor with a negative size": tensor(storage(), size=(-4,)),
    "a tensor with a negative offset": tensor(storage(), offset=-1),
    "a tensor with too few strides": tensor(storage(), stride=()),
    "a tensor of many dimensions": tensor(storage(), size=(1,) * 100, stride=(1,) * 100),
    "a tensor with a size of floats": tensor(storage(), size=(4.0,)),
    "a tensor that requires what": tensor(storage(), requires_grad="yes"),
    "a tensor of ints that requires grad": tensor(storage("IntStorage"), requires_grad=True),
    "a real tensor of conjugates": tensor(storage(), metadata={"conj": True}),
    "a tensor with odd metadata": tensor(storage(), metadata={"other": True}),
    "a tensor without a storage": tensor(constant("storage")),
    "a tensor with too few arguments": name("torch._utils", "_rebuild_tensor_v2") + b")R",
    "a meta tensor of negative size": name("torch._utils", "_rebuild_meta_tensor_no_storage") + b"(" + name(
        "torch", "float32") + constant((-1,)) + constant((1,)) + b"\x89tR",
    "a parameter of what": name("torch._utils", "_rebuild_parameter") + constant((1, True, None)) + b"R",
    "many bytes": name("builtins", "bytearray") + constant((1 << 40,)) + b"R",
    "bytes by a codec": name("_codecs", "encode") + constant(("abc", "zip")) + b"R",
    "a text longer than the file": b"X\xff\xff\xff\xff" + b"abc",
    "a name without an end": b"cabc",
    "a name that is no text": b"c\xff\xfe\n\xff\n",
    "a set of lists": name("builtins", "set") + constant(([[1]],)) + b"R",
    "a list as a key": b"}]" + constant(1) + b"s",
    "a key without a value": b"}(" + constant(1) + b"u",
    "a deep key": b"}" + nested(1000, 1) + b"Ns",
    "a key of a million million parts": b"}" + nested(40, 2) + b"Ns",
    "a size of a million million parts": name("torch", "Size") + nested(40, 2) + b"\x85R",
    "a layout of a million million parts": name("torch.serialization", "_get_layout") + nested(40, 2) + b"\x85R",
    "metadata of a million million parts": tensor(storage())[:-2] + nested(40, 2) + b"tR",
    "a storage of a class of a million million parts": b"(" + constant("storage") + nested(40, 2) + constant("0")
    + constant("cpu") + constant(4) + b"tQ",
    "a huge tensor that is to be computed": name("torch._utils", "_rebuild_device_tensor_from_cpu_tensor") + b"(" +
    tensor(storage(), size=(1 << 40,), stride=(0,)) + name("torch", "float64") + constant("cpu") + b"\x89tR",
    "a state that is none": name("collections", "OrderedDict") + b")R" + constant(5) + b"b",
    "nothing on the stack": b"0" * 0 + b"R",
    "no mark": b"t",
    "what was never remembered": b"h\x07",
    "nothing": b"",
    "an attribute that is the tensor's own": name("torch._tensor", "_rebuild_from_type_v2") + b"(" + name(
        "torch._utils", "_rebuild_tensor_v2") + name("torch", "Tensor") + b"(" + storage() + b"".join(
        map(constant, (0, (4,), (1,), False, None))) + b"t" + constant({"_value": 1}) + b"tR",
}  # fmt: skip


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_what_a_file_only_claims_is_refused_before_memory_is_taken(claim):
    data = archive(program(claim), FOUR)
    tracemalloc.start()
    try:
        with pytest.raises(RuntimeError, match=r"damaged|PytorchStreamReader|class of storages"):
            load(data)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", ["Tensor", "Parameter"])
def test_a_huge_tensor_that_shows_one_element_takes_no_memory(kind):
    huge = tensor(storage(), size=(1 << 40,), stride=(0,))
    if kind == "Parameter":
        huge = name("torch._utils", "_rebuild_parameter") + huge + b"\x88N\x87R"
    loaded = load(archive(program(huge), FOUR))
    assert type(loaded).__name__ == kind and loaded.shape == (1 << 40,)
    assert loaded.untyped_storage().nbytes() == 16


def overlapping():
    """An archive, two of whose records are the same bytes."""
    data = archive(program(constant([1])), [("archive/data/0", b"x" * 4000), ("archive/data/1", b"")])
    where = data.rindex(b"archive/data/1") - 46
    first = data.index(b"archive/data/0") - 30
    entry = bytearray(data[where : where + 46])
    struct.pack_into("<III", entry, 16, 0, 4000, 4000)
    struct.pack_into("<I", entry, 42, first)
    return data[:where] + bytes(entry) + data[where + 46 :]


ARCHIVES = {
    "compressed": archive(program(constant([0] * 1000)), FOUR, compress_type=zipfile.ZIP_DEFLATED),
    "out of the folder": archive(program(b"N"), [("archive/../../escaped", b"")]),
    "absolute": archive(program(b"N"), [("archive//etc/escaped", b"")]),
    "a folder of Windows": archive(program(b"N"), [("archive/data\\..\\escaped", b"")]),
    "another folder": archive(program(b"N"), [("other/data/0", b"")]),
    "no pickle": archive(program(b"N")).replace(b"data.pkl", b"data.pkk"),
    "overlapping": overlapping(),
    "no archive": b"PK\x03\x04" + b"\0" * 100,
    "empty archive": b"PK\x03\x04" + archive(b"")[:0] + b"PK\x05\x06" + b"\0" * 18,
}


@pytest.mark.parametrize("data", ARCHIVES.values(), ids=ARCHIVES)
def test_archives_that_are_none(data):
    with pytest.raises(RuntimeError, match="^PytorchStreamReader failed"):
        load(data)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_records_of_one_name():
    with pytest.raises(RuntimeError, match="two records have one name"):
        load(archive(program(b"N"), [("archive/data/0", b"a"), ("archive/data/0", b"b")]))


def test_programs_of_torchscript_are_refused():
    data = archive(program(b"N"), [("archive/constants.pkl", b"")])
    with pytest.raises(RuntimeError, match="^Cannot use ``weights_only=True`` with TorchScript archives"):
        load(data)
    with pytest.raises(NotImplementedError, match="TorchScript"):
        load(data, weights_only=False)


LEGACY = {
    "nothing": b"",
    "text": b"hello, world",
    "another magic number": pickle.dumps(5, 2),
    "another version": pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(3, 2),
    "storages larger than the file": written(torch.ones(4), _use_new_zipfile_serialization=False)[:-8],
    "another number of elements": written(torch.ones(4), _use_new_zipfile_serialization=False).replace(
        struct.pack("<q4f", 4, 1, 1, 1, 1), struct.pack("<q4f", 5, 1, 1, 1, 1)),
}  # fmt: skip


@pytest.mark.parametrize("data", LEGACY.values(), ids=LEGACY)
def test_old_files_that_are_none(data):
    with pytest.raises((RuntimeError, EOFError, pickle.UnpicklingError), match=r".{20}"):
        load(data)


# -- damage by chance --------------------------------------------------------------------------------------------------


def ten_things():
    x = torch.arange(6.0)
    parameter = torch.nn.Parameter(torch.ones(2, 2))
    return [
        x,
        [x, x[1:4], x.reshape(2, 3).t()],
        {"weight": parameter, "step": 3, "betas": (0.9, 0.999)},
        [torch.ones(2, dtype=d) for d in (torch.bfloat16, torch.bool, torch.uint16, torch.int64)],
        torch.tensor([1 + 2j, 3j]).conj(),
        {"empty": torch.ones(0, 3), "meta": torch.ones(2, device="meta"), "size": torch.Size([2])},
        ["text", b"bytes", 2**70, {1, 2}, None, 1.5, {(1, 2): "key"}],
        torch.ones(1).expand(3),
        {"device": torch.device("cpu"), "dtype": torch.float64, "deep": [[[[x]]]]},
        torch.arange(300, dtype=torch.uint8),
    ]


def shown(thing):
    """All that can be seen of what was loaded."""
    if isinstance(thing, torch.Tensor):
        known = type(thing).__name__, str(thing.dtype), tuple(thing.shape), thing.stride(), thing.requires_grad
        return known if thing.is_meta else (*known, thing.untyped_storage().tolist())
    if isinstance(thing, dict):
        return [(key, shown(value)) for key, value in thing.items()]
    return [shown(item) for item in thing] if isinstance(thing, (list, tuple)) else repr(thing)


ERRORS = (RuntimeError, ValueError, EOFError, pickle.UnpicklingError)
WATCHED = {
    "import",
    "exec",
    "compile",
    "open",
    "os.system",
    "os.exec",
    "os.remove",
    "subprocess.Popen",
    "pickle.find_class",
}

_seen: list[str] | None = None


def _watch(event, arguments):
    if _seen is not None and event in WATCHED:
        _seen.append(event)


def outcome(data):
    """What is made of a file: what was loaded, or the error, which says something; and nothing was run for it."""
    global _seen
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # another number of a protocol
        _seen = []
        try:
            loaded = load(data)
        except ERRORS as error:
            assert len(str(error)) > 10
            return None
        finally:
            events, _seen = _seen, None
            assert events == []
    return loaded


@pytest.fixture(scope="module")
def files():
    """Ten files, what is in each, and the same in the old format."""
    sys.addaudithook(_watch)
    things = ten_things()
    made = [(written(thing), shown(thing), written(thing, _use_new_zipfile_serialization=False)) for thing in things]
    for new, expected, old in made:
        assert shown(load(new)) == shown(load(old)) == expected
    return made


def test_the_watch_sees_what_is_run(monkeypatch):
    sys.addaudithook(_watch)
    monkeypatch.setattr(torch.serialization.loading.legacy, "load", lambda *given: eval("1"))
    with pytest.raises(AssertionError):
        outcome(b"no archive")


@pytest.mark.parametrize("number", range(10))
def test_what_is_cut_short_is_refused(files, number, ring):
    new, _, old = files[number]
    for data in (new, old):
        ends = range(len(data)) if reaches(ring, "whole") else random.Random(number).sample(range(len(data)), 12)
        assert all(outcome(data[:end]) is None for end in ends)


@pytest.mark.parametrize("number", range(10))
def test_a_bit_that_flips_is_found_or_does_not_matter(files, number, ring):
    new, expected, old = files[number]
    draws = random.Random(number)
    for _ in range(1000 if reaches(ring, "whole") else 30):
        loaded = outcome(flipped(new, draws))
        assert loaded is None or shown(loaded) == expected
        outcome(flipped(old, draws))  # which has no checksums: something else, or an error, but nothing is run


def flipped(data, draws):
    place = draws.randrange(len(data))
    return data[:place] + bytes([data[place] ^ (1 << draws.randrange(8))]) + data[place + 1 :]


# -- whole files or none -----------------------------------------------------------------------------------------------


class Unwritable:
    """Fails while it is written, after it has looked at what there is at the path."""

    def __init__(self, path=None):
        self.path = path

    def __reduce__(self):
        if self.path is not None:
            assert torch.load(self.path).tolist() == [1, 1]
        raise ValueError("cannot be written")


@pytest.mark.parametrize("zipped", [True, False])
def test_what_fails_leaves_the_old_file(tmp_path, zipped):
    path = tmp_path / "model.pt"
    torch.save(torch.ones(2), path)
    with pytest.raises(ValueError, match="cannot be written"):
        torch.save([torch.zeros(2), Unwritable(path)], path, _use_new_zipfile_serialization=zipped)
    assert torch.load(path).tolist() == [1, 1] and os.listdir(tmp_path) == ["model.pt"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_crash_leaves_the_old_file(tmp_path, monkeypatch, step):
    path = tmp_path / "model.pt"
    torch.save(torch.ones(2), path)

    def crash(*given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, step, crash)
        with pytest.raises(KeyboardInterrupt):
            torch.save(torch.zeros(2), path)
    assert torch.load(path).tolist() == [1, 1] and os.listdir(tmp_path) == ["model.pt"]
    torch.save(torch.zeros(2), path)
    assert torch.load(path).tolist() == [0, 0] and os.listdir(tmp_path) == ["model.pt"]


def test_the_new_file_has_the_rights_of_the_old_one_and_links_stay(tmp_path):
    path, link = tmp_path / "model.pt", tmp_path / "link.pt"
    torch.save(torch.ones(1), path)
    os.chmod(path, 0o640)
    link.symlink_to(path)
    torch.save(torch.zeros(1), link)
    assert link.is_symlink() and torch.load(path).tolist() == [0]
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o640


def test_what_is_no_ordinary_file_is_written_to():
    torch.save(torch.ones(2), os.devnull)
    assert not os.path.isfile(os.devnull)


def test_storages_begin_at_multiples_of_64(tmp_path):
    things = {f"x{i}": torch.ones(i + 1, dtype=torch.int8) for i in range(9)}
    path = tmp_path / "a name that is not short.pt"
    torch.save(things, path)
    with zipfile.ZipFile(path) as archive, open(path, "rb") as file:
        for entry in archive.infolist():
            file.seek(entry.header_offset + 26)
            assert (entry.header_offset + 30 + sum(struct.unpack("<HH", file.read(4)))) % 64 == 0
        assert archive.testzip() is None


def test_writers_that_cannot_seek_and_readers_without_readinto():
    class Writes:
        def __init__(self):
            self.parts = []

        def write(self, data):
            self.parts.append(bytes(data))
            return len(data)

        def flush(self):
            self.parts.append(b"")

    class Reads:
        def __init__(self, data):
            file = io.BytesIO(data)
            self.read, self.readline, self.seek, self.tell = file.read, file.readline, file.seek, file.tell

    file = Writes()
    torch.save(torch.arange(3), file)
    assert torch.load(Reads(b"".join(file.parts))).tolist() == [0, 1, 2]


def test_a_file_within_another_one():
    file = io.BytesIO(b"before" + written(torch.arange(3)))
    file.seek(6)
    assert torch.load(file).tolist() == [0, 1, 2]


# -- tensors that were loaded ------------------------------------------------------------------------------------------


def test_loaded_tensors_are_like_any_others():
    w = load(written(torch.nn.Parameter(torch.ones(2, 3))))
    y = (w * 2).sum()
    y.backward()
    with torch.no_grad():
        w -= 0.5 * w.grad
    assert w.tolist() == [[0, 0, 0], [0, 0, 0]] and w.grad.tolist() == [[2, 2, 2], [2, 2, 2]]


@pytest.mark.parametrize("mmap", [False, True])
def test_large_tensors_that_were_loaded_are_written_to_and_compiled(tmp_path, mmap):
    path = tmp_path / "file.pt"
    x = torch.arange(40_000.0)
    torch.save({"x": x, "part": x[10:]}, path)
    before, found = path.read_bytes(), torch.load(path, mmap=mmap)
    kept = found["x"] * 1
    found["part"][0] = -1
    assert found["x"][10] == -1 and kept[10] == 10 and torch.load(path)["x"][10] == 10
    found["x"].mul_(2)
    assert found["part"][:2].tolist() == [-2, 22] and torch.compile(torch.sum)(found["part"]) == found["part"].sum()
    found["x"].numpy()[11] = 5
    assert found["part"][1] == 5 and path.read_bytes() == before


def test_files_are_read_within_transforms_and_deferred_programs():
    data = written(torch.arange(3.0))
    assert torch.func.grad(lambda w: (w * load(data)).sum())(torch.ones(3)).tolist() == [0, 1, 2]
    assert torch.vmap(lambda w: w * load(data))(torch.ones(2, 3)).tolist() == [[0, 1, 2]] * 2
    with torch.deferred():
        x = torch.ones(3).add_(1)
        assert load(written([x, x[1:]]))[1].tolist() == [2, 2]
    with torch.inference_mode():
        assert load(data).is_inference()
    with pytest.raises(NotImplementedError, match="Cannot access storage of BatchedTensorImpl"):
        torch.vmap(lambda w: written(w))(torch.ones(2))


def test_memory_that_numpy_sees():
    array = np.ones(4, np.float32)
    x = torch.from_numpy(array)
    whole, part = load(written([x, x[1:]]))
    array[1] = 7
    assert part.tolist() == [1, 1, 1] and part.untyped_storage() is whole.untyped_storage()
    assert x.tolist() == [1, 7, 1, 1]


def test_what_was_loaded_can_be_saved_again():
    first = written({"x": torch.arange(4.0)})
    assert written(load(first)) == first


# -- safetensors -------------------------------------------------------------------------------------------------------


def test_the_package_is_named_where_it_is_missing(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "safetensors", None)
    path = tmp_path / "x.safetensors"
    path.write_bytes(b"")
    for call in (lambda: torch.serialization.safetensors.save({}), lambda: torch.load(path)):
        with pytest.raises(ModuleNotFoundError, match=r"pip install 'tapegrad\[files\]'"):
            call()


@pytest.fixture
def safetensors():
    return torch.serialization.safetensors


SAFE = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16",
        "uint8", "bool", "float8_e4m3fn", "float8_e5m2", "complex64"]  # fmt: skip


@pytest.mark.parametrize("dtype", SAFE)
def test_safetensors_of_every_dtype(safetensors, tmp_path, dtype):
    path = tmp_path / "model.safetensors"
    x = torch.tensor([[0, 1, 2]]).to(getattr(torch, dtype))
    safetensors.save_file({"x": x, "part": x.clone()[0, 1:]}, path, metadata={"format": "pt"})
    loaded = torch.load(path)
    assert loaded["x"].dtype is x.dtype and loaded["x"].shape == (1, 3) and loaded["part"].shape == (2,)
    assert loaded["x"].untyped_storage().tolist() == x.untyped_storage().tolist()
    assert os.listdir(tmp_path) == ["model.safetensors"]


def test_safetensors_of_conjugates_and_of_nothing(safetensors):
    loaded = safetensors.load(safetensors.save({"x": torch.tensor([1 + 2j]).conj(), "y": torch.ones(0, 2)}))
    assert loaded["x"].tolist() == [1 - 2j] and loaded["y"].shape == (0, 2)


def test_what_safetensors_cannot_say(safetensors):
    x = torch.ones(2, 3)
    with pytest.raises(RuntimeError, match="'a' and 'b' share memory"):
        safetensors.save({"a": x, "b": x[0]})
    with pytest.raises(ValueError, match="You are trying to save a non contiguous tensor: `t`"):
        safetensors.save({"t": x.t()})
    with pytest.raises(ValueError, match=r"Key `n` is invalid, expected torch.Tensor but received <class 'int'>"):
        safetensors.save({"n": 1})
    with pytest.raises(ValueError, match="safetensors has no"):
        safetensors.save({"c": torch.ones(1, dtype=torch.complex128)})


def test_damaged_safetensors(safetensors, files):
    data = safetensors.save({"x": torch.arange(3.0), "y": torch.ones(2)})
    errors = (RuntimeError, ValueError, sys.modules["safetensors"].SafetensorError)
    for end in range(len(data)):
        with pytest.raises(errors, match=r".{10}"):
            safetensors.load(data[:end])


@pytest.mark.parametrize(("place", "kind"), [({"cpu": "cpu"}, "dict"), (lambda storage, location: None, "callable")])
def test_where_safetensors_are_to_be(tmp_path, place, kind):
    with pytest.raises(RuntimeError, match=f"^Loading safetensors file with {kind} map_location is not supported."):
        torch.load(tmp_path / "x.safetensors", place)


@pytest.mark.parametrize("which", [0, 2, 4])
def test_a_damaged_storage_is_found_among_large_ones(which):
    """Their checksums are compared by another thread, some together, and the last ones at the end."""
    file = io.BytesIO()
    torch.save([torch.full((700_000,), float(i)) for i in range(5)], file)
    data = bytearray(file.getvalue())
    position = data.index(np.full(9, which, np.float32).tobytes(), 64) + 4
    torch.load(io.BytesIO(data))
    data[position] ^= 1
    with pytest.raises(RuntimeError, match=f"the checksum of the record 'data/{which}' is wrong"):
        torch.load(io.BytesIO(data))
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("checksums")]

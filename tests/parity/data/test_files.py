"""``torch.save`` and ``torch.load`` beside PyTorch's: each reads what the other wrote, and refuses what it refuses."""

import io
import os
import pickle
import random
import sys
import warnings
import zipfile
from collections import Counter, OrderedDict

import numpy as np
import pytest
import torch as pytorch
from harness import attempt, told, warned

import tapegrad

pytestmark = [pytest.mark.parity, pytest.mark.once("files are the same however tensors were computed")]

BOTH = [(tapegrad, pytorch), (pytorch, tapegrad), (tapegrad, tapegrad)]
WAYS = pytest.mark.parametrize(("writer", "reader"), BOTH, ids=["to pytorch", "from pytorch", "here"])
FORMATS = pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])


def written(module, thing, **options):
    file = io.BytesIO()
    module.save(thing, file, **options)
    file.seek(0)
    return file


def carried(writer, reader, thing, zipped=True, **options):
    """What one module loads of what the other one saved."""
    return reader.load(written(writer, thing, _use_new_zipfile_serialization=zipped), **options)


def same_on_both(program):
    theirs, ours = attempt(lambda: program(pytorch)), attempt(lambda: program(tapegrad))
    assert repr(ours) == repr(theirs)


# -- tensors -----------------------------------------------------------------------------------------------------------

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
          "complex128", "uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz",
          "float8_e5m2fnuz"]  # fmt: skip
LATER = DTYPES[12:]


def bits(tensor):
    """The bytes of a tensor, as numbers."""
    return tensor.untyped_storage().tolist()


@WAYS
@FORMATS
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(writer, reader, zipped, dtype):
    tensor = writer.tensor([0, 1, 2, 3]).to(getattr(writer, dtype))
    if not zipped and reader is pytorch and dtype in LATER:  # nor does it read its own
        assert attempt(lambda: carried(pytorch, pytorch, pytorch.ones(1, dtype=pytorch.uint16), zipped))[0] == "raised"
        return
    loaded = carried(writer, reader, tensor, zipped)
    assert str(loaded.dtype) == str(tensor.dtype) and loaded.shape == (4,)
    assert bits(loaded) == bits(tensor)


VIEWS = {
    "transposed": lambda x: x.t(),
    "part": lambda x: x[1:, ::2],
    "expanded": lambda x: x[:1].expand(5, 4),
    "empty": lambda x: x[:0],
    "number": lambda x: x[1, 2],
    "overlapping": lambda x: x.as_strided((3, 2), (1, 1), 2),
    "flipped later": lambda x: x.flip(0),
}


@WAYS
@FORMATS
@pytest.mark.parametrize("view", VIEWS)
def test_views_lie_where_they_lay(writer, reader, zipped, view):
    tensor = VIEWS[view](writer.arange(12.0).reshape(3, 4))
    loaded = carried(writer, reader, tensor, zipped)
    assert loaded.tolist() == tensor.tolist()
    for ask in ("stride", "storage_offset", "is_contiguous"):
        assert getattr(loaded, ask)() == getattr(tensor, ask)()
    assert loaded.untyped_storage().nbytes() == tensor.untyped_storage().nbytes()


@WAYS
@FORMATS
def test_tensors_that_share_memory_still_do(writer, reader, zipped):
    x = writer.arange(6.0)
    loaded = carried(writer, reader, {"whole": x, "part": x[2:4], "again": x, "other": x.clone()}, zipped)
    loaded["part"].fill_(-1)
    assert loaded["whole"].tolist() == [0, 1, -1, -1, 4, 5] and loaded["again"] is loaded["whole"]
    assert loaded["other"].tolist() == [0, 1, 2, 3, 4, 5]


@WAYS
def test_conjugates_and_negatives_are_kept_as_they_are(writer, reader):
    x = writer.tensor([1 + 2j, 3 - 4j])
    conjugate, negative = carried(writer, reader, [x.conj(), x.clone().conj().imag])
    assert conjugate.is_conj() and conjugate.resolve_conj().tolist() == [1 - 2j, 3 + 4j]
    assert negative.is_neg() and negative.resolve_neg().tolist() == [-2, 4]


@WAYS
@FORMATS
def test_parameters_buffers_and_what_requires_grad(writer, reader, zipped):
    parameter = writer.nn.Parameter(writer.ones(2))
    marked, computed = writer.nn.Parameter(writer.ones(1), requires_grad=False), parameter * 2
    marked.tag = "frozen"
    loaded = carried(writer, reader, [parameter, marked, computed, writer.nn.Buffer(writer.zeros(2))], zipped)
    assert [type(x).__name__ for x in loaded] == ["Parameter", "Parameter", "Tensor", "Tensor"]
    assert [x.requires_grad for x in loaded] == [True, False, True, False]
    assert loaded[1].tag == "frozen" and loaded[2].is_leaf and isinstance(loaded[3], reader.nn.Buffer)
    (loaded[0] * 3).sum().backward()
    assert loaded[0].grad.tolist() == [3, 3]


@WAYS
def test_tensors_without_data(writer, reader):
    loaded = carried(writer, reader, writer.empty(2, 3, device="meta", dtype=writer.int16))
    assert str(loaded.device) == "meta" and loaded.shape == (2, 3) and str(loaded.dtype) == "torch.int16"


@WAYS
def test_storages(writer, reader):
    x = writer.tensor([1, 2], dtype=writer.int16)
    storage, tensor = carried(writer, reader, [x.untyped_storage(), writer.ones(1)])
    assert type(storage) is reader.TypedStorage and tensor.tolist() == [1]
    assert storage._untyped_storage.tolist() == [1, 0, 2, 0]


# -- other things ------------------------------------------------------------------------------------------------------

PLAIN = {
    "numbers": [0, -1, 2**31, 2**80, -(2**200), 1.5, float("inf"), 3 + 4j, True, None],
    "texts": ["", "é\u4e2d", b"\x00\xff", bytearray(b"ab"), "x" * 300],
    "containers": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), {1, 2}, {"a": {"b": []}}, [[[]]]],
    "ordered": OrderedDict(b=1, a=2),
    "counted": Counter("abca"),
    "keys": {1: "a", (1, (2, "b")): "c", 1.5: None, b"k": 0},
}


@WAYS
@FORMATS
@pytest.mark.parametrize("thing", PLAIN.values(), ids=PLAIN)
def test_plain_things(writer, reader, zipped, thing):
    loaded = carried(writer, reader, thing, zipped)
    assert loaded == thing and repr(loaded) == repr(thing)


@WAYS
def test_things_of_torch(writer, reader):
    x = writer.ones(2, 3)
    devices = [writer.device("cpu"), writer.device("cuda", 1)]
    loaded = carried(writer, reader, [x.shape, *devices, writer.bfloat16, writer.strided])
    assert repr(loaded) == (
        "[torch.Size([2, 3]), device(type='cpu'), device(type='cuda', index=1), torch.bfloat16, torch.strided]"
    )
    assert loaded[0] == (2, 3) and loaded[3] is reader.bfloat16 and type(loaded[0]) is reader.Size


@WAYS
def test_a_thing_that_holds_itself(writer, reader):
    thing = {"list": [1]}
    thing["list"].append(thing)
    loaded = carried(writer, reader, thing)
    assert loaded["list"][1] is loaded


@WAYS
@FORMATS
def test_a_state_dict_with_its_metadata(writer, reader, zipped):
    state = OrderedDict({"0.weight": writer.ones(2, 3), "0.bias": writer.zeros(2)})
    state._metadata = OrderedDict({"": {"version": 1}, "0": {"version": 1}})
    loaded = carried(writer, reader, state, zipped)
    assert type(loaded) is OrderedDict and list(loaded) == ["0.weight", "0.bias"]
    assert loaded._metadata == state._metadata


@WAYS
def test_what_optimizers_keep(writer, reader):
    x = writer.ones(2)
    state = {
        "state": {0: {"step": writer.tensor(3.0), "exp_avg": x * 0.1, "exp_avg_sq": x * 0.01}},
        "param_groups": [{"lr": 0.001, "betas": (0.9, 0.999), "amsgrad": False, "foreach": None, "params": [0]}],
    }
    loaded = carried(writer, reader, state)
    assert told(loaded["param_groups"]) == told(state["param_groups"])
    assert loaded["state"][0]["exp_avg"].tolist() == state["state"][0]["exp_avg"].tolist()


def test_a_state_dict_of_a_module_of_pytorch():
    module = pytorch.nn.Sequential(pytorch.nn.Linear(2, 3), pytorch.nn.BatchNorm1d(3))
    loaded = carried(pytorch, tapegrad, module.state_dict())
    assert list(loaded) == list(module.state_dict()) and loaded._metadata == module.state_dict()._metadata
    back = carried(tapegrad, pytorch, loaded)
    assert str(module.load_state_dict(back)) == "<All keys matched successfully>"


def test_an_optimizer_of_pytorch():
    weight = pytorch.nn.Parameter(pytorch.ones(3))
    optimizer = pytorch.optim.Adam([weight], amsgrad=True)
    weight.sum().backward()
    optimizer.step()
    loaded = carried(tapegrad, pytorch, carried(pytorch, tapegrad, optimizer.state_dict()))
    optimizer.load_state_dict(loaded)
    assert repr(loaded) == repr(optimizer.state_dict())


ARRAYS = [np.ndarray, np.dtype, np._core.multiarray._reconstruct, np._core.multiarray.scalar, np.dtypes.Float64DType,
          np.dtypes.Int64DType]  # fmt: skip


@WAYS
def test_arrays_that_were_declared_safe(writer, reader):
    file = written(writer, [np.arange(3), np.float64(2.5)])
    with reader.serialization.safe_globals(ARRAYS):
        loaded = reader.load(file)
    assert loaded[0].tolist() == [0, 1, 2] and type(loaded[1]) is np.float64


# -- where it is to be, and from where ---------------------------------------------------------------------------------

MAPS = {
    "name": lambda torch: "cpu",
    "device": lambda torch: torch.device("cpu"),
    "dict": lambda torch: {"cpu": "meta"},
    "dict of others": lambda torch: {"cuda:0": "cpu"},
    "function": lambda torch: lambda storage, location: storage if location == "cpu" else 1 / 0,
    "function that leaves it": lambda torch: lambda storage, location: None,
    "meta": lambda torch: "meta",
    "meta device": lambda torch: torch.device("meta"),
    "no gpu": lambda torch: "cuda:0",
    "no device": lambda torch: "nowhere",
    "dict to no gpu": lambda torch: {"cpu": "cuda:3"},
}


@pytest.mark.parametrize("place", MAPS)
def test_map_location(place):
    def program(torch):
        loaded = torch.load(written(torch, torch.arange(3.0)), MAPS[place](torch))
        return str(loaded.device), loaded.shape, loaded.tolist() if loaded.device.type != "meta" else None

    same_on_both(program)


def test_packages_have_a_say():
    def program(torch):
        seen = []
        torch.serialization.register_package(
            0, lambda storage: "mine" if storage.nbytes() == 12 else None,
            lambda storage, location: seen.append(location) or (storage if location == "mine" else None),
        )  # fmt: skip
        file = written(torch, [torch.ones(3), torch.zeros(1)])
        return [x.tolist() for x in torch.load(file)], seen

    registries = [pytorch.serialization._package_registry, tapegrad.serialization.locations._packages]
    before = [list(registry) for registry in registries]
    try:
        same_on_both(program)
    finally:
        for registry, old in zip(registries, before, strict=True):
            registry[:] = old


@WAYS
def test_paths_and_mapped_memory(tmp_path, writer, reader):
    x = writer.arange(1000.0)
    for path in (tmp_path / "model.pt", str(tmp_path / "with.dots.and é.bin")):
        writer.save([x, x[3:5]], path)
        for mmap in (None, True):
            whole, part = reader.load(path, mmap=mmap)
            part.zero_()
            assert whole[:6].tolist() == [0, 1, 2, 0, 0, 5]
        assert reader.load(path)[1].tolist() == [3, 4]  # the file is as it was


def test_sizes_of_64_bits(tmp_path, monkeypatch):
    path = tmp_path / "large.pt"
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 300)  # what is larger is written as if it were very large
    tapegrad.save({"x": tapegrad.arange(100), "y": tapegrad.ones(2)}, path)
    monkeypatch.undo()
    for module in (pytorch, tapegrad):
        assert module.load(path)["x"].tolist() == list(range(100))
    assert pytorch.load(path, mmap=True)["x"].data_ptr() % 64 == 0


def test_mapped_memory_needs_a_path():
    same_on_both(lambda torch: torch.load(written(torch, torch.ones(1)), mmap=True))
    same_on_both(lambda torch: torch.load(written(torch, 1, _use_new_zipfile_serialization=False), mmap=True))


@WAYS
def test_things_one_behind_the_other(writer, reader):
    file = io.BytesIO()
    for thing in (writer.arange(3), [writer.ones(2)]):
        writer.save(thing, file, _use_new_zipfile_serialization=False)
    file.seek(0)
    assert reader.load(file).tolist() == [0, 1, 2] and reader.load(file)[0].tolist() == [1, 1]


@WAYS
def test_trusted_files(writer, reader):
    tensors = {"tensor": writer.ones(2), "parameter": writer.nn.Parameter(writer.ones(1))}
    thing = {"array": np.arange(3), "range": range(4), **tensors}
    for protocol in (2, 3, 4, 5):
        file = written(writer, thing, pickle_protocol=protocol)
        loaded = reader.load(file, weights_only=False)
        assert loaded["array"].tolist() == [0, 1, 2] and loaded["range"] == range(4)
        assert type(loaded["tensor"]) is reader.Tensor and type(loaded["parameter"]) is reader.nn.Parameter


def test_a_pickle_module():
    class Counting:
        Pickler, dump = pickle._Pickler, staticmethod(pickle.dump)
        Unpickler = pickle.Unpickler
        __name__ = "counting"

    def program(torch):
        file = written(torch, {"x": torch.ones(2)}, pickle_module=Counting)
        return torch.load(file, pickle_module=Counting)["x"].tolist()

    same_on_both(program)


def test_a_pickler_in_c_writes_names_that_are_read_here():
    class InC:
        Pickler, Unpickler, dump = pickle.Pickler, pickle.Unpickler, staticmethod(pickle.dump)
        __name__ = "in_c"

    class Other(pickle.Pickler):
        pass

    InC.Pickler = Other
    file = written(tapegrad, [tapegrad.ones(2), tapegrad.float32], pickle_module=InC)
    loaded = tapegrad.load(file, weights_only=False)
    assert loaded[0].tolist() == [1, 1] and loaded[1] is tapegrad.float32


class UnderThisName(pickle.Unpickler):
    """What ``python -m tapegrad`` reads where a program says ``import torch``."""

    def find_class(self, module, name):
        return super().find_class(module.replace("torch", "tapegrad", 1), name)


def test_a_pickle_of_pytorch_that_nobody_called_save_for():
    whole = pytorch.arange(6.0).view(2, 3)
    thing = {"row": whole[1], "layer": pytorch.nn.Linear(3, 2), "sparse": whole.to_sparse(), "rest": pytorch.float16}
    loaded = UnderThisName(io.BytesIO(pickle.dumps(thing))).load()
    assert type(loaded["layer"]) is tapegrad.nn.Linear and loaded["rest"] is tapegrad.float16
    assert loaded["row"].tolist() == [3, 4, 5] and loaded["row"].storage_offset() == 3
    assert loaded["sparse"].layout is tapegrad.sparse_coo and loaded["sparse"].to_dense().tolist() == whole.tolist()
    assert loaded["layer"].weight.tolist() == thing["layer"].weight.tolist()


class Odd:
    """A class that nobody declared safe."""

    def __init__(self):
        self.x = 1


class Slotted:
    __slots__ = ("a", "b")


# -- refusals ----------------------------------------------------------------------------------------------------------

REFUSED = {
    "an object": Odd(),
    "a class": Odd,
    "a function": warned,
    "of the system": os.getcwd,
    "of builtins": print,
    "an array": np.ones(2),
    "a number of numpy": np.float64(1),
    "a range": range(3),
    "a frozen set": frozenset([1]),
}


@pytest.mark.parametrize("thing", REFUSED.values(), ids=REFUSED)
def test_what_is_refused_and_the_words(thing):
    same_on_both(lambda torch: torch.load(written(torch, {"thing": thing})))


def test_what_was_declared_safe():
    def program(torch):
        thing = Slotted()
        thing.a = 5
        files = [written(torch, Odd()), written(torch, thing)]
        with torch.serialization.safe_globals([Odd, (Slotted, f"{__name__}.Slotted")]):
            made = [torch.load(file) for file in files]
            declared = torch.serialization.get_safe_globals()
        return made[0].x, made[1].a, Odd in declared, Odd in torch.serialization.get_safe_globals()

    same_on_both(program)
    tapegrad.serialization.add_safe_globals([Odd])
    assert tapegrad.serialization.get_safe_globals() == [Odd]
    tapegrad.serialization.clear_safe_globals()
    assert tapegrad.serialization.get_safe_globals() == []
    for wrong in [(Odd,), (Odd, 3)]:
        with tapegrad.serialization.safe_globals([wrong]), pytest.raises((ValueError, TypeError), match="tuple"):
            tapegrad.load(written(tapegrad, 1))


def test_names_that_would_be_refused():
    def program(torch):
        names = torch.serialization.get_unsafe_globals_in_checkpoint(written(torch, [Odd(), torch.ones(2), print]))
        return sorted(names)

    same_on_both(program)
    same_on_both(lambda torch: torch.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(b"abcdef")))


ERRORS = {
    "no folder": lambda torch: torch.save(1, "/nowhere/at/all.pt"),
    "no file to write": lambda torch: torch.save(1, 3),
    "no file to read": lambda torch: torch.load("/nowhere/at/all.pt"),
    "no file": lambda torch: torch.load(3),
    "a module, and weights": lambda torch: torch.load(written(torch, 1), pickle_module=pickle, weights_only=True),
    "two dtypes": lambda torch: (lambda x: written(torch, [x, x.view(torch.int32)]))(torch.ones(2)),
    "endianness": lambda torch: torch.serialization.set_default_load_endianness("little"),
    "no storage": lambda torch: torch.serialization.default_restore_location(torch.ones(2).untyped_storage(), "moon"),
}


@pytest.mark.parametrize("call", ERRORS.values(), ids=ERRORS)
def test_errors(call):
    same_on_both(call)


@pytest.mark.parametrize("protocol", [3, 4])
def test_other_protocols_warn_and_are_refused_alike(protocol):
    def loads(torch):
        return lambda: attempt(lambda: torch.load(written(torch, [1.5], pickle_protocol=protocol)))

    assert warned(loads(tapegrad)) == warned(loads(pytorch))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert loads(tapegrad)() == loads(pytorch)()


def test_the_environment_decides(monkeypatch):
    file = {torch: written(torch, Odd()) for torch in (pytorch, tapegrad)}
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    same_on_both(lambda torch: torch.load(file[torch], weights_only=False))
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    same_on_both(lambda torch: torch.load(file[torch]))
    monkeypatch.delenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD")
    assert warned(lambda: tapegrad.load(written(tapegrad, 1)))[0][1].startswith("Environment variable TORCH_FORCE_NO")


def rewritten(file, change):
    """The records of an archive in another one, as a function of their names and bytes has it; None leaves one out."""
    other = io.BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(other, "w") as new:
        for name in old.namelist():
            data = change(name.partition("/")[2], old.read(name))
            if data is not None:
                new.writestr(name, data)
    other.seek(0)
    return other


@pytest.mark.parametrize("said", [True, False], ids=["and says it", "and says nothing"])
def test_files_of_machines_whose_bytes_lie_the_other_way_round(said):
    other = {"little": b"big", "big": b"little"}[sys.byteorder]

    def swapped(name, data):
        if name == "byteorder":
            return other if said else None
        return np.frombuffer(data, np.float32).byteswap().tobytes() if name.startswith("data/") else data

    def program(torch):
        options = torch.serialization
        if not said:
            options.set_default_load_endianness(options.LoadEndianness[other.decode().upper()])
        try:
            x = torch.tensor([1 + 2j, -2.5j], dtype=torch.complex64)
            return torch.load(rewritten(written(torch, x), swapped)).tolist()
        finally:
            options.set_default_load_endianness(None)

    loaded = [program(torch) for torch in (pytorch, tapegrad)]
    assert loaded == [[1 + 2j, -2.5j]] * 2


def test_hooks_are_not_saved():
    def program(torch):
        tensor, parameter = torch.ones(2, requires_grad=True), torch.nn.Parameter(torch.ones(2))
        for x in (tensor, parameter):
            x.register_hook(print)
        return warned(lambda: written(torch, [tensor, parameter]))

    same_on_both(program)


@pytest.mark.parametrize("number", range(4))
def test_files_of_pytorch_that_are_damaged(number):
    """As ``tests/interop/test_files.py`` has it of our own, which lie a little differently."""
    x = pytorch.arange(5.0)
    data = written(pytorch, {"x": x, "part": x[1:3], "parameter": pytorch.nn.Parameter(pytorch.ones(2))}).getvalue()
    expected = repr(tapegrad.load(io.BytesIO(data)))
    draws = random.Random(number)
    for _ in range(100):
        place = draws.randrange(len(data))
        flipped = data[:place] + bytes([data[place] ^ (1 << draws.randrange(8))]) + data[place + 1 :]
        for damaged in (data[:place], flipped):
            try:
                assert repr(tapegrad.load(io.BytesIO(damaged))) == expected and damaged is flipped
            except (RuntimeError, pickle.UnpicklingError, EOFError) as error:
                assert len(str(error)) > 10


def test_an_instance_of_a_subclass():
    def program(torch):
        made = type("Shaped", (torch.Tensor,), {"__module__": __name__})
        globals()["Shaped"] = made
        x = torch.ones(2).as_subclass(made)
        x.tag = [1]
        with torch.serialization.safe_globals([made]):
            loaded = torch.load(written(torch, x))
        return type(loaded).__name__, loaded.tag, loaded.tolist()

    same_on_both(program)


def test_bytes_of_a_file_as_a_storage(tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(10)))
    for library in (pytorch, tapegrad):
        storage = library.UntypedStorage.from_file(str(path), False, 8)
        assert storage.nbytes() == 8 and storage[2:5].tolist() == [2, 3, 4]
        assert library.asarray(storage[4:], dtype=library.uint8).tolist() == [4, 5, 6, 7]
    with pytest.raises(RuntimeError, match="size <10> is smaller than the required mapping size <11>"):
        tapegrad.UntypedStorage.from_file(str(path), False, 11)
    with pytest.raises(RuntimeError):
        tapegrad.UntypedStorage.from_file(str(tmp_path / "none"), False, 8)

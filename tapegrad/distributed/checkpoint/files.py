"""Checkpoints by shard.

Note [Checkpoints by shard]
A checkpoint is a folder: one file of safetensors for each process, with the parts of tensors that it holds (of copies,
the first), and ``index.json``, which the first process writes last, when all others have written: it says for each
tensor its shape and dtype, and which part lies where. So a checkpoint that was interrupted has no index, or the old
one, which names the old files. Reading asks only for the parts that this process needs, whatever mesh wrote them.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tapegrad._src.execution.array_functions.host import array_of
from tapegrad._src.execution.state.processes import processes
from tapegrad._src.functions.construction import from_numpy
from tapegrad._src.tensor.tensor import Tensor, value_of, write
from tapegrad.autograd.grad_mode import no_grad
from tapegrad.distributed.groups import is_initialized
from tapegrad.distributed.objects import barrier, broadcast_object_list, gathered
from tapegrad.errors import message
from tapegrad.interop.arrays import from_jax_array
from tapegrad.serialization.safetensors import load_file, save_file
from tapegrad.serialization.saving import replacing

__all__ = ["FileSystemReader", "FileSystemWriter", "async_save", "load", "save"]

INDEX = "index.json"

Bounds = list[list[int]]
"""From where to where a part reaches, in each dimension."""


class FileSystemWriter:
    """The folder to write to."""

    def __init__(self, path: str | os.PathLike, *unused: Any, **options: Any) -> None:
        self.path = path


class FileSystemReader(FileSystemWriter):
    """The folder to read from."""


def _folder(checkpoint_id: Any, storage: Any) -> Path:
    if checkpoint_id is None and storage is None:
        raise ValueError(message("a checkpoint is a folder", hint="write checkpoint_id=FOLDER"))
    return Path(storage.path if checkpoint_id is None else checkpoint_id)


def _states(state: dict[str, Any]) -> dict[str, Any]:
    """A state with what objects that have one say of theirs."""
    return {key: _states(value.state_dict() if hasattr(value, "state_dict") else value)
            if hasattr(value, "state_dict") or isinstance(value, dict) else value
            for key, value in state.items()}  # fmt: skip


def save(
    state_dict: dict[str, Any], *, checkpoint_id: str | os.PathLike | None = None, storage_writer: Any = None,
    **unused: Any,
) -> None:  # fmt: skip
    """Write the tensors of a state into a folder; all processes call it.

    Args:
        state_dict: tensors by name, also in dictionaries in it, and objects with a ``state_dict()``; what is no tensor
            must be JSON.
        checkpoint_id: the folder. What is in it is replaced when all is written.
        storage_writer: says the folder, instead.

    >>> import tempfile, tapegrad as torch
    >>> state = {"weight": torch.ones(2)}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(state, checkpoint_id=folder)
    ...     state["weight"].zero_()
    ...     load(state, checkpoint_id=folder)
    tensor([0., 0.])
    >>> state
    {'weight': tensor([1., 1.])}
    """
    folder, state_dict = _folder(checkpoint_id, storage_writer), _states(state_dict)
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{_agreed(uuid.uuid4().hex[:12])}-{processes.rank}.safetensors"
    tensors: dict[str, Tensor] = {}
    entries: dict[str, Any] = {}
    for key, value in _flat(state_dict):
        if not isinstance(value, Tensor):
            entries[key] = {"value": value}
            continue
        parts = []
        for number, (bounds, part) in enumerate(_own_parts(value)):
            tensors[f"{key}/{number}"] = part
            parts.append({"file": name, "entry": f"{key}/{number}", "bounds": bounds})
        entries[key] = {"shape": list(value.shape), "dtype": str(value.dtype), "parts": parts}
    save_file(tensors, folder / name)
    found = [entries] if not is_initialized() else gathered(json.dumps(entries).encode(), json.loads)
    if processes.rank == 0:
        _write_index(folder, found)
    if is_initialized():
        barrier()


def async_save(state_dict: dict[str, Any], **options: Any) -> Future:
    """``save``, which is done when this returns; ``result()`` of what it gives has nothing to wait for."""
    found: Future = Future()
    found.set_result(save(state_dict, **options))  # type: ignore[func-returns-value]
    return found


def _agreed(text: str) -> str:
    given = [text]
    if is_initialized():
        broadcast_object_list(given)
    return given[0]


def _write_index(folder: Path, found: list[dict[str, Any]]) -> None:
    whole = found[0]
    for others in found[1:]:
        for key, entry in others.items():
            if "parts" in entry:
                whole[key]["parts"] += entry["parts"]
    old = _files_in(folder)
    with replacing(folder / INDEX) as file:
        file.write(json.dumps(whole).encode())
    for name in old - _files_of(whole):
        (folder / name).unlink(missing_ok=True)


def _files_in(folder: Path) -> set[str]:
    try:
        return _files_of(json.loads((folder / INDEX).read_bytes()))
    except (OSError, ValueError):
        return set()


def _files_of(index: dict[str, Any]) -> set[str]:
    return {part["file"] for entry in index.values() for part in entry.get("parts", ())}


def _flat(state: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in state.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def _own_parts(tensor: Tensor) -> Iterator[tuple[Bounds, Tensor]]:
    """The parts that this process writes: of what several devices have, that of the first of them."""
    array = array_of(value_of(tensor.detach()))
    if not tensor.device.sharded:
        if processes.rank == 0:
            yield [[0, length] for length in tensor.shape], tensor.detach()
        return
    for shard in array.addressable_shards:
        if shard.replica_id == 0:
            yield _bounds(shard.index, array.shape), from_jax_array(shard.data)


def _bounds(index: tuple[slice, ...], shape: tuple[int, ...]) -> Bounds:
    return [list(part.indices(length)[:2]) for part, length in zip(index, shape, strict=True)]


def load(
    state_dict: dict[str, Any], *, checkpoint_id: str | os.PathLike | None = None, storage_reader: Any = None,
    **unused: Any,
) -> None:  # fmt: skip
    """Read a checkpoint into the tensors of a state, in place and in their layouts; all processes call it.

    Objects that have a ``state_dict()`` are given what was read by their ``load_state_dict``.

    Raises:
        FileNotFoundError: there is no index, or a file is missing.
        RuntimeError: a tensor isn't in the checkpoint, has another shape there, or a file is torn.
    """
    folder, given, state_dict = _folder(checkpoint_id, storage_reader), state_dict, _states(state_dict)
    try:
        index = json.loads((folder / INDEX).read_bytes())
    except FileNotFoundError:
        raise FileNotFoundError(message(f"there is no checkpoint in {folder}", hint="it has no index.json: was saving "
                                        "interrupted?")) from None  # fmt: skip
    files = _Files(folder)
    wanted = [(key, value, _entry(index, key, value)) for key, value in _flat(state_dict)]
    found = [(value, _array(value, entry, files)) for _, value, entry in wanted if isinstance(value, Tensor)]
    with no_grad():
        for tensor, array in found:
            write(tensor, array)
    _put_values(state_dict, index)
    _give_back(given, state_dict)


def _give_back(given: dict[str, Any], read: dict[str, Any]) -> None:
    """Let objects load what was read, and dictionaries have the values that are no tensors."""
    for key, value in given.items():
        if hasattr(value, "load_state_dict"):
            value.load_state_dict(read[key])
        elif isinstance(value, dict):
            _give_back(value, read[key])
        else:
            given[key] = read[key]


def _put_values(state: dict[str, Any], index: dict[str, Any], before: str = "") -> None:
    for key, value in state.items():
        if isinstance(value, dict):
            _put_values(value, index, f"{before}{key}.")
        elif not isinstance(value, Tensor):
            state[key] = index[f"{before}{key}"]["value"]


def _entry(index: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    entry = index.get(key)
    if entry is None:
        raise RuntimeError(message(f"Missing key in checkpoint state_dict: {key}.", got=f"{len(index)} others"))
    if isinstance(value, Tensor) and entry.get("shape") != list(value.shape):
        raise RuntimeError(message(f"the checkpoint has another shape for {key}", expected=tuple(value.shape),
                                   got=tuple(entry.get("shape", ()))))  # fmt: skip
    return entry


class _Files:
    """The files of a checkpoint, each read when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read: dict[str, dict[str, Tensor]] = {}

    def part(self, described: dict[str, Any]) -> np.ndarray:
        """The elements of a part. Raises FileNotFoundError: its file is missing. RuntimeError: its file is torn."""
        name = described["file"]
        if name not in self._read:
            path = self.folder / name
            if not path.exists():
                raise FileNotFoundError(message(f"a shard of the checkpoint is missing: {path}"))
            try:
                self._read[name] = load_file(path)
            except Exception as error:
                raise RuntimeError(message(f"a shard of the checkpoint is torn: {path}", got=error)) from None
        return np.asarray(array_of(value_of(self._read[name][described["entry"]])))


def _array(tensor: Tensor, entry: dict[str, Any], files: _Files) -> Any:
    """The value of a tensor, of which only what this process holds is read."""
    shape, dtype = tuple(tensor.shape), tensor.dtype.numpy
    read: Callable = lambda place: _region(_bounds(place, shape), entry, files).astype(dtype, copy=False)
    if not tensor.device.sharded:
        whole = read(tuple(slice(None) for _ in shape))
        return value_of(from_numpy(whole).to(tensor.device))
    sharding = array_of(value_of(tensor.detach())).sharding
    with jax.enable_x64(True):
        return jax.make_array_from_callback(shape, sharding, read)


def _region(bounds: Bounds, entry: dict[str, Any], files: _Files) -> np.ndarray:
    """The elements in a region, put together from the parts that reach into it."""
    found: np.ndarray | None = None
    for part in entry["parts"]:
        common = [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(bounds, part["bounds"], strict=True)]
        if any(start >= stop for start, stop in common):
            continue
        elements = files.part(part)
        if found is None:
            found = np.empty([stop - start for start, stop in bounds], elements.dtype)
        inside = zip(common, bounds, part["bounds"], strict=True)
        places = [(slice(i - b[0], j - b[0]), slice(i - p[0], j - p[0])) for (i, j), b, p in inside]
        found[tuple(ours for ours, _ in places)] = elements[tuple(theirs for _, theirs in places)]
    return np.empty([stop - start for start, stop in bounds]) if found is None else found

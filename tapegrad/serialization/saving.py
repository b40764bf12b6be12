"""``torch.save``.

Note [Whole files]
A file that is given by its path is written beside it, brought to the disk, and only then put in its place, which is one
step for the system: whoever looks finds the old file or the new one, also after a crash. What is no ordinary file, as a
pipe, is written to as it is.
"""

from __future__ import annotations

import io
import os
import pickle
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import PurePath
from secrets import token_hex
from typing import IO, Any

from tapegrad._src.bindings.state.storages import host_bytes
from tapegrad.serialization import legacy
from tapegrad.serialization.archive import ALIGNMENT, writing
from tapegrad.serialization.pickling import Storages, pickler

DEFAULT_PROTOCOL = 2
"""That of the pickles."""


def save(
    obj: Any, f: Any, pickle_module: Any = pickle, pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True, _disable_byteorder_record: bool = False,
) -> None:  # fmt: skip
    """Write an object to a file, which ``load`` reads here and in PyTorch.

    Tensors that share memory still do when they are loaded. Of modules and optimizers save the state dict: it can be
    loaded without trusting the file.

    Args:
        obj: tensors, numbers, strings, containers of them; anything else that can be pickled.
        f: a path, where the file appears when it is complete, and until then the old one stays; or a binary file.
        pickle_module: what writes the pickle.
        pickle_protocol: of the pickle; ``load`` without ``weights_only=False`` reads protocol 2.
        _use_new_zipfile_serialization, _disable_byteorder_record: as in PyTorch: False for its older format; True to
            leave out in which order bytes are.

    Raises:
        RuntimeError: the folder isn't there; or two tensors show one storage as different dtypes.
        AttributeError: ``f`` is neither a path nor can be written to.

    >>> import io
    >>> x = torch.arange(4.0)
    >>> file = io.BytesIO()
    >>> torch.save([x, x[1:3]], file)
    >>> _ = file.seek(0)
    >>> whole, part = torch.load(file)
    >>> part.zero_(), whole
    (tensor([0., 0.]), tensor([0., 0., 0., 3.]))
    """
    is_path = isinstance(f, (str, os.PathLike))
    if not is_path and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    with replacing(f) if is_path else flushing(f) as file:
        if not _use_new_zipfile_serialization:
            legacy.save(obj, file, pickle_module, pickle_protocol)
            return
        storages, pickled = Storages(), io.BytesIO()
        pickler(pickle_module, pickled, pickle_protocol, storages).dump(obj)
        with writing(file, PurePath(f).stem.strip(".") or "archive" if is_path else "archive") as archive:
            archive.write("data.pkl", pickled.getvalue())
            archive.write(".storage_alignment", str(ALIGNMENT).encode())
            if not _disable_byteorder_record:
                archive.write("byteorder", sys.byteorder.encode())
            for key, (memory, _) in storages.found.items():
                archive.write(f"data/{key}", host_bytes(memory))


@contextmanager
def flushing(file: IO[bytes]) -> Iterator[IO[bytes]]:
    """A file of the caller's, which is flushed at the end."""
    if not callable(file.write):
        raise TypeError(f"Buffer of {str(type(file)).strip('<>')} has no callable attribute 'write'")
    yield file
    file.flush()


@contextmanager
def replacing(path: Any) -> Iterator[IO[bytes]]:
    """A file that takes the place of the one at a path at the end, if nothing is raised. See Note [Whole files].
    Raises RuntimeError: there is no such folder.
    """
    target = os.path.realpath(os.fspath(path))
    folder, name = os.path.split(target)
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {os.path.dirname(os.fspath(path))} does not exist.")
    if os.path.exists(target) and not os.path.isfile(target):
        with open(target, "wb") as file:
            yield file
        return
    beside = os.path.join(folder, f".{name[:200]}.{token_hex(8)}.tmp")
    try:
        with open(beside, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(target):
            os.chmod(beside, stat.S_IMODE(os.stat(target).st_mode))
        os.replace(beside, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise
    _settle(folder)


def _settle(folder: str) -> None:
    """Bring to the disk what a folder has, where the system lets folders be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

"""``torch.load``."""

from __future__ import annotations

import io
import os
import pickle
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from tapegrad._src.warn import warn
from tapegrad.serialization import legacy, safetensors
from tapegrad.serialization.archive import MAGIC, ArchiveReader, ChecksumChecks
from tapegrad.serialization.locations import restorer
from tapegrad.serialization.names import ALLOWED, declared_safe
from tapegrad.serialization.records import Records
from tapegrad.serialization.trusting import TrustingUnpickler
from tapegrad.serialization.unpickling import Source, Unpickler, names_in

UNSAFE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to "
    "`True`. Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in "
    "arbitrary code execution. Do it only if you got the file from a trusted source."
)
_DOCUMENTED = (
    "\n\nCheck the documentation of torch.load to learn more about types accepted by default with weights_only "
    "https://pytorch.org/docs/stable/generated/torch.load.html."
)


def load(
    f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None,
    mmap: bool | None = None, **pickle_load_args: Any,
) -> Any:  # fmt: skip
    """Load what ``save`` wrote, here or in PyTorch, to a file.

    Checksums are compared, but for those of storages that stay in the file (``mmap``). Files of the old format, from
    before PyTorch 1.6 or by ``_use_new_zipfile_serialization=False``, have none: numbers that were damaged in one are
    read as they are.

    Args:
        f: a path, or a binary file that can be read and searched.
        map_location: where tensors are to be. A device or its name; a dict of names, from those in the file to those
            wanted; or a function of a storage on the CPU and the name in the file, which gives a storage, or None to
            leave it there. By default each is brought to where it was.
        pickle_module: what reads the pickle, if ``weights_only=False``; ``pickle`` by default.
        weights_only: whether nothing is made but tensors, plain containers, and what ``add_safe_globals`` named. That
            is the default. Otherwise the file may run any program.
        mmap: whether storages stay in the file, which must be given by its path, until somebody reads them.
        pickle_load_args: for the unpickler, such as ``encoding``.

    Raises:
        pickle.UnpicklingError: the file has something that isn't allowed; the message names it.
        RuntimeError: the file is damaged, or wants a device that isn't there.

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.save({"weight": torch.arange(3.0), "step": 7}, file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    {'weight': tensor([0., 1., 2.]), 'step': 7}
    """
    weights_only = _weights_only(weights_only, pickle_module)
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if pickle_load_args and weights_only:
        warn("pickle_load_args only works if `weights_only=False`.")
    pickle_load_args.setdefault("encoding", "utf-8")
    if isinstance(f, (str, os.PathLike)):
        if os.fspath(f).endswith(".safetensors"):
            return safetensors.load_file(f, _one_device(map_location))
        with open(f, "rb") as file:
            return _load(file, f, map_location, weights_only, pickle_module or pickle, bool(mmap), pickle_load_args)
    _check_seekable(f)
    return _load(f, None, map_location, weights_only, pickle_module or pickle, bool(mmap), pickle_load_args)


def _weights_only(given: bool | None, pickle_module: Any) -> bool:
    """Tell whether files are trusted as little as can be: as the call says, or else the environment."""
    true = ("1", "y", "yes", "true")
    forced = os.getenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "0").lower() in true
    forced_not = os.getenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "0").lower() in true
    if forced and forced_not:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be set, but both "
            "were set."
        )
    if forced:
        return True
    if given is None and forced_not:
        warn(
            "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the`weights_only` argument was not "
            "explicitly passed to `torch.load`, forcing weights_only=False."
        )
        return False
    return pickle_module is None if given is None else given


def _one_device(map_location: Any) -> Any:
    """The device for a file of safetensors."""
    if isinstance(map_location, dict) or callable(map_location):
        kind = "dict" if isinstance(map_location, dict) else "callable"
        raise RuntimeError(
            f"Loading safetensors file with {kind} map_location is not supported. Use a device string or torch.device "
            "instead."
        )
    return "cpu" if map_location is None else map_location


def _check_seekable(file: Any) -> None:
    try:
        file.seek(file.tell())
    except (OSError, AttributeError) as error:
        if not any(word in str(error) for word in ("seek", "tell")):
            raise
        raise type(error)(
            f"{error}. You can only torch.load from a file that is seekable. Please pre-load the data into a buffer "
            "like io.BytesIO and try to load from it instead."
        ) from None


def _load(
    file: IO[bytes], path: Any, map_location: Any, weights_only: bool, pickle_module: Any, mmap: bool, options: dict
) -> Any:
    begin = file.tell()
    is_archive = file.read(len(MAGIC)) == MAGIC
    file.seek(begin)
    unpickler = _careful(options) if weights_only else _trusting(pickle_module, options)
    with worded(weights_only):
        if is_archive:
            return _load_archive(file, path, map_location, weights_only, mmap, unpickler)
        if mmap:
            named = f"{path}, " if isinstance(path, str) else ""
            raise RuntimeError(
                f"mmap can only be used with files saved with `torch.save({named}_use_new_zipfile_serialization=True), "
                "please torch.save your checkpoint with this option in order to use mmap."
            )
        return legacy.load(file, restorer(map_location), unpickler)


def _careful(options: dict) -> legacy.Reads:
    return lambda source, persistent_load: Unpickler(source, persistent_load, options["encoding"]).load()


def _trusting(pickle_module: Any, options: dict) -> legacy.Reads:
    def read(source: Source, persistent_load: Callable[[Any], Any]) -> Any:
        return TrustingUnpickler.of(pickle_module)(source, persistent_load, options).load()

    return read


def _load_archive(
    file: IO[bytes], path: Any, map_location: Any, weights_only: bool, mmap: bool, unpickler: legacy.Reads
) -> Any:
    archive = ArchiveReader(file)
    if "constants.pkl" in archive:
        if weights_only:
            raise RuntimeError(
                "Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``. " + UNSAFE
            )
        raise NotImplementedError("torch.load: the file is a program of TorchScript, which tapegrad can't run")
    if mmap and path is None:
        raise ValueError("f must be a file path in order to use the mmap argument")
    pickled = archive.read("data.pkl")
    with ChecksumChecks(archive) as checks:
        records = Records(archive, map_location, mmap, checks)
        return unpickler(Source(io.BytesIO(pickled.data), pickled.size), records.persistent_load)


@contextmanager
def worded(weights_only: bool) -> Iterator[None]:
    """The message about what isn't allowed, in PyTorch's words, which tell what to do about it."""
    try:
        yield
    except pickle.UnpicklingError as error:
        if not weights_only:
            raise
        raise pickle.UnpicklingError(_advice(str(error))) from None


def _advice(refusal: str) -> str:
    if re.search(r"GLOBAL (\S+) was not an allowed global by default.", refusal):
        return (
            "Weights only load failed. This file can still be loaded, to do so you have two options, \033[1mdo those "
            f"steps only if you trust the source of the checkpoint\033[0m. \n\t(1) {UNSAFE}\n\t(2) Alternatively, to "
            "load with `weights_only=True` please check the recommended steps in the following error message.\n\t"
            f"WeightsUnpickler error: {refusal}{_DOCUMENTED}"
        )
    text = f"Weights only load failed. {UNSAFE}\n"
    if not re.search(r"whose module (\S+) is blocked", refusal):
        text += (
            "Please file an issue with the following so that we can make `weights_only=True` compatible with your use "
            "case: WeightsUnpickler error: "
        )
    return f"{text}\n\n{refusal}{_DOCUMENTED}"


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """Name what a file names that ``load`` would refuse. Nothing is made of the file.

    Raises:
        ValueError: ``save`` has not written it.
    """
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return get_unsafe_globals_in_checkpoint(file)
    _check_seekable(f)
    begin = f.tell()
    if f.read(len(MAGIC)) != MAGIC:
        raise ValueError("Expected input to be a checkpoint returned by torch.save")
    f.seek(begin)
    archive = ArchiveReader(f)
    if "constants.pkl" in archive:
        raise ValueError("Expected input to be a checkpoint returned by torch.save but got a torchscript checkpoint")
    pickled = archive.read("data.pkl")
    names = names_in(Source(io.BytesIO(pickled.data), pickled.size))
    return list(names - ALLOWED.keys() - declared_safe().keys())

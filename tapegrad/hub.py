"""``torch.hub``: models that a folder with a ``hubconf.py`` offers, and states that lie at an address.

Note [Code of others]
A ``hubconf.py`` is a program, which is run; so it comes from a folder of yours (``source="local"``), or from where
PyTorch has put what somebody trusted: its cache, which is read, and never filled. It imports ``torch``, and gets
tapegrad under that name; where PyTorch itself was imported before, that.
"""

from __future__ import annotations

import builtins
import hashlib
import importlib
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any
from urllib.parse import urlparse
from urllib.request import Request, urlopen

from tapegrad._src.progress import bars
from tapegrad._src.warn import warn
from tapegrad.as_torch import install, is_installed
from tapegrad.errors import message
from tapegrad.serialization.loading import load as load_file

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

HUBCONF = "hubconf.py"
CHUNK = 128 * 1024
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
TRUSTED_OWNERS = ("facebookresearch", "facebookincubator", "pytorch", "fairinternal")

_chosen_dir: str | None = None


def get_dir() -> str:
    """The folder for what is downloaded: ``set_dir``'s, else ``$TORCH_HOME/hub``, else ``~/.cache/torch/hub``.

    ``$XDG_CACHE_HOME`` stands for ``~/.cache``, where it is set.
    """
    if os.getenv("TORCH_HUB"):
        warn("TORCH_HUB is deprecated, please use env TORCH_HOME instead")
    if _chosen_dir is not None:
        return _chosen_dir
    return os.path.join(_get_torch_home(), "hub")


def _get_torch_home() -> str:
    """The folder for what programs keep: ``$TORCH_HOME``, else ``~/.cache/torch``."""
    home = os.getenv("TORCH_HOME", os.path.join(os.getenv("XDG_CACHE_HOME", "~/.cache"), "torch"))
    return os.path.expanduser(home)


def set_dir(d: str | os.PathLike) -> None:
    """Let another folder have what is downloaded."""
    global _chosen_dir
    _chosen_dir = os.path.expanduser(d)


# Folders with a hubconf.py --------------------------------------------------------------------------------------------


def list(
    github: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: bool | str = "check",
    verbose: bool = True,
) -> builtins.list[str]:  # fmt: skip
    """The names of what a repository offers.

    Args:
        github: ``owner/name`` or ``owner/name:ref``, of what is in the cache: Note [Code of others].
        force_reload: not possible: nothing is downloaded.
        skip_validation: accepted; PyTorch validates what it downloads.
        trust_repo: True, or ``"check"``, which asks unless the owner is known, or False, which asks.
        verbose: whether to say where it was found.

    Raises:
        RuntimeError: it is not in the cache.
    """
    with _hubconf(_cached(github, force_reload, trust_repo, verbose)) as offers:
        return [name for name in dir(offers) if callable(getattr(offers, name)) and not name.startswith("_")]


def help(
    github: str, model: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: bool | str = "check"
) -> str | None:
    """The docstring of what a repository offers; the arguments are those of ``list``.

    Raises:
        RuntimeError: it is not in the cache, offers nothing of that name, or needs packages that are not installed.
    """
    with _hubconf(_cached(github, force_reload, trust_repo, verbose=True)) as offers:
        return _entry(offers, model).__doc__


def load(
    repo_or_dir: str, model: str, *args: Any, source: str = "github", trust_repo: bool | str = "check",
    force_reload: bool = False, verbose: bool = True, skip_validation: bool = False, **kwargs: Any,
) -> Any:  # fmt: skip
    """Call what a repository or a folder offers, usually a model.

    Args:
        repo_or_dir: a folder; with ``source="github"`` as ``github`` of ``list``.
        model: the name of a function in ``hubconf.py``.
        args, kwargs: its arguments.
        source: ``"local"`` or ``"github"``: Note [Code of others].
        trust_repo, force_reload, verbose, skip_validation: see ``list``; for ``source="github"``.

    Raises:
        ValueError: there is no such source, or ``model`` is no string.
        RuntimeError: nothing of that name is offered, packages are missing, or a repository is not in the cache.
    """
    source = source.lower()
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    folder = _cached(repo_or_dir, force_reload, trust_repo, verbose) if source == "github" else repo_or_dir
    with _hubconf(folder) as offers:
        return _entry(offers, model)(*args, **kwargs)


@contextmanager
def _hubconf(folder: str) -> Iterator[Any]:
    """The module that a folder's ``hubconf.py`` is; inside, the folder is searched for modules, and torch is ours."""
    sys.path.insert(0, folder)
    try:
        with nullcontext() if is_installed() or "torch" in sys.modules else install():
            spec = spec_from_file_location(HUBCONF, os.path.join(folder, HUBCONF))
            assert spec is not None and spec.loader is not None
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            yield module
    finally:
        sys.path.remove(folder)


def _entry(offers: Any, model: str) -> Any:
    """The entry of a ``hubconf.py`` under a name."""
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    missing = [name for name in getattr(offers, "dependencies", None) or () if find_spec(name) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    found = getattr(offers, model, None)
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return found


def _cached(github: str, force_reload: bool, trust_repo: bool | str, verbose: bool) -> str:
    """The folder in the cache that PyTorch has put a repository into."""
    repository, _, ref = github.partition(":")
    owner, name = repository.split("/")
    places = [os.path.join(get_dir(), f"{owner}_{name}_{one.replace('/', '_')}") for one in ([ref] if ref else REFS)]
    folder = next(filter(os.path.exists, places), None)
    if folder is None or force_reload:
        raise RuntimeError(message(
            f"the repo {github} could not be found in the cache ({get_dir()}), and no code is downloaded"
            if folder is None else f"the repo {github} is not downloaded again",
            hint=f"clone https://github.com/{repository}, and load it by its folder with source='local'",
        ))  # fmt: skip
    _check_trust(owner, f"{owner}_{name}", trust_repo)
    if verbose:
        sys.stderr.write(f"Using cache found in {folder}\n")
    return folder


def __getattr__(name: str) -> Any:
    if name != "tqdm":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = find_spec("tqdm")
    return _NoBar if found is None else importlib.import_module("tqdm.auto").tqdm


class _NoBar:
    """In the place of a bar of tqdm's, where that isn't installed: the items, and nothing to see.

    Args:
        iterable: the items.
        options: how a bar would look.
    """

    def __init__(self, iterable: Any = (), **options: Any) -> None:
        self.iterable = iterable

    def __iter__(self) -> Iterator[Any]:
        return iter(self.iterable)

    def __enter__(self) -> _NoBar:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is to be closed."""

    def update(self, n: float = 1) -> None:
        """Nothing is shown."""


REFS = ("main", "master")


def _check_trust(owner: str, repository: str, trust_repo: bool | str) -> None:
    """Ask whether a repository is trusted, if that is to be asked: what is in the cache was trusted before."""
    if trust_repo is False:
        answer = input(
            f"The repository {repository} does not belong to the list of trusted repositories and as such cannot be "
            "downloaded. Do you trust this repository and wish to add it to the trusted list of repositories (y/N)?"
        )
        if answer.lower() in ("n", "no", ""):
            raise Exception("Untrusted repository.")
        if answer.lower() not in ("y", "yes"):
            raise ValueError(f"Unrecognized response {answer}.")
        print("The repository is already trusted.")


# Files at an address --------------------------------------------------------------------------------------------------


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Copy what lies at an address into a file, which is there when it is whole.

    Args:
        url: the address; ``file://`` ones are addresses, too.
        dst: the file.
        hash_prefix: how the SHA-256 of it must begin.
        progress: whether to show a bar to somebody who looks: Note [Who looks].

    Raises:
        RuntimeError: it is another file than ``hash_prefix`` says.
        URLError: it can't be reached.
    """
    dst = os.path.expanduser(dst)
    with tempfile.NamedTemporaryFile(dir=os.path.dirname(dst) or ".", suffix=".partial", delete=False) as file:
        try:
            digest = _copy(url, file, progress)
            file.close()
            if hash_prefix is not None and not digest.startswith(hash_prefix):
                raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest}")')
            os.chmod(file.name, 0o666 & ~_umask())
            os.replace(file.name, dst)
        finally:
            Path(file.name).unlink(missing_ok=True)


def _copy(url: str, file: Any, progress: bool) -> str:
    """Copy what lies at an address; its SHA-256."""
    digest, bar = hashlib.sha256(), bars() if progress else None
    with urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as source:
        length = source.headers.get("Content-Length")
        with nullcontext() if bar is None else bar(total=length and int(length), unit="B", unit_scale=True) as shown:
            while chunk := source.read(CHUNK):
                file.write(chunk)
                digest.update(chunk)
                if shown is not None:
                    shown.update(len(chunk))
    return digest.hexdigest()


def _umask() -> int:
    """Which permissions new files don't get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def load_state_dict_from_url(
    url: str, model_dir: str | None = None, map_location: Any = None, progress: bool = True, check_hash: bool = False,
    file_name: str | None = None, weights_only: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Load what ``torch.save`` has written, from an address; it is downloaded once.

    Args:
        url: the address.
        model_dir: the folder for the file; ``checkpoints`` in that of ``get_dir`` if it is None.
        map_location: see ``torch.load``.
        progress: whether to show a bar.
        check_hash: whether the name says how the SHA-256 begins: ``name-<at least eight digits>.ext``.
        file_name: the name of the file in the folder; that at the address if it is None.
        weights_only: see ``torch.load``. Use True for files of others.

    Raises:
        RuntimeError: it is another file than its name says.
        URLError: it can't be reached.
    """
    if os.getenv("TORCH_MODEL_ZOO"):
        warn("TORCH_MODEL_ZOO is deprecated, please use env TORCH_HOME instead")
    model_dir = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(model_dir, exist_ok=True)
    name = os.path.basename(urlparse(url).path) if file_name is None else file_name
    path = os.path.join(model_dir, name)
    if not os.path.exists(path):
        sys.stdout.write(f'Downloading: "{url}" to {path}\n')
        digest = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, digest and digest.group(1), progress)
    return load_file(_unzipped(path), map_location=map_location, weights_only=weights_only)


def _unzipped(path: str) -> str:
    """The file; of a zip that was made by hand of one file, that one, next to it."""
    if not zipfile.is_zipfile(path):
        return path
    with zipfile.ZipFile(path) as archive:
        inside = archive.infolist()
        if len(inside) != 1 or inside[0].is_dir():
            return path
        place = Path(path).parent / Path(inside[0].filename).name
        with archive.open(inside[0]) as source, open(place, "wb") as file:
            shutil.copyfileobj(source, file)
    return str(place)


load_url = load_state_dict_from_url  # as ``torch.utils.model_zoo`` calls it

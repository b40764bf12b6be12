"""``install()``: the name ``torch`` means tapegrad in this process, for programs and packages that import it.

Note [The name torch]
``sys.modules["torch"]`` becomes a stand-in module (``Stand``), which has what tapegrad has, and a ``__version__`` that
begins with that of the PyTorch whose behaviour this is, for packages which compare it (``torch_version.py``):
``2.13.0+tapegrad.0.1.0``. A finder in front of all others answers for what is imported under the name:
``torch.nn.functional`` is ``tapegrad.nn.functional``, the very same module. What is not there is refused where it is
asked for. Processes that are started meanwhile do the same: Note [Children] in ``children.py``.

Programs ask classes where they come from: opt_einsum takes the functions of the package that a tensor's class names,
and ``print(type(x))`` shows it. So ``Tensor`` says that it comes from torch, as long as it is found there. And
``safetensors.torch`` is told how to read a tensor (``SafetensorsLoader``).
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import sys
from collections.abc import Iterator, Sequence
from os import PathLike
from types import ModuleType
from typing import Any, Self

from tapegrad._src.absent import REASONS
from tapegrad.as_torch.children import tell_children
from tapegrad.torch_version import TorchVersion
from tapegrad.version import __version__

PYTORCH = "2.13.0"
"""The PyTorch whose behaviour this is."""


NAMES = "torch", "functorch"
"""The packages that PyTorch's wheel brings along. What was ``functorch`` is a module here."""


def own_name(fullname: str) -> str:
    """The name of a module of PyTorch in tapegrad.

    >>> own_name("torch.nn.functional"), own_name("functorch")
    ('tapegrad.nn.functional', 'tapegrad.functorch')
    """
    name, dot, rest = fullname.partition(".")
    return ("tapegrad" if name == "torch" else f"tapegrad.{name}") + dot + rest


class Stand(ModuleType):
    """The module ``torch`` while tapegrad is installed as it: see Note [The name torch]."""

    __version__ = TorchVersion(f"{PYTORCH}+tapegrad.{__version__}")

    def __init__(self, spec: importlib.machinery.ModuleSpec) -> None:
        super().__init__("torch", "tapegrad, under the name of torch.")
        package = importlib.import_module("tapegrad")
        self.__dict__.update(package=package, __file__=package.__file__, __package__="torch")
        self.__dict__.update(__spec__=spec, __path__=[], torch=self)  # torch.torch is torch, as it happens

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["package"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        package = self.__dict__["package"]
        if hasattr(package, name) and not name.startswith("__"):
            _replaced.setdefault(name, []).append(getattr(package, name))
        setattr(package, name, value)

    def __delattr__(self, name: str) -> None:
        """Take a name away; one that was given another value has the one before again.

        So patches of tests end, as they don't find the name in the ``__dict__`` of this module.
        """
        before = _replaced.get(name)
        if before:
            setattr(self.__dict__["package"], name, before.pop())
        else:
            delattr(self.__dict__["package"], name)

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["package"])


_replaced: dict[str, list[Any]] = {}
"""The values of names of ``torch`` that were given another one: not an attribute, so that no step reaches them."""


class Named(importlib.metadata.Distribution):
    """The distribution that ``importlib.metadata`` tells of ``torch``: its name and version. It has no files."""

    def read_text(self, filename: str) -> str | None:
        """The metadata; None for other files."""
        if filename != "METADATA":
            return None
        return f"Metadata-Version: 2.1\nName: torch\nVersion: {Stand.__version__}\n"

    def locate_file(self, path: str | PathLike[str]) -> Any:
        """Refused: there is no such file."""
        raise FileNotFoundError(path)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of tapegrad under the name of torch."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of a module that is imported as ``torch`` or as a part of it.

        Raises:
            ModuleNotFoundError: tapegrad has no such module; it says why, if that is known.
        """
        if fullname == "safetensors.torch":
            return _reading_elements(importlib.machinery.PathFinder.find_spec(fullname, path))
        if fullname.partition(".")[0] not in NAMES:
            return None
        if fullname != "torch":
            self._check(fullname)
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    @staticmethod
    def _check(fullname: str) -> None:
        own = own_name(fullname)
        try:
            importlib.import_module(own)
        except ModuleNotFoundError as error:
            if error.name is None or not own.startswith(error.name):
                raise  # something else is missing, which that module imports
            why = REASONS.get(fullname)
            raise ModuleNotFoundError(
                f"No module named {fullname!r}: tapegrad, which stands in for torch here, has none"
                + (f"; {why}" if why else ""),
                name=fullname,
            ) from None

    @staticmethod
    def find_distributions(context: Any = None) -> Iterator[importlib.metadata.Distribution]:
        """The distribution ``torch``, for packages that ask for its version before they import it."""
        if context is not None and context.name == "torch":
            yield Named()

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """The stand-in for the package; of its modules those of tapegrad are taken."""
        return Stand(spec) if spec.name == "torch" else None

    def exec_module(self, module: ModuleType) -> None:
        """Put tapegrad's module in the place of the one that was made."""
        if module.__name__ != "torch":
            sys.modules[module.__name__] = importlib.import_module(own_name(module.__name__))


class SafetensorsLoader(importlib.abc.Loader):
    """Loads ``safetensors.torch``, which reads memory at addresses; those of tensors are made up (Note [Addresses]).

    Args:
        loader: what loads the module.
    """

    def __init__(self, loader: importlib.abc.Loader) -> None:
        self.loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """As the loader does."""
        return self.loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        """Load it, and let it read the elements of tensors."""
        self.loader.exec_module(module)
        ours = importlib.import_module("tapegrad.serialization.safetensors")
        module._to_ndarray = lambda tensor: (ours.array_of(tensor), tensor)


def _reading_elements(spec: importlib.machinery.ModuleSpec | None) -> importlib.machinery.ModuleSpec | None:
    if spec is not None and spec.loader is not None:
        spec.loader = SafetensorsLoader(spec.loader)
    return spec


class Installed:
    """That tapegrad stands in for torch; as a context, until its end.

    As in ``with tapegrad.install(): import some_package_for_pytorch``.
    """

    def __init__(self) -> None:
        self.finder, self.end_telling = Finder(), tell_children()
        sys.meta_path.insert(0, self.finder)
        self.tensor = importlib.import_module("tapegrad").Tensor
        self.module, self.tensor.__module__ = self.tensor.__module__, "torch"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Let ``torch`` be what it was; modules that have imported it keep what they got."""
        if self.finder in sys.meta_path:
            sys.meta_path.remove(self.finder)
            self.end_telling()
            self.tensor.__module__ = self.module
            for name in [name for name in sys.modules if name.partition(".")[0] in NAMES]:
                del sys.modules[name]


def install() -> Installed:
    """Let the name ``torch``, with all its modules, mean tapegrad in this process.

    To be called before anything imports ``torch``. Programs and packages written for PyTorch then run unchanged;
    ``python -m tapegrad train.py`` does it for a script.

    Returns:
        what takes it back: ``remove()``, or the end of a ``with`` block.

    Raises:
        RuntimeError: PyTorch, or tapegrad under its name, was imported before.
    """
    if _inherited:
        return _inherited.pop()
    found = sys.modules.get("torch")
    if isinstance(found, Stand):
        raise RuntimeError("tapegrad stands in for torch already; remove() of what install() gave ends it")
    if found is not None:
        raise RuntimeError(
            "torch was imported before tapegrad.install(), so that some modules would have PyTorch's tensors, and "
            "others tapegrad's; call install() first of all, or run the program by python -m tapegrad SCRIPT"
        )
    return Installed()


def is_installed() -> bool:
    """Tell whether tapegrad stands in for torch in this process."""
    return any(isinstance(finder, Finder) for finder in sys.meta_path)


_inherited: list[Installed] = []


def inherit() -> None:
    """Install tapegrad as torch in a process that was started by one where it is; the script may do so again, once."""
    if not is_installed():
        _inherited.append(install())

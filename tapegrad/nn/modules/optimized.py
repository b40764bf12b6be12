"""The result of ``torch.compile`` of a module: a module again."""

from __future__ import annotations

from typing import Any

from tapegrad.nn.modules.module import Module

SHOWN = "calls", "replayed", "report"
"""The attributes of the compiled call that are shown: see ``torch.compile``. The module's own go before."""


class OptimizedModule(Module, tree=False):
    """A module whose calls are compiled. Its attributes, but for its own hooks, are those of the module.

    Args:
        module: the module, which is ``_orig_mod``.
        call: what calls it, compiled.

    >>> torch.compile(torch.nn.ReLU())
    OptimizedModule(
      (_orig_mod): ReLU()
    )
    """

    def __init__(self, module: Module, call: Any) -> None:
        super().__init__()
        self.__dict__["forward"] = call
        self.__dict__.pop("training")
        self._modules["_orig_mod"] = module

    @property
    def training(self) -> bool:
        return self._modules["_orig_mod"].training

    @training.setter
    def training(self, mode: bool) -> None:
        self._modules["_orig_mod"].training = mode

    @property
    def dynamo_ctx(self) -> Any:
        """The compiled call, in the place of PyTorch's compiler: libraries see by it whether a module is compiled."""
        return self.__dict__["forward"]

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self.__dict__["_modules"][name]
        module = self._orig_mod
        if name in SHOWN and (isinstance(module, OptimizedModule) or not hasattr(module, name)):
            return getattr(self.__dict__["forward"], name)
        return getattr(module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "training" or name in self.__dict__:
            object.__setattr__(self, name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __len__(self) -> int:
        return len(self._orig_mod)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})

    def __reduce__(self) -> tuple:
        return OptimizedModule, (self._orig_mod, self.forward)


Module._compiled_as = OptimizedModule

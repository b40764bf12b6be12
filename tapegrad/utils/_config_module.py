"""``torch.utils._config_module``: settings of PyTorch's compiler, which programs read and set.

Note [Settings of another compiler]
XLA compiles here, whatever is set: settings are kept, and read as they were set. Where one promises something that a
program could see, and that does not happen, setting it warns, and says what does the like.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Mapping
from contextlib import ContextDecorator
from types import ModuleType
from typing import Any

from tapegrad._src.absent import refused
from tapegrad._src.warn import warn

Settings = dict[str, Any]


class ConfigModule(ModuleType):
    """A module whose names are settings; those with a dot are in a part of it: ``config.triton.cudagraphs``.

    >>> from tapegrad._inductor import config
    >>> with config.patch({"triton.cudagraphs": True}):
    ...     config.triton.cudagraphs
    True
    >>> config.triton.cudagraphs
    False
    """

    _config: Settings
    _aliases: dict[str, str]
    _promises: dict[str, str]

    def __getattr__(self, name: str) -> Any:
        name = self._aliases.get(name, name)
        if name in self._config:
            return self._config[name]
        if any(known.startswith(f"{name}.") for known in self._config):
            return SubConfig(self, f"{name}.")
        raise self._unknown(name)

    def __setattr__(self, name: str, value: Any) -> None:
        name = self._aliases.get(name, name)
        if name not in self._config:
            raise self._unknown(name)
        if name in self._promises and value and value != self._config[name]:
            warn(f"{self._shown}.{name} changes nothing in tapegrad: {self._promises[name]}")
        self._config[name] = value

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(name.partition(".")[0] for name in self._config)})

    @property
    def _shown(self) -> str:
        return self.__name__.replace("tapegrad", "torch", 1)

    def _unknown(self, name: str) -> AttributeError:
        return AttributeError(f"{self._shown}.{name} does not exist")

    def get_config_copy(self) -> Settings:
        """All settings, by name."""
        return dict(self._config)

    shallow_copy_dict = get_config_copy

    def save_config(self) -> bytes:
        """All settings, pickled."""
        return pickle.dumps(self._config, protocol=2)

    def load_config(self, maybe_pickled_config: bytes | Mapping[str, Any]) -> None:
        """Take over settings: a dictionary, or what ``save_config`` gave."""
        given = maybe_pickled_config
        self._config.update(pickle.loads(given) if isinstance(given, bytes) else given)

    def patch(self, arg1: str | Mapping[str, Any] | None = None, arg2: Any = None, **kwargs: Any) -> Patch:
        """A context, and a decorator, in which settings are others.

        Args:
            arg1: the name of a setting, or a dictionary of several.
            arg2: its value.
            kwargs: settings by name.

        Raises:
            AttributeError: there is no such setting, when it is entered.
        """
        if isinstance(arg1, str):
            return Patch(self, {arg1: arg2})
        return Patch(self, dict(arg1 or kwargs))

    codegen_config = refused("torch.utils._config_module.codegen_config", "get_config_copy() gives all settings")


class SubConfig:
    """The settings of a config whose names begin alike.

    Args:
        config: the module.
        prefix: with what, to the dot.
    """

    def __init__(self, config: ConfigModule, prefix: str) -> None:
        self.__dict__.update(_config=config, _prefix=prefix)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._config, self._prefix + name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._config, self._prefix + name, value)


class Patch(ContextDecorator):
    """A context in which settings are others: see ``ConfigModule.patch``.

    Args:
        config: the module.
        changes: the settings by name.
    """

    def __init__(self, config: ConfigModule, changes: Settings) -> None:
        self.config, self.changes = config, changes
        self.before: list[Settings] = []

    def __enter__(self) -> None:
        before = {name: getattr(self.config, name) for name in self.changes}
        self.before.append(before)
        for name, value in self.changes.items():
            setattr(self.config, name, value)

    def __exit__(self, *error: object) -> None:
        for name, value in self.before.pop().items():
            self.config._config[self.config._aliases.get(name, name)] = value


def install_config_module(
    module: str, settings: Settings, promises: dict[str, str] | None = None, aliases: dict[str, str] | None = None
) -> None:
    """Make a module one of settings.

    Args:
        module: its name.
        settings: its settings, with what they are at first.
        promises: which of them promise what does not happen here, and what to do instead.
        aliases: other names of settings.
    """
    found = sys.modules[module]
    vars(found).update(_config=dict(settings), _promises=promises or {}, _aliases=aliases or {})
    found.__class__ = ConfigModule

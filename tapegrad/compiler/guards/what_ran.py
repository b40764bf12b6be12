"""The Python that has run in a call: which instructions of the user's code, and what these have called.

Note [What ran]
Whether a call can be replayed is decided by what it has run, not by what its code could have run. While a call is
captured, Python tells of each instruction of code that is searched (the user's, and that of libraries nobody knows)
that it is executed (from 3.12 on, of each line: ``watching.py``); of each Python function that begins, and of each
function of C that such code calls. So what counts are the names of instructions that were executed (``code.py``), in
functions that ran; and what was called is judged (``allowed.py``). The next call does the same as long as all that it
reads is the same: it takes another way only where it finds something else.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Collection, Iterator
from types import CodeType, FrameType, MethodType
from typing import Any

from tapegrad._src.execution.recording.capturing import capturing
from tapegrad._src.tape.kept import WRITTEN
from tapegrad.compiler.guards.allowed import (
    WRAPPING,
    code_is_allowed,
    code_reaches,
    code_reads_functions,
    function_is_allowed,
    function_reaches,
)
from tapegrad.compiler.guards.appended import uses_of_names
from tapegrad.compiler.guards.code import Mentions, absolute, executed, imported, mentions, offsets_of, resolved
from tapegrad.compiler.guards.locations import Location
from tapegrad.compiler.guards.trace_rules import (
    HIDDEN,
    OF_TENSORS,
    REACHING_NAMES,
    is_machinery,
    is_searched,
    is_standard,
    is_trusted,
    names_of_machinery,
)

USERS, OURS, WRAPPER, LIBRARY, KNOWN = "user's", "ours", "wrapper", "library", "known"
"""Whose code is: searched and watched; searched, but known; a function that stands for others; judged; known."""

IMPORTED = "imported"
"""The code of a module, or text that a library executes; the user can't do that unseen."""


def owner_of(code: CodeType, names: dict) -> str:
    """Whose code is, by the globals of its function."""
    module = str(names.get("__name__") or "")
    if code.co_name == "<module>" or any(getattr(one, "__code__", None) is code for one in gc.callbacks):
        return IMPORTED  # of which nothing is the call's own
    if code.co_filename == WRITTEN or module.startswith("namedtuple_"):
        return KNOWN
    if module in WRAPPING:
        return WRAPPER
    if is_trusted(module):
        return LIBRARY
    if is_machinery(module) or is_searched(module):
        return OURS
    return LIBRARY if is_standard(module) else USERS


class CodeThatRan:
    """The code that has run, in one call or in several.

    Attributes:
        instructions: by the code of functions that are the user's, the offsets of instructions that were executed.
        ours: code of modules, optimizers and the like.
        reaches: whether something was called that reads attributes which nobody names.
    """

    def __init__(self) -> None:
        self.instructions: dict[CodeType, set[int]] = {}
        self.ours: dict[CodeType, dict] = {}
        self.reaches = False
        self._mentions: dict[CodeType, Mentions] = {}

    def said(self, code: CodeType) -> Mentions | None:
        """The names that some code has mentioned: of the user's, what was executed; None if it has not run."""
        known = self._mentions.get(code)
        if known is None:
            offsets = self.instructions.get(code)
            if offsets is not None:
                known = executed(code, offsets)
            elif code in self.ours:
                known = mentions(code)
            else:
                return None
            self._mentions[code] = known
        return known

    def said_with_inner(self, code: CodeType) -> Mentions:
        """The names that some code has mentioned, and the code inside of it that has run."""
        inner = [self.said_with_inner(one) for one in code.co_consts if isinstance(one, CodeType)]
        mine = self.said(code)
        return Mentions.joined([*([] if mine is None else [mine]), *inner])

    def has_run(self, code: CodeType) -> bool:
        """Tell whether code has run that is watched, or known."""
        return code in self.instructions or code in self.ours

    def lacks(self, other: CodeThatRan) -> CodeType | None:
        """The first code of which more has run elsewhere; None if there is none."""
        for code, offsets in other.instructions.items():
            if not offsets <= self.instructions.get(code, _NOTHING):
                return code
        return next((code for code in other.ours if code not in self.ours), None)

    def joined(self, other: CodeThatRan, reaches: bool) -> CodeThatRan:
        """The code that has run here or elsewhere."""
        both = CodeThatRan()
        both.instructions = {code: set(offsets) for code, offsets in self.instructions.items()}
        for code, offsets in other.instructions.items():
            both.instructions.setdefault(code, set()).update(offsets)
        both.ours, both.reaches = self.ours | other.ours, self.reaches or reaches
        return both


_NOTHING: frozenset[int] = frozenset()


class WhatRan(CodeThatRan):
    """The code that has run in a call. See Note [What ran].

    Attributes:
        known: whether Python has told.
        globals: by the code of functions that are the user's, the globals of these.
        reads_functions: whether something was called that reads the code of functions, whether or not they run.
        refused: the first thing that was called and is not allowed, with the line; None if there is none.
    """

    def __init__(self, root: Any = None) -> None:
        super().__init__()
        self._root = root
        self._base: FrameType | None = None
        self._entered: dict[int, tuple[MethodType, Any]] = {}
        self._blamed: set[int] = set()
        self.known = True
        self._watched: dict[int, set[int]] = {}
        self._owners: dict[int, str] = {}
        self._quiet: set[int] = set()
        self._codes: list[CodeType] = []
        self.globals: dict[CodeType, dict] = {}
        self.reads_functions = False
        self.refused: str | None = None
        self._judged: set[Any] = set()
        self._listens = self._stands = self._imports = False
        self._module: FrameType | None = None

    def begin(self, frame: FrameType | None) -> None:
        """Note in which frame the call is made; None: it is over."""
        self._base = frame

    # -- while the call runs

    def began(self, frame: FrameType, event: str, argument: Any) -> Callable | None:
        """A Python function begins."""
        code = frame.f_code
        if id(code) in self._quiet and not (self._listens or self._stands):
            return None
        offsets = self._watched.get(id(code))
        if offsets is None or self._imports:
            if self._imports:
                return None
            if is_importing(frame.f_back):
                return self._importing(frame)
            owner = self._owners.get(id(code)) or self._new(code, frame.f_globals)
            if owner != USERS:
                if self._listens:  # the user's code has called, and does not go on before that is done
                    self._listens, self._stands = False, owner == WRAPPER
                    sys.setprofile(None)
                    self._judge_code(frame, code, owner)
                elif self._stands and id(code) not in self._judged:
                    self._judge_code(frame, code, owner)
                if owner == OURS:
                    self._note_method(frame)
                return self._importing(frame) if owner == IMPORTED else None
            offsets = self._watched[id(code)]
        capturing.users_code += 1
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        add = offsets.add

        def at_instruction(frame: FrameType, event: str, argument: Any) -> Any:
            if event == "opcode":
                add(frame.f_lasti)
                if not self._listens:
                    self._listens = True
                    sys.setprofile(self.called)
            return at_instruction

        return at_instruction

    def _note_method(self, frame: FrameType) -> None:
        """Note what is called, if it could be compiled by itself, and which of those has called it."""
        method = method_of(frame)
        if method is None or method.__self__ is self._root or id(method.__self__) in self._entered:
            return
        outer = next((one for one in self._methods_around(frame) if one is not method.__self__), None)
        self._entered[id(method.__self__)] = method, outer

    def _methods_around(self, frame: FrameType | None) -> Iterator[Any]:
        """The modules and optimizers that are called where a frame is, innermost first, without the root."""
        while frame is not None and frame is not self._base:
            method = method_of(frame)
            if method is not None and method.__self__ is not self._root:
                yield method.__self__
            frame = frame.f_back

    def blame(self, frame: FrameType | None) -> None:
        """Note that all that is called where a frame is can't be replayed, because of what is done there."""
        self._blamed |= set(map(id, self._methods_around(frame)))

    @property
    def methods(self) -> list[MethodType]:
        """The calls that the call has run of modules and optimizers, each by no other one that may be replayed: of
        those that are to blame for what can't be, those that they have called."""
        return [
            method for method, outer in self._entered.values()
            if not self.is_to_blame(method) and (outer is None or id(outer) in self._blamed)
        ]  # fmt: skip

    def is_to_blame(self, method: MethodType) -> bool:
        """Tell whether what a method does prevents that the call is replayed."""
        return id(method.__self__) in self._blamed

    def starts(self, frame: FrameType, code: CodeType) -> bool:
        """A Python function begins, of which Python tells no more than that; whether its instructions matter."""
        if id(code) in self._watched:
            return True
        if self._module is not None:
            if self._module.f_back is not None:  # it is being imported: what that runs is run once
                return False
            self._module = None
        if is_importing(frame.f_back):
            self._module = frame
            return False
        owner = self._owners.get(id(code)) or self._new(code, frame.f_globals)
        if owner == LIBRARY:
            self._judge_code(frame, code, owner)
        elif owner == IMPORTED:
            self._module = frame
        elif owner == OURS:
            self._note_method(frame)
        return owner == USERS

    def executes(self, code: CodeType, line: int) -> None:
        """A line is executed: all of its instructions, for all that is known."""
        offsets = self._watched.get(id(code))
        if offsets is not None:
            offsets.update(offsets_of(code).get(line, ()))

    def _importing(self, frame: FrameType) -> Callable:
        """A module is imported: what that runs is run once."""
        self._imports = True
        frame.f_trace_lines = False

        def at_end(frame: FrameType, event: str, argument: Any) -> Any:
            if event == "return":
                self._imports = False
            return at_end

        return at_end

    def _new(self, code: CodeType, names: dict) -> str:
        """Code that has not run before."""
        owner = self._owners[id(code)] = owner_of(code, names)
        self._codes.append(code)  # so that its identity stays its own
        if owner == OURS:
            self.ours[code] = names
        elif owner == USERS:
            self._watched[id(code)] = self.instructions.setdefault(code, set())
            self.globals[code] = names
        elif owner in (LIBRARY, KNOWN):
            self._quiet.add(id(code))
        return owner

    def called(self, frame: FrameType, event: str, argument: Any) -> None:
        """Something begins or ends; of interest are functions of C that the user's code calls."""
        if event == "c_call" and id(frame.f_code) in self._watched:
            owner = argument.__self__
            if owner is None or type(owner) is _MODULE:
                key: Any = id(argument)
            else:
                key = id(owner) if type(owner) is type else type(owner), argument.__name__
            if key not in self._judged:
                self._judge_function(frame, argument, key)

    def _judge_code(self, frame: FrameType, code: CodeType, owner: str) -> None:
        """Judge a library's function, if the user's code has called it, or a function that stands for it."""
        caller = frame.f_back
        if caller is None or owner != LIBRARY or id(code) in self._judged:
            return
        module = frame.f_globals.get("__name__")
        stands = self._owners.get(id(caller.f_code)) == WRAPPER and is_trusted(module)
        if id(caller.f_code) not in self._watched and not stands:
            return
        self.reaches = self.reaches or code_reaches(code, module)
        self.reads_functions = self.reads_functions or code_reads_functions(code, module)
        if code_is_allowed(code, module):
            self._judged.add(id(code))
        else:  # whoever calls it is to blame
            self._refuse(f"{module}.{code.co_qualname}", caller)

    def _judge_function(self, frame: FrameType, function: Any, key: Any) -> None:
        self.reaches = self.reaches or function_reaches(function)
        if function_is_allowed(function):
            if type(function.__self__) is not str:  # a format is looked at each time
                self._judged.add(key)
        else:
            owner = function.__self__
            of_module = owner is None or type(owner) is _MODULE
            cls = owner if isinstance(owner, type) else type(owner)
            of = function.__module__ if of_module else f"{cls.__module__}.{cls.__qualname__}"
            self._refuse(f"{of}.{function.__name__}".removeprefix("builtins."), frame)

    def _refuse(self, what: str, frame: FrameType) -> None:
        self.blame(frame)
        if self.refused is None:
            while id(frame.f_code) not in self._watched and frame.f_back is not None:
                frame = frame.f_back
            where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
            self.refused = f"it calls {what} at {where}, which is not known to do the same each time, and nothing else"


class Executed:
    """The instructions that were executed in a call, as the places of what is reachable need it.

    Attributes:
        names: the attributes that were named.
        reaches: whether others may have been asked for, too.
    """

    def __init__(self, ran: WhatRan) -> None:
        self._ran = ran
        self.reaches = ran.reaches
        self.names: set[str] = set()
        self._said: dict[CodeType, Mentions] = {}
        for code, names in (*ran.globals.items(), *ran.ours.items()):
            self._take(code, names, is_machinery(names.get("__name__")))
        self._watched = frozenset(ran.instructions)

    def _take(self, code: CodeType, names: dict, machinery: bool) -> None:
        said = self._said_by(code)
        words = {word for chain in said.chains for word in chain}
        if machinery:
            named = said.names | {word for chain in said.chains for word in chain[1:]}
            self.names |= names_of_machinery(named | said.texts)  # it reads ``self.__dict__["_hooks"]``, too
            return
        self.names |= said.names | ({"__match_args__"} if said.patterns else set())
        for chain in said.chains:
            self.names.update(resolved(chain, names).rest)
        self.reaches = self.reaches or bool(said.patterns) or not REACHING_NAMES.isdisjoint(words | said.names)
        if self.reaches or code in self._ran.ours:
            self.names |= {text for text in said.texts if text.isidentifier()}

    def _said_by(self, code: CodeType) -> Mentions:
        said = self._ran.said(code)
        assert said is not None
        return said

    def uses(self) -> dict[str, set[str]]:
        """The uses of what was named, by names."""
        watched = [(code, self._ran.instructions[code]) for code in self._ran.globals]
        return uses_of_names([*watched, *((code, None) for code in self._ran.ours)])

    def needs(self, location: Location) -> bool:
        """Tell whether a place matters."""
        need = location.need
        if need is None:
            return True
        tag, code, what = need
        if tag == "name":
            return what in self.names or (self.reaches and not what.startswith("__"))
        if tag == "any":
            return self.reaches
        if tag == "run":
            return self._ran.reads_functions or self._ran.has_run(code)
        said = self._said.get(code)
        if said is None:
            said = self._said[code] = self._ran.said_with_inner(code)
        return what in (said.chains if tag == "chain" else said.modules)

    def unknown(self, codes: Collection[CodeType | None]) -> str | None:
        """The first thing that has run and can't be told from what is known of it, in words; ``codes``: what was
        found."""
        for code, names in self._ran.globals.items():
            for module in self._said_by(code).modules:
                if imported(module, names)[-1:] != [absolute(module, names)]:
                    return f"it imports {module}, which is not there"
        hidden = sorted(self.names & (OF_TENSORS | HIDDEN))
        if hidden:
            return f"it mentions {hidden[0]}" + (" of tensors" if hidden[0] in OF_TENSORS else "")
        covered: set[CodeType] = set()
        waiting = [code for code in codes if code is not None]
        while waiting:
            code = waiting.pop()
            if code not in covered:
                covered.add(code)
                waiting += [one for one in code.co_consts if isinstance(one, CodeType)]
        lost = next((code for code in self._watched if code not in covered), None)
        if lost is None:
            return None
        where = f"{lost.co_filename}:{lost.co_firstlineno}"
        return f"it runs {lost.co_qualname} of {where}, of which it is not known from where it was taken"


def is_importing(frame: FrameType | None) -> bool:
    """Tell whether a frame is that of Python's import system where it asks finders and loaders, once for each
    module."""
    return frame is not None and frame.f_code.co_name in _ASKING_OTHERS and frame.f_code.co_filename in _FROZEN


_FROZEN = frozenset({"<frozen importlib._bootstrap>", "<frozen importlib._bootstrap_external>"})
_ASKING_OTHERS = frozenset({"_find_spec", "_load_unlocked", "module_from_spec", "_init_module_attrs"})


def method_of(frame: FrameType) -> MethodType | None:
    """The method of a module, or of an optimizer, that a frame is the call of; None, if of nothing like that.

    Of an optimizer it is what the hooks are called around, if there is no closure.
    """
    code, module = frame.f_code, frame.f_globals.get("__name__")
    if code.co_name in ("__call__", "_call_impl") and module == "tapegrad.nn.modules.module":
        owner = frame.f_locals["self"]
        return MethodType(type(owner)._call_impl, owner)
    if code.co_qualname == HOOKED and module == "tapegrad.optim.optimizer":
        inside = frame.f_locals
        if not (inside["args"] or inside["kwargs"]):
            return MethodType(inside["function"], inside["self"])
    return None


HOOKED = "Optimizer.profile_hook_step.<locals>.step"
"""The qualified name of the function that calls the ``step`` of an optimizer."""


_MODULE = type(sys)

"""Reading pickles that nobody vouches for: an interpreter that makes tensors and plain containers, and nothing else.

Note [Nothing is executed]
A pickle is a program for a machine with a stack, whose instructions may call whatever Python can import. This
interpreter knows those instructions only that ``torch.save`` writes. A name is looked up in a table (``names.py``), and
never imported; what is found there is called by functions of this module that look at the arguments first, or was
declared safe by the user, who then answers for it. No instruction takes memory for what the file only claims to have:
strings must lie inside of the file, and containers grow by what is put into them.
"""

from __future__ import annotations

import pickle
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from pickle import UnpicklingError
from struct import Struct
from typing import IO, Any

from tapegrad._src.bindings.state.storages import TypedStorage
from tapegrad._src.execution.data.devices import device
from tapegrad._src.functions.creation import empty
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.nn.parameter import Parameter
from tapegrad.serialization import rebuild
from tapegrad.serialization.names import ALLOWED, BLOCKED, declared_safe

_LONGEST_LINE = 4096
_DEEPEST_KEY, _LARGEST_KEY = 20, 10_000
_EMPTY = "its pickle takes more from the stack than there is"
_INT, _UINT, _SHORT, _FLOAT = Struct("<i"), Struct("<I"), Struct("<H"), Struct(">d")


class DamagedPickle(RuntimeError):
    """A pickle that ends too early, or whose instructions make no sense."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the file is damaged: {why}")


class Source:
    """The bytes of a pickle, of which none are read that aren't there.

    Args:
        file: a binary file, which stands where the pickle begins.
        left: how many bytes there are from there on.
    """

    def __init__(self, file: IO[bytes], left: int) -> None:
        self.file, self.left = file, left
        self._read = file.read

    def read(self, count: int = -1) -> bytes:
        """So many bytes. Raises DamagedPickle: there are fewer."""
        if count < 0:
            count = self.left
        data = self._read(count) if count <= self.left else b""
        if len(data) < count:
            raise DamagedPickle("its pickle is cut short")
        self.left -= count
        return data

    def readline(self) -> bytes:
        """The bytes up to the end of a line, with it."""
        line = self.file.readline(min(self.left, _LONGEST_LINE))
        if not line.endswith(b"\n"):
            raise DamagedPickle("its pickle has a name without an end")
        self.left -= len(line)
        return line


def read_name(source: Source) -> tuple[str, str]:
    """A module and a name in it, as they are called today: protocol 2 writes those of Python 2."""
    try:
        module, name = (source.readline()[:-1].decode() for _ in range(2))
    except UnicodeDecodeError:
        raise DamagedPickle("its pickle has a name that is no text") from None
    if (module, name) in NAME_MAPPING:
        return NAME_MAPPING[module, name]
    return IMPORT_MAPPING.get(module, module), name


# -- calls whose arguments are looked at -------------------------------------------------------------------------------


def _hashable(key: Any) -> Any:
    """A key, if it is no tuple so deep or so large that its hash would not come to an end."""
    if type(key) is tuple:
        seen, level = 0, [key]
        for _ in range(_DEEPEST_KEY):
            seen += sum(map(len, level))
            if not level or seen > _LARGEST_KEY:
                break
            level = [item for part in level for item in part if type(item) is tuple]
        if level:
            raise DamagedPickle("a key is a tuple of tuples that has no end")
    try:
        hash(key)
    except TypeError as error:
        raise DamagedPickle(f"a key is wrong ({error})") from None
    return key


def _pairs(items: Any) -> Iterator[tuple[Any, Any]]:
    for pair in items:
        if type(pair) not in (tuple, list) or len(pair) != 2:
            raise DamagedPickle(f"{type(pair).__name__} instead of a key and a value")
        yield _hashable(pair[0]), pair[1]


def _ordered(items: Any = ()) -> OrderedDict:
    return OrderedDict(items if type(items) in (dict, OrderedDict) else _pairs(items))


def _counter(items: Any = ()) -> Counter:
    return Counter(items if type(items) in (dict, OrderedDict, Counter) else [_hashable(item) for item in items])


def _set(items: Any = ()) -> set:
    if type(items) not in (list, tuple):
        raise DamagedPickle(f"a set of {type(items).__name__}")
    return {_hashable(item) for item in items}


def _bytearray(data: Any = b"", encoding: Any = None) -> bytearray:
    if type(data) is str:
        data = rebuild.encode(data, encoding)
    if type(data) not in (bytes, bytearray):
        raise DamagedPickle(f"a bytearray of {type(data).__name__}")
    return bytearray(data)


def _complex(real: Any = 0, imag: Any = 0) -> complex:
    if not all(type(part) in (int, float) for part in (real, imag)):
        raise DamagedPickle("a complex number of what are no numbers")
    return complex(real, imag)


def _size(lengths: Any = ()) -> Size:
    if type(lengths) not in (tuple, list) or not all(type(length) is int for length in lengths):
        raise DamagedPickle("a torch.Size of what are no ints")
    return Size(lengths)


def _device(kind: Any, index: Any = None) -> device:
    return device(kind) if index is None else device(kind, index)


def _tensor() -> Tensor:
    return empty(0)


def _parameter(data: Any = None, requires_grad: Any = True) -> Parameter:
    return Parameter(_tensor() if data is None else data, requires_grad)


CALLS: dict[int, Callable] = {
    id(OrderedDict): _ordered, id(Counter): _counter, id(set): _set, id(bytearray): _bytearray, id(complex): _complex,
    id(Size): _size, id(device): _device, id(Tensor): _tensor, id(Parameter): _parameter,
    id(rebuild._DimRange): rebuild._DimRange,
    **{id(function): function
       for function in (*rebuild.UTILS, rebuild._rebuild_from_type_v2, rebuild._get_layout, rebuild.encode)},
}  # fmt: skip
"""The functions that everybody may call, and how. What isn't here can be named, but not called."""


# -- the machine -------------------------------------------------------------------------------------------------------


class Unpickler:
    """Makes the objects of one pickle.

    Args:
        source: where it is.
        persistent_load: the storage that a tuple names.
        encoding: of strings of Python 2; ``bytes`` leaves them as they are.
    """

    def __init__(self, source: Source, persistent_load: Callable[[Any], Any], encoding: str = "utf-8") -> None:
        self.source, self.persistent_load, self.encoding = source, persistent_load, encoding
        self.stack: list[Any] = []
        self.outer: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        self.safe = declared_safe()
        self.safe_ids = {id(thing) for thing in self.safe.values()}

    def load(self) -> Any:
        """The object.
        Raises UnpicklingError: it is, or has, something that isn't allowed; PyTorch's messages. DamagedPickle: the
        pickle makes no sense.
        """
        read = self.source.read
        while True:
            opcode = read(1)
            if opcode == pickle.STOP:
                return self.pop()
            instruction = INSTRUCTIONS.get(opcode)
            if instruction is None:
                raise UnpicklingError(f"Unsupported operand {opcode[0]}")
            instruction(self)

    def pop(self) -> Any:
        """Take off what lies on top of the stack."""
        if not self.stack:
            raise DamagedPickle(_EMPTY)
        return self.stack.pop()

    @property
    def top(self) -> Any:
        if not self.stack:
            raise DamagedPickle("its pickle looks for something on an empty stack")
        return self.stack[-1]

    def pop_mark(self) -> list[Any]:
        """All that was put on the stack since the last mark."""
        if not self.outer:
            raise DamagedPickle("its pickle looks for a mark that isn't there")
        items, self.stack = self.stack, self.outer.pop()
        return items

    # names and calls

    def name(self) -> None:
        self.stack.append(self.found(*read_name(self.source)))

    def found(self, module: str, name: str) -> Any:
        """The object that a name stands for. Raises UnpicklingError: nothing that is allowed."""
        full = f"{module}.{name}"
        if module in BLOCKED:
            raise UnpicklingError(f"Trying to load unsupported GLOBAL {full} whose module {module} is blocked.")
        for table in (ALLOWED, self.safe):
            if full in table:
                return table[full]
        full = full.removeprefix("builtins.")
        raise UnpicklingError(
            f"Unsupported global: GLOBAL {full} was not an allowed global by default. Please use "
            f"`torch.serialization.add_safe_globals([{full}])` or the `torch.serialization.safe_globals([{full}])` "
            "context manager to allowlist this global if you trust this class/function."
        )

    def call(self) -> None:
        args, function = self.pop(), self.pop()
        if id(function) in CALLS:
            self.stack.append(_called(CALLS[id(function)], args))
        elif id(function) in self.safe_ids:
            self.stack.append(function(*args))
        else:
            what = f"Trying to call reduce for unrecognized function {rebuild.shown(function)}"
            if hasattr(function, "__self__"):
                what += f" which belongs to {rebuild.shown(function.__self__)}"
            raise UnpicklingError(what)

    def new(self) -> None:
        args, cls = self.pop(), self.pop()
        if id(cls) in CALLS and isinstance(cls, type):
            self.stack.append(_called(CALLS[id(cls)], args))
        elif id(cls) in self.safe_ids:
            self.stack.append(cls.__new__(cls, *args))
        else:
            raise UnpicklingError(
                "Can only create new object for nn.Parameter or classes allowlisted "
                f"via `add_safe_globals` but got {rebuild.shown(cls)}"
            )

    def build(self) -> None:
        state, made = self.pop(), self.top
        if type(made) is Tensor:
            self.stack[-1] = _old_tensor(state)
        elif type(made) is OrderedDict:
            if type(state) is not dict or not all(type(name) is str for name in state):
                raise DamagedPickle("an OrderedDict has attributes without names")
            made.__dict__.update(state)
        elif type(made) is rebuild._DimRange:
            pass
        elif id(type(made)) in self.safe_ids:
            _restore(made, state)
        else:
            raise UnpicklingError(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted "
                f"via `add_safe_globals`, but got {type(made)}"
            )

    def persistent(self) -> None:
        named = self.pop()
        if type(named) is not tuple and type(named) is not int:
            raise UnpicklingError(f"persistent_load id must be tuple or int, but got {type(named)}")
        if type(named) is tuple and named and not _is_storage(named[0]):
            raise UnpicklingError(f"Only persistent_load of storage is allowed, but got {type(named[0])}")
        self.stack.append(self.persistent_load(named))

    # containers

    def append_one(self) -> None:
        item, to = self.pop(), self.top
        if type(to) is not list:
            raise UnpicklingError(f"Can only append to lists, but got {type(to)}")
        to.append(item)

    def append_all(self) -> None:
        items, to = self.pop_mark(), self.top
        if type(to) is not list:
            raise UnpicklingError(f"Can only extend lists, but got {type(to)}")
        to.extend(items)

    def set_one(self) -> None:
        value, key = self.pop(), self.pop()
        self._mapping("SETITEM")[_hashable(key)] = value

    def set_all(self) -> None:
        items, mapping = self.pop_mark(), self._mapping("SETITEMS")
        if len(items) % 2:
            raise DamagedPickle("its pickle has a key without a value")
        for key, value in zip(items[::2], items[1::2], strict=True):
            mapping[_hashable(key)] = value

    def _mapping(self, instruction: str) -> Any:
        if type(self.top) not in (dict, OrderedDict, Counter):
            raise UnpicklingError(
                f"Can only {instruction} for dict, collections.OrderedDict, "
                f"collections.Counter, but got {type(self.top)}"
            )
        return self.top

    def mark(self) -> None:
        self.outer.append(self.stack)
        self.stack = []

    def tuple_since_mark(self) -> None:
        items = tuple(self.pop_mark())
        self.stack.append(items)

    def tuple_of(self, count: int) -> None:
        if count > len(self.stack):
            raise DamagedPickle(_EMPTY)
        items = tuple(self.stack[-count:])
        self.stack[-count:] = [items]

    # constants, and what is remembered

    def number(self, form: Struct) -> Any:
        return form.unpack(self.source.read(form.size))[0]

    def long(self) -> None:
        self.stack.append(pickle.decode_long(self.source.read(self.byte())))

    def byte(self) -> int:
        return self.source.read(1)[0]

    def text(self) -> None:
        data = self.source.read(self.number(_UINT))
        try:
            self.stack.append(str(data, "utf-8", "surrogatepass"))
        except UnicodeDecodeError:
            raise DamagedPickle("a string is no text") from None

    def old_text(self) -> None:
        data = self.source.read(self.byte())
        try:
            self.stack.append(data if self.encoding == "bytes" else data.decode(self.encoding))
        except UnicodeDecodeError:
            raise DamagedPickle(f"a string of Python 2 is not in the encoding {self.encoding!r}") from None

    def recall(self, index: int) -> None:
        if index not in self.memo:
            raise DamagedPickle("its pickle recalls what it hasn't remembered")
        self.stack.append(self.memo[index])

    def remember(self) -> None:
        index = self.source.read(1)[0]
        self.memo[index] = self.stack[-1] if self.stack else self.top

    def remember_far(self) -> None:
        index = self.number(_UINT)
        self.memo[index] = self.stack[-1] if self.stack else self.top

    def protocol(self) -> None:
        version = self.byte()
        if version != 2:
            warn(
                f"Detected pickle protocol {version} in the checkpoint, which was not the default pickle protocol used "
                "by `torch.load` (2). The weights_only Unpickler might not support all instructions implemented by "
                "this protocol, please file an issue for adding support if you encounter this."
            )


def _is_storage(word: Any) -> bool:
    return type(word) in (str, bytes) and word in ("storage", b"storage")


def _called(function: Callable, args: Any) -> Any:
    """The result of a function that looks at its arguments; that they are of another number says that, too."""
    if type(args) is not tuple:
        raise DamagedPickle(f"a function is called with {type(args).__name__}")
    try:
        return function(*args)
    except (TypeError, ValueError, KeyError, AttributeError, IndexError, OverflowError) as error:
        raise DamagedPickle(f"{function.__name__.lstrip('_')} was called wrongly ({error})") from error


def _old_tensor(state: Any) -> Tensor:
    """A tensor as the first releases wrote it: made without anything, then told where it lies."""
    if type(state) is not tuple or len(state) != 4 or not isinstance(state[0], TypedStorage):
        raise DamagedPickle("a tensor has the state of something else")
    return rebuild._rebuild_tensor(*state)


def _restore(made: Any, state: Any) -> None:
    """Give an object of a class that was declared safe its state, as ``pickle`` does."""
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
        return
    state, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    if state:
        made.__dict__.update(state)
    for name, value in (slots or {}).items():
        setattr(made, name, value)


def _constant(value: Any) -> Callable[[Unpickler], None]:
    return lambda machine: machine.stack.append(value)


def _empty(kind: type) -> Callable[[Unpickler], None]:
    return lambda machine: machine.stack.append(kind())


def _number(form: Struct) -> Callable[[Unpickler], None]:
    return lambda machine: machine.stack.append(machine.number(form))


INSTRUCTIONS: dict[bytes, Callable[[Unpickler], Any]] = {
    pickle.PROTO: Unpickler.protocol, pickle.GLOBAL: Unpickler.name, pickle.REDUCE: Unpickler.call,
    pickle.NEWOBJ: Unpickler.new, pickle.BUILD: Unpickler.build, pickle.BINPERSID: Unpickler.persistent,
    pickle.APPEND: Unpickler.append_one, pickle.APPENDS: Unpickler.append_all, pickle.SETITEM: Unpickler.set_one,
    pickle.SETITEMS: Unpickler.set_all, pickle.MARK: Unpickler.mark, pickle.TUPLE: Unpickler.tuple_since_mark,
    pickle.TUPLE1: lambda machine: machine.tuple_of(1), pickle.TUPLE2: lambda machine: machine.tuple_of(2),
    pickle.TUPLE3: lambda machine: machine.tuple_of(3), pickle.EMPTY_TUPLE: _constant(()), pickle.NONE: _constant(None),
    pickle.NEWTRUE: _constant(True), pickle.NEWFALSE: _constant(False), pickle.EMPTY_LIST: _empty(list),
    pickle.EMPTY_DICT: _empty(dict), pickle.EMPTY_SET: _empty(set), pickle.BININT: _number(_INT),
    pickle.BININT1: lambda machine: machine.stack.append(machine.byte()), pickle.BININT2: _number(_SHORT),
    pickle.BINFLOAT: _number(_FLOAT), pickle.LONG1: Unpickler.long, pickle.BINUNICODE: Unpickler.text,
    pickle.SHORT_BINSTRING: Unpickler.old_text, pickle.BINGET: lambda machine: machine.recall(machine.byte()),
    pickle.LONG_BINGET: lambda machine: machine.recall(machine.number(_UINT)),
    pickle.BINPUT: Unpickler.remember, pickle.LONG_BINPUT: Unpickler.remember_far,
}  # fmt: skip
"""By their first bytes, the instructions that ``torch.save`` writes."""


def names_in(source: Source) -> set[str]:
    """All that a pickle names as functions and classes, without making anything of it."""
    names: set[str] = set()
    machine = Unpickler(source, lambda named: None)
    while (opcode := source.read(1)) != pickle.STOP:
        if opcode in _SIZES:
            source.read(_SIZES[opcode])
        elif opcode == pickle.GLOBAL:
            names.add(".".join(read_name(source)))
        elif opcode in (pickle.BINUNICODE, pickle.SHORT_BINSTRING, pickle.LONG1, pickle.PROTO):
            INSTRUCTIONS[opcode](machine)
        elif opcode not in INSTRUCTIONS:
            raise UnpicklingError(f"Unsupported operand {opcode[0]}")
    return names


_SIZES = {
    pickle.BININT: 4, pickle.BININT1: 1, pickle.BININT2: 2, pickle.BINFLOAT: 8, pickle.BINGET: 1,
    pickle.LONG_BINGET: 4, pickle.BINPUT: 1, pickle.LONG_BINPUT: 4,
}  # fmt: skip
"""The number of bytes that follow instructions that have always as many."""

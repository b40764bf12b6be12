"""Messages of ``checkpoint(debug=True)`` when both runs of a function differ: which operators ran, and where from."""

from __future__ import annotations

import inspect
import weakref
from pathlib import Path
from typing import Any, NoReturn

from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops.overloads import OpOverload
from tapegrad.utils.checkpoint.recomputation import CheckpointError
from tapegrad.utils.operator_modes import OperatorMode, each_output, in_pytorch_words

_HERE = str(Path(__file__).resolve().parents[2])

_ABBREVIATIONS = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "complex64": "c64", "complex128": "c128",
    "complex32": "c32", "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8", "uint8": "u8", "uint16": "u16",
    "uint32": "u32", "uint64": "u64", "bool": "b8",
}  # fmt: skip

_RULE = "-" * 78
_WAVES = "~" * 78


class _Names:
    """Numbers for tensors, in the order in which they are first seen: ``$0``, ``$1``, ..."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[weakref.ref[Tensor], int]] = {}
        self.count = 0

    def of(self, tensor: Tensor) -> str:
        reference, number = self.known.get(id(tensor), (lambda: None, 0))
        if reference() is not tensor:
            number, self.count = self.count, self.count + 1
            self.known[id(tensor)] = (weakref.ref(tensor), number)
        return f"${number}"

    def shown(self, item: Any) -> str:
        """An argument, as a log shows it."""
        if isinstance(item, Tensor):
            return self.of(item)
        if isinstance(item, (tuple, list)):
            return str([self.shown(part) for part in item])
        return repr(item)


class _Log(OperatorMode):
    """A context that writes down the operators that run in it, and where they were called."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.places: list[str] = []
        self.names = _Names()

    def __enter__(self) -> _Log:
        self.lines, self.places, self.names = [], [], _Names()
        super().__enter__()
        return self

    def handle(self, op: OperatorLike, func: OpOverload, args: tuple, settings: dict) -> Any:
        given = [self.names.shown(arg) for arg in args]
        given += [f"{name}={self.names.shown(value)}" for name, value in in_pytorch_words(settings).items()]
        out = op(*args, **settings)
        results = each_output(out, self._result)
        shown = ", ".join(results) if isinstance(results, tuple) else results
        self.lines.append(f"{shown} = torch._ops.{func}({', '.join(given)})")
        self.places.append(_stack())
        return out

    def _result(self, tensor: Tensor) -> str:
        kind = _ABBREVIATIONS.get(tensor.dtype.name, tensor.dtype.name)
        return f"{self.names.of(tensor)}: {kind}[{', '.join(map(str, tensor.shape))}]"

    def traces(self, label: str) -> str:
        """Each line with the places that it came from, the innermost first."""
        total = len(self.lines)
        return "".join(
            f"{line}   ({number} of {total} in {label})\n\n{place}\n\n"
            for number, (line, place) in enumerate(zip(self.lines, self.places, strict=True), 1)
        )


def _stack() -> str:
    """The calls that led here, the innermost first, without those inside of this library."""
    places, frame = "", inspect.currentframe()
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith((_HERE, "<")):
            places += f"{code.co_filename}:{frame.f_lineno}:{code.co_name}\n"
        frame = frame.f_back
    return places


class Debugging:
    """The logs of a checkpointed call's first run and of its last."""

    def __init__(self) -> None:
        self.first, self.second = _Log(), _Log()

    def contexts(self) -> tuple[_Log, _Log]:
        """The contexts for both runs."""
        return self.first, self.second

    def explain(self, error: CheckpointError) -> NoReturn:
        """Raise an error that shows both logs."""
        raise CheckpointError(_report(self.first, self.second)) from error


def _report(first: _Log, second: _Log) -> str:
    """The message: traces, then operators, then what to do with them."""
    return f"""\
 An error happened while unpacking tensors; dumping logs of latest computation
because you passed `debug=True` to `torch.utils.checkpoint.checkpoint()`.
Scroll all the way down for guidance on how to navigate these logs.

+{_WAVES}+
|        1. Stack traces of the operators that ran in the original forward     |
+{_RULE}+

{first.traces("original")}
+{_WAVES}+
|        2. Stack traces of the operators that ran during recomputation        |
+{_RULE}+

{second.traces("recompute")}
+{_WAVES}+
|       3. Log of operators in the original forward and recomputation          |
+{_RULE}+
(Scroll up to correlate stack traces with each operation listed below. This
 helps identify their source in the code.)

IMPORTANT: Differences in "detach" calls between the original forward and the
           recomputation are expected. They are introduced by the checkpointing
           mechanism and can be ignored.

Operations executed during the original forward:

{chr(10).join(first.lines)}

Operations executed during recomputation:

{chr(10).join(second.lines)}

+{_RULE}+
 ERROR: Detected non-determinism while running activation checkpointing

 You are seeing this error because you passed `debug=True` to checkpoint and
 tensors to be saved during the original forward and differ between those saved
 during recomputation. This can happen if different operators were ran in the
 original forward and in the recomputation.

 To identify where the mismatch may be coming from, you can do the following:

 1) Compare the operators ran during original forward and recomputation to
    see where they differ. These operators are printed above in the order they
    were executed.

 2) Review the stack trace for each operator to locate its invocation source.
    Each operator's stack trace is printed in their execution order.

 Note that the logs can be quite long. Here's how they are structured:
 (Tip: you can Ctrl-f for these headers)

 1. Stack traces of the operators that ran in the original forward
 2. Stack traces of the operators that ran during recomputation
 3. Log of operators in the original forward and recomputation
 4. Error message                                             <--- You are here
{_RULE}--
"""

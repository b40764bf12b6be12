"""Ways to be told by Python what runs in a call: its monitoring, or tracing where there is none (before 3.12)."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import RLock, get_ident
from types import CodeType, FrameType
from typing import Any

from tapegrad._src.execution.recording.capturing import capturing
from tapegrad.compiler.guards.what_ran import WhatRan


@contextmanager
def traced(ran: WhatRan) -> Iterator[None]:
    """Have Python tell what runs, in a block, besides who is told already (a debugger); but not beside a profiler."""
    if sys.getprofile() is not None:
        ran.known = False
        yield
        return
    before = sys.gettrace()
    tracer = ran.began if before is None else _both(ran.began, before)
    try:
        sys.settrace(tracer)
        capturing.tracer = tracer if before is None else None
        yield
    finally:
        capturing.tracer = None
        ran.known = sys.gettrace() == tracer
        sys.settrace(before)
        sys.setprofile(None)


def _both(ours: Callable, other: Callable) -> Callable:
    """A function that tells two that a function begins, and each what it wants to know of it."""

    def began(frame: FrameType, event: str, argument: Any) -> Callable | None:
        theirs = other(frame, event, argument)
        lines, opcodes = frame.f_trace_lines, frame.f_trace_opcodes
        mine = ours(frame, event, argument)
        if mine is None or theirs is None:
            return theirs if mine is None else mine
        frame.f_trace_lines = lines

        def inside(frame: FrameType, event: str, argument: Any) -> Callable:
            nonlocal theirs
            mine(frame, event, argument)
            if theirs is not None and (opcodes or event != "opcode"):
                theirs = theirs(frame, event, argument)
            return inside

        return inside

    return began


if sys.version_info >= (3, 12):
    _NAME = "tapegrad.compile"
    _FREE = 3, 4
    """Numbers that no debugger or profiler takes for itself."""

    class _Monitor:
        """Tells each thread that captures a call what it runs."""

        def __init__(self) -> None:
            self.lock = RLock()
            self.running: dict[int, WhatRan] = {}
            self.codes: set[CodeType] = set()
            self.tool = 0

        def begin(self, ran: WhatRan) -> bool:
            """Tell this thread from now on; whether that can be done."""
            with self.lock:
                if not self.running and not self._enter():
                    return False
                self.running[get_ident()] = ran
                return True

        def end(self) -> None:
            """Tell this thread no more."""
            with self.lock:
                self.running.pop(get_ident(), None)
                if not self.running and self.tool:
                    for code in self.codes:
                        sys.monitoring.set_local_events(self.tool, code, 0)
                    self.codes.clear()
                    sys.monitoring.set_events(self.tool, 0)

        def _enter(self) -> bool:
            monitoring, events = sys.monitoring, sys.monitoring.events
            if not self.tool:
                self.tool = next((one for one in _FREE if monitoring.get_tool(one) is None), 0)
                if not self.tool:
                    return False
                monitoring.use_tool_id(self.tool, _NAME)
                monitoring.register_callback(self.tool, events.PY_START, self._began)
                monitoring.register_callback(self.tool, events.LINE, self._executed)
                monitoring.register_callback(self.tool, events.CALL, self._called)
            monitoring.set_events(self.tool, events.PY_START)
            return True

        def _began(self, code: CodeType, offset: int) -> None:
            ran = self.running.get(get_ident())
            if ran is not None and ran.starts(sys._getframe(1), code):
                events = sys.monitoring.events
                sys.monitoring.set_local_events(self.tool, code, events.LINE | events.CALL)
                self.codes.add(code)

        def _executed(self, code: CodeType, line: int) -> None:
            ran = self.running.get(get_ident())
            if ran is not None:
                ran.executes(code, line)

        def _called(self, code: CodeType, offset: int, function: Any, first: Any) -> None:
            ran = self.running.get(get_ident())
            if ran is None:
                return
            if type(function) is types.MethodDescriptorType and first is not sys.monitoring.MISSING:
                try:
                    function = function.__get__(first, type(first))
                except TypeError:
                    return  # the call will fail, too
            if type(function) is types.BuiltinFunctionType:
                ran.called(sys._getframe(1), "c_call", function)

    _monitor = _Monitor()

    @contextmanager
    def monitored(ran: WhatRan) -> Iterator[None]:
        """Have Python tell what runs, in a block."""
        try:
            ran.known = _monitor.begin(ran)
            yield
        finally:
            _monitor.end()

    watching: Callable[[WhatRan], AbstractContextManager[None]] = monitored
else:
    watching = traced

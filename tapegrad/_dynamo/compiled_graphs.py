"""Functions that ``torch.compile`` was given with a function as its backend, which compiles graphs of their calls.

Note [Graphs for backends]
The Python of such a function is run in each call, and its calls of public functions are recorded as graphs (Note
[Graphs of a running program] in ``fx/_call_recorder.py``). A graph that is new is handed to the backend, as a
``torch.fx.GraphModule`` with an input for each tensor that was there before, and examples of the inputs. A graph is
known if the same calls came before, with the same numbers, on inputs of the same shapes, dtypes and flags: then what
the backend gave for it is called. So nothing of Python needs guarding, and a function may do what it likes between two
graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._dynamo.exc import BackendCompilerFailed, Unsupported
from tapegrad._dynamo.source import name_of, sources_of
from tapegrad._src.caches import Cache
from tapegrad._src.execution.recording.capturing import capturing
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.compiler.annotations import tracing
from tapegrad.compiler.compiled_methods import compiled_again, global_name, method_of
from tapegrad.compiler.step import Compiled
from tapegrad.errors import message
from tapegrad.fx._call_recorder import CallRecorder
from tapegrad.fx._recorded import Recorded, Ref, graph_module_of

GRAPH = 16 << 10
"""About how many bytes a compiled graph takes."""

NOT_RECORDED = "function transforms, or another compiled call, look at what is computed"


class GraphCompiled(Compiled):
    """A function whose calls are graphs that a backend compiles. Call it as the function.

    Args:
        function: the function, or a module.
        fullgraph: whether a graph that ends before the call does is an error.
        backend: the backend: see ``torch.compile``.
        options: what the backend is told besides.

    Attributes:
        compiled: how many graphs were handed to the backend.
        breaks: why graphs have ended before the calls, each reason once.
    """

    def __init__(self, function: Callable, fullgraph: bool, backend: Callable, options: dict[str, Any]) -> None:
        super().__init__(function, fullgraph)
        inside = self.__dict__
        inside.update(backend=backend, options=options, compiled=0, breaks={})
        inside["_graphs"] = Cache("graphs of backends", GRAPH)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else method_of(self, instance, self._likewise)

    def _likewise(self, function: Callable) -> GraphCompiled:
        """Compile another function in the same way."""
        return GraphCompiled(function, self.fullgraph, self.backend, self.options)

    def __reduce__(self) -> tuple | str:
        settings = self.function, self.fullgraph, self.backend, self.options
        return global_name(self) or (compiled_again, (GraphCompiled, *settings))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        recorded = any(isinstance(mode, CallRecorder) for mode in thread.function_modes)
        if recorded or capturing.by is not None or thread.levels:
            self._aside += 1
            return self.function(*args, **kwargs)
        self._calls += 1
        return GraphCall(self, args, kwargs).run()

    def compiled_for(self, recorded: Recorded, outputs: Sequence[Ref], names: Callable[[], list[str]]) -> Callable:
        """The function that the backend gives for recorded calls, or gave.

        Args:
            recorded: the calls.
            outputs: which results are wanted.
            names: gives the names of the inputs, where the graph is new.

        Raises:
            BackendCompilerFailed: the backend has raised an error, or gave what can't be called.
        """
        key = recorded.key(outputs)
        found = self._graphs.get(key)
        if found is None:
            self.__dict__["compiled"] += 1
            module = graph_module_of(recorded, names(), outputs)
            found = self._graphs.keep(key, call_backend(self.backend, module, recorded.inputs, self.options))
        return found

    def report(self) -> str:
        """Report how many graphs there are, and why graphs have ended before the calls.

        >>> double = torch.compile(lambda x: x * 2, backend=lambda gm, example_inputs: gm)
        >>> y = double(torch.ones(2)), double(torch.ones(2))
        >>> print(double.report())
        2 calls, 1 graph compiled by the backend
        """
        graphs = f"{self.compiled} graph{'' if self.compiled == 1 else 's'} compiled by the backend"
        lines = [f"{self._calls} call{'' if self._calls == 1 else 's'}, {graphs}"]
        lines += [f"a graph ended early: {reason} ({count} times)" for reason, count in self.breaks.items()]
        if self._aside:
            lines.append(f"{self._aside} more ran as they stand: {NOT_RECORDED}")
        return "\n".join(lines)


class GraphCall:
    """One call of such a function.

    Args:
        compiled: the function.
        args, kwargs: its arguments.
    """

    def __init__(self, compiled: GraphCompiled, args: tuple, kwargs: dict[str, Any]) -> None:
        self.compiled, self.args, self.kwargs = compiled, args, kwargs

    def run(self) -> Any:
        """The result of the call."""
        recorder = CallRecorder(self._run_graph, self._end)
        try:
            with recorder, tracing():
                result = self.compiled.function(*self.args, **self.kwargs)
        except Unsupported:
            recorder.abandon()
            raise
        except BaseException:
            recorder.run()  # what the program has done until then stays done
            raise
        recorder.run(result)
        return result

    def _run_graph(self, recorded: Recorded, outputs: Sequence[Ref]) -> Sequence[Tensor]:
        call = self.compiled.compiled_for(recorded, outputs, lambda: self._names(recorded))
        return call(*recorded.inputs)

    def _names(self, recorded: Recorded) -> list[str]:
        sources = sources_of(self.compiled.function, self.args, self.kwargs)
        local = {key: f"L[{name!r}]" for key, name in recorded.names.items()}
        return [
            name_of(sources.get(id(one)) or local.get(id(one)) or f"L['tensor_{number}']")
            for number, one in enumerate(recorded.inputs)
        ]  # fmt: skip

    def _end(self, reason: str) -> None:
        """Note why a graph ends before the call does. Raises Unsupported: it must not."""
        if self.compiled.fullgraph:
            raise Unsupported(message(
                f"the graph of a call ends before the call does: {reason}",
                hint="leave out fullgraph=True, and the call is made of several graphs; torch.where and torch.cond "
                "choose by elements inside a graph",
            ))  # fmt: skip
        self.compiled.breaks[reason] = self.compiled.breaks.get(reason, 0) + 1


def call_backend(
    backend: Callable, module: Any, example_inputs: Sequence[Tensor], options: dict[str, Any]
) -> Callable[..., Any]:
    """The function that a backend gives for a graph.

    Raises:
        BackendCompilerFailed: the backend has raised an error, or gave what can't be called.
    """
    try:
        found = backend(module, list(example_inputs), **options)
        if not callable(found):
            raise AssertionError("compiler_fn did not return callable")
    except Exception as error:
        raise BackendCompilerFailed(backend, error) from error
    return found

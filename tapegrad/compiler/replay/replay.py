"""Running the program of a call that was captured, without any Python."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from tapegrad._src.execution.kernels.deferred_checks import Check, Findings, nothing
from tapegrad._src.execution.programs.program_text import why_unlike
from tapegrad._src.execution.programs.step_executable import StepExecutable
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.tensor.trees import TreeSpec
from tapegrad.compiler.capture.compiled_function import CompiledFunctionBackward, Histories
from tapegrad.compiler.capture.numbers import Numbers
from tapegrad.compiler.capture.rebinding import Holdings
from tapegrad.compiler.capture.results import put_together
from tapegrad.compiler.capture.side_effects import SideEffects
from tapegrad.compiler.capture.sources import Input
from tapegrad.compiler.guards.appended import LISTS
from tapegrad.compiler.guards.locations import Binding
from tapegrad.compiler.guards.written_guard import alike
from tapegrad.compiler.replay.reading import Reading
from tapegrad.compiler.replay.write_outputs import Appended, OutputWriter


class RecordedCall(NamedTuple):
    """A captured call: its program, where the inputs come from, what it leaves behind, what comes back."""

    code: list[tuple]
    inputs: list[Input]
    effects: SideEffects
    tree: TreeSpec
    executable: StepExecutable
    checks: Sequence[Check]
    numbers: Numbers | None
    histories: Histories | None
    appended: Sequence[Appended] = ()
    values: Sequence[tuple[Binding, Any]] = ()

    def unlike(self, other: RecordedCall) -> str | None:
        """The difference between running one and the other, in words; None if there is none."""
        if self.code != other.code or len(self.inputs) != len(other.inputs):
            return "its program differs: " + why_unlike(other.code, self.code)
        for position, (mine, its) in enumerate(zip(self.inputs, other.inputs, strict=True)):
            if not mine.same(its):
                return f"input {position} of its program, a {mine.tag}, was {its} and is {mine}"
        if (self.numbers is not None or other.numbers is not None) and not (
            self.numbers is not None and self.numbers.same(other.numbers)
        ):
            return "Python computes something else from numbers"
        if not self.effects.same(other.effects):
            return "it leaves its results in other places"
        if self.histories is not other.histories:
            return "it returns tensors with other histories"
        if len(self.appended) != len(other.appended) or not all(map(Appended.same, self.appended, other.appended)):
            return "it appends something else"
        if len(self.values) != len(other.values) or not all(map(_set_alike, self.values, other.values)):
            return "it sets another flag, or another text"
        return None if self.tree == other.tree else "it returns another structure"


def _set_alike(one: tuple[Binding, Any], other: tuple[Binding, Any]) -> bool:
    return one[0].identity == other[0].identity and alike(one[1], other[1])


class Replay:
    """A call that can be made without its Python.

    Args:
        recorded: what it is.
        arguments: those of the call that was recorded.
        fixed: the identities of tensors that are the same in each call.
        known: the arguments that the function reaches otherwise, too, by position: Python may have noticed.
        guarded: whether one of some objects may not change.
    """

    def __init__(
        self, recorded: RecordedCall, arguments: Sequence[Any], fixed: Collection[int], known: dict[int, Any],
        guarded: Callable[[list], bool] = lambda things: False,
    ) -> None:  # fmt: skip
        executable, effects, self._tree = recorded.executable, recorded.effects, recorded.tree
        self._known = known
        self.executable = executable
        self._reading = Reading(recorded.inputs, executable, effects)
        self._write_outputs = OutputWriter(effects, arguments)
        self._streams = [one.stream for one in effects.drawn]
        self._finding, self._findings = effects.finding, Findings(nothing(len(recorded.checks)), recorded.checks)
        self._before = next((i for i, (tag, _) in enumerate(recorded.inputs) if tag == "finding"), -1)
        self._numbers, self._values = recorded.numbers, []  # type: ignore[var-annotated]
        self._dynamic_inputs = [(i, of) for i, (tag, of) in enumerate(recorded.inputs) if tag == "dynamic"]
        self._dynamic_results = [(i, of) for i, (tag, of, *_) in enumerate(effects.returned) if tag == "dynamic"]
        self.diverted = False
        self._histories, self._appended, self._guarded = recorded.histories, recorded.appended, guarded
        self._set_values = recorded.values
        self._holdings, self._data = Holdings(effects, fixed), effects.data
        self._returns = recorded.tree.num_leaves
        sources = [of for tag, of in recorded.inputs if tag in ("tensor", "storage")]
        sources += [one.source for one in effects.written]
        self._varying = list({(id(source.of), source.grad): source for source in sources if source.varies}.values())
        read = {(id(source.of), source.grad) for source in (*sources, *(one.source for one in effects.counted))}
        dropped = [one.source for one in effects.graded if (id(one.source.of), True) not in read]
        self._dropped = [source for source in dropped if source.varies]
        self._ungraded = [source.of for source in dropped if source.fixed]
        varying = [one for one in effects.written if one.source.varies]
        self._stored = [one.source for one in varying if one.stored]
        self._unshared = [one.source for one in varying if not (one.stored or one.source.grad)]
        reset = {id(source.of) for source, _ in self._data}
        fixed_sources = [source for source in sources if not source.varies and id(source.of) not in reset]
        self._fixed = {id(source.find(arguments)._storage) for source in fixed_sources}
        plain = all(source.find(arguments)._spec.plain for source in self._varying if not source.grad)
        self._looks = bool(self._unshared or known) or not plain or any(source.grad for source in self._varying)
        self._looks = self._looks or bool(self._data and self._varying)

    @property
    def waits(self) -> bool:
        """True if this call is still made at once: its program, or one of a backward pass, is being compiled."""
        if self._histories is None:
            return self.executable.waits
        return max([executable.waits for executable in (self.executable, *self._histories.programs)])  # each counts

    @property
    def calls_left(self) -> float:
        """The number of calls that are still made at once."""
        programs = () if self._histories is None else self._histories.programs
        return max(executable.calls_left for executable in (self.executable, *programs))

    def unobstructed(self, arguments: Sequence[Any]) -> bool:
        """Tell whether there is no obstacle, where arguments are of the same kinds, and different tensors."""
        if self._numbers is not None and self._diversion(arguments) is not None:
            return False
        if self._streams and any(stream.retired for stream in self._streams):
            return False
        if (self._appended and self._misplaced() is not None) or (self._data and self._shared_data() is not None):
            return False
        if self._looks or not self._holdings.unchanged(arguments):
            return self.obstacle(arguments) is None
        return True

    def obstacle(self, arguments: Sequence[Any]) -> str | None:
        """The obstacle in these arguments, in gradients, or in rebound places, in words: they share memory."""
        change = self._diversion(arguments) or self._holdings.changed(arguments) or self._misplaced()
        if change is not None:
            return change
        if any(stream.retired for stream in self._streams):
            return "another stream of random numbers is in use"
        for position, tensor in self._known.items():
            if arguments[position] is not tensor:
                return f"argument {position} was a tensor that it reaches otherwise, too, and is another"
        shared_data = self._shared_data()
        if shared_data is not None:
            return shared_data
        known = {id(source.of._storage) for source, _ in self._data}
        tensors = [source.find(arguments) for source in self._varying]
        for source, tensor in zip(self._varying, tensors, strict=True):
            identity = id(tensor if tensor._spec.plain else tensor._storage)
            if identity in self._fixed or identity in known or tensor._spec.window:
                return f"{source} shares memory with something else"
            known.add(identity)
        for source in self._stored:  # for the first time: tensors that share its memory are plain until then
            storage = source.find(arguments)._storage
            sharers = 0 if storage is None else sum(tensor._storage is storage for tensor in tensors)
            if sharers > 1 or (storage is not None and id(storage) in self._fixed):
                return f"{source} shares memory that it writes to with something else"
        shared = next((source for source in self._unshared if source.find(arguments)._storage is not None), None)
        return None if shared is None else f"{shared} gets new data, which others may have to see"

    def _misplaced(self) -> str | None:
        """Which list is not where something is appended to it, or is of interest otherwise."""
        lists = [one.binding.find() for one in self._appended]
        for one, things in zip(self._appended, lists, strict=True):
            if type(things) not in LISTS or getattr(things, "maxlen", None) is not None:
                return f"{one.binding} is no list any more"
            if self._guarded([things]) or sum(other is things for other in lists) > 1:
                return f"{one.binding} is a list that it reaches otherwise, too"
        return None

    def _shared_data(self) -> str | None:
        """Which tensor that gets new data shares the memory of another one."""
        known = set()
        for source, _ in self._data:
            storage = source.of._storage
            if storage is not None and (id(storage) in self._fixed or id(storage) in known):
                return f"{source} shares memory with something else"
            known.add(id(storage))
        return None

    def _diversion(self, arguments: Sequence[Any]) -> str | None:
        """Compute numbers for the call; why it takes another course."""
        self.diverted = False
        if self._numbers is None:
            return None
        computed = self._numbers.computed(arguments)
        if isinstance(computed, str):
            self.diverted = True
            return computed
        self._values = computed
        return None

    def run(self, arguments: Sequence[Any]) -> Any:
        """Make the call, to which there was no obstacle."""
        inputs = self._reading.read(arguments)
        for position, register in self._dynamic_inputs:
            inputs[position] = self._values[register]
        if self._finding is not None:
            inputs[self._before] = self._findings.value
        for leaf in self._ungraded:  # the memory of these gradients may be used from here on
            leaf._grad = None
        for source in self._dropped:
            source.find(arguments)._grad = None
        kept = None if self._histories is None else self._keep(inputs, arguments)
        results: list[Any] = []
        try:
            self.executable.run(inputs, results)
            values = self.executable.by_slot(results)
            given = self._leave(values, arguments, kept)
        except BaseException:
            if results:  # an interrupt came with them; what is left behind twice is counted twice
                self._leave(self.executable.by_slot(results), arguments, kept)
            raise
        if self._finding is not None:
            self._findings.expect(values[self._finding])
        return given[0] if self._tree.kind is None else put_together(given, self._tree)

    def _keep(self, inputs: Sequence[Any], arguments: Sequence[Any]) -> tuple[dict[int, Any], list[Tensor]]:
        """The values that histories keep of the program's inputs, and of what is there before it is run."""
        assert self._histories is not None
        tensors = [source.find(arguments) for source in self._histories.joint.sources]
        return {position: inputs[position] for position in self._histories.held}, tensors

    def _leave(self, values: dict[int, Any], arguments: Sequence[Any], kept: Any) -> list[Any]:
        nodes: Sequence[CompiledFunctionBackward] = ()
        if kept is not None:
            nodes = self._histories.nodes(values.__getitem__, *kept)  # type: ignore[union-attr]
        given = self._write_outputs.leave(values, arguments, nodes)
        for node in nodes:
            node.note_versions()
        if self._numbers is not None:
            self._numbers.write(self._values, values)
            for position, register in self._dynamic_results:
                given[position] = self._values[register]
        for binding, value in self._set_values:
            binding.bind(value)
        if self._appended:
            appended = given[self._returns :]
            del given[self._returns :]
            for one in self._appended:
                del appended[: one.append(appended)]
        return given

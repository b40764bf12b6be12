"""One call whose Python is run: what it computes is captured, run as one program, and remembered for the next call."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import RLock
from typing import Any, NamedTuple

from tapegrad._src.bindings.fused_update import joined_up_to
from tapegrad._src.execution.array_functions.copies import copied
from tapegrad._src.execution.data.values import quiet_numbers
from tapegrad._src.execution.kernels.deferred_checks import Findings
from tapegrad._src.execution.programs.step_executable import StepExecutable
from tapegrad._src.execution.recording.program import recording, run, wanted_of
from tapegrad._src.tape.modes import alone, thread
from tapegrad._src.tensor.tensor import Tensor, materialize
from tapegrad._src.tensor.trees import TreeSpec, unflatten
from tapegrad.compiler.capture.arguments import Newcomers, classes_in, taken_apart
from tapegrad.compiler.capture.autograd_histories import without_own
from tapegrad.compiler.capture.capture import Capture, captured, hooks_of
from tapegrad.compiler.capture.compiled_function import Histories
from tapegrad.compiler.capture.dynamic_number import DynamicNumber
from tapegrad.compiler.capture.kept_numbers import put_numbers
from tapegrad.compiler.capture.numbers import Numbers
from tapegrad.compiler.capture.proxies import can_tell, changed_numbers, proxying
from tapegrad.compiler.capture.rebinding import rebound_by
from tapegrad.compiler.capture.results import Results, histories_lost, plain_items
from tapegrad.compiler.capture.side_effects import check_outputs, side_effects_of
from tapegrad.compiler.capture.sources import TensorSources, Unaccounted, inputs_of
from tapegrad.compiler.guards.guards import Guards
from tapegrad.compiler.guards.location_finder import Instances
from tapegrad.compiler.guards.tensor_guards import TensorGuards
from tapegrad.compiler.guards.trace_rules import PLAIN
from tapegrad.compiler.guards.watching import watching
from tapegrad.compiler.guards.what_ran import CodeThatRan, WhatRan
from tapegrad.compiler.replay.cache_entry import MOST_UNUSED, PATIENCE_IF_UNLIKE, TRIALS, CacheEntry
from tapegrad.compiler.replay.cache_keys import Widths, ambient, has_more
from tapegrad.compiler.replay.compiled_modules import CompiledModules, is_update
from tapegrad.compiler.replay.programs import Programs
from tapegrad.compiler.replay.replay import RecordedCall, Replay
from tapegrad.compiler.replay.write_outputs import Appended

WAY_OUT = " (tensors may be written to or replaced: count, for example, in a 0-dim tensor)"
"""The advice that ``report()`` adds where a call changes what is no tensor."""


class Met:
    """The code that the last calls of one function have run, if so much can be reached that only that is followed.

    Attributes:
        code: what has run; it is replaced, not changed. None: all is followed.
    """

    def __init__(self) -> None:
        self.code: CodeThatRan | None = None
        self._last: CodeThatRan | None = None

    def add(self, ran: WhatRan, reaches: bool) -> bool:
        """Add what a call has run, and whether it has read attributes that nobody names; whether that is new.

        Of the calls before, the last one counts: the first one may have imported modules.
        """
        new = self.code is None or self.code.lacks(ran) is not None or self.code.reaches < reaches
        mine = CodeThatRan().joined(ran, reaches)
        self.code, self._last = mine if self._last is None else mine.joined(self._last, self._last.reaches), mine
        return new


class Shared(NamedTuple):
    """The state that the calls of one compiled function share.

    Attributes:
        function: the function.
        splits: whether elements may be read.
        programs: their programs.
        modules: the modules and optimizers that they enter, compiled by themselves.
        by_itself: whether the function is one of these.
        widths: which arguments are other numbers in each call, and ``newcomers``: which are other objects.
        met: the code that they have run, if so much can be reached that only that is followed.
        lock: held while what is known of calls is changed.
    """

    function: Callable
    splits: bool
    programs: Programs
    modules: CompiledModules
    by_itself: bool
    widths: Widths
    newcomers: Newcomers
    met: Met
    lock: RLock


class CapturedCall:
    """A call of a compiled function.

    Args:
        shared: what it has in common with the others.
        entry: what is known of calls like it.
        args, kwargs: its arguments.
        leaves, tree: the same, taken apart.

    Attributes:
        reached: what the function, its arguments and the hooks on its tensors can reach in Python.
        given: the leaves as the function gets them: with proxies for dynamic numbers.
        why_not: why the next call can't be replayed, as far as that is known.
        scouts: whether it has run code that the next call follows, and this one did not.
    """

    captures: type[Capture] = Capture

    def __init__(
        self, shared: Shared, entry: CacheEntry, args: tuple, kwargs: dict[str, Any], leaves: list, tree: TreeSpec
    ) -> None:
        self.shared, self.entry, self.leaves, self.tree = shared, entry, leaves, tree
        self.ran = WhatRan(getattr(shared.function, "__self__", shared.function))
        self.reached = self._reached()
        self.why_not = ""
        self.scouts = False
        self.result: Any = None
        self.modes = ambient()
        self.histories: Histories | None = None
        self.obstacle: Unaccounted | None = None
        self.numbers = Numbers()
        self.capture = self.captures(shared.splits)
        self.capture.blame = self.ran.blame
        self.capture.numbers, self.numbers.demand = self.numbers, self.capture.demand
        self.capture.withholds = not (self.reached.unsure or self.reached.arrays)
        if entry.tensor_guards is not None and entry.tensor_guards.rewritten():
            entry.stable = False
        if entry.stable and shared.splits:
            self.capture.stable = frozenset(map(id, self.reached.tensors)) - frozenset(map(id, leaves))
        if entry.guards is not None:
            entry.dynamic |= changed_numbers(entry.guards) - entry.pinned
        has_dynamic = shared.widths.seen and (entry.dynamic or entry.arguments)  # a call with numbers has shown it
        self.numbers.reads_late = bool(shared.widths.seen and not can_tell(self.reached))
        stay = not (has_dynamic and self.numbers.reads_late)
        self.dynamic = set() if stay else entry.dynamic - entry.pinned
        positions = () if stay else entry.arguments
        self.stays = bool(stay and entry.arguments)
        if self.stays and has_dynamic:
            shared.widths.stay(entry.key, leaves)
        self.given = [self.numbers.begin(i, leaf) if i in positions else leaf for i, leaf in enumerate(leaves)]
        self.arguments: tuple[tuple, dict[str, Any]] = unflatten(self.given, tree) if positions else (args, kwargs)

    def _reached(self) -> Guards:
        met = self.shared.met.code
        guards = Guards(self._roots, met)
        if not guards.ends:
            return guards
        hooked = [*guards.tensors, *(leaf for leaf in self.leaves if isinstance(leaf, Tensor))]
        hooks = [(hook, "a hook") for tensor in hooked for hook in hooks_of(tensor)]
        return Guards(self._roots + hooks, met) if hooks else guards

    @property
    def _roots(self) -> list[tuple[Any, str]]:
        """The function and its arguments, with names."""
        function = self.shared.function
        name = getattr(function, "__qualname__", type(function).__name__)
        roots: list[tuple[Any, str]] = [(function, name)]
        roots += [(Instances(cls), cls.__qualname__) for cls in set(classes_in(self.tree))]
        return roots + [
            (leaf, f"argument {i}") for i, leaf in enumerate(self.leaves) if not isinstance(leaf, (*PLAIN, Tensor))
        ]

    def run(self) -> Any:
        """Make the call, and give what the function returns."""
        before = self.reached
        try:
            self.result = captured(self.capture, self._call)
            if self.capture.split is not None or self.capture.traced:
                self._run_split()
            else:
                self._check_arguments()
                self._narrow()
                self._analyse_outputs()
            self.entry.unlike = self.entry.unlike or self.scouts
            self._compile_modules(before)
            self._put_numbers()
            return self.result
        except BaseException:
            self._put_numbers()
            raise
        finally:
            self.numbers.demand = _nothing_is_left  # else they hold each other, and arrays, until garbage is collected
            self.capture.give_back()

    def _compile_modules(self, before: Guards) -> None:
        """Have the modules and optimizers that were there before compiled, where such calls are not replayed."""
        entry, methods = self.entry, [one for one in self.ran.methods if before.holds([one.__self__])]
        earlier = [one.call.function for one in entry.compiled_modules]
        methods = [*(one for one in earlier if not self.ran.is_to_blame(one)), *methods]
        replayed = entry.replay is not None or not entry.worthwhile
        entry.compiled_modules = self.shared.modules.of([] if replayed else methods)

    def _put_numbers(self) -> None:
        """Put numbers where proxies are left: the next calls have none where they are kept in unknown places."""
        for binding, _ in self.numbers.written:
            now = binding.find()
            if type(now) is DynamicNumber:
                binding.bind(now._value)
            del now
        if self.numbers.made:
            for one in self.reached.appended:
                one.replace(plain_items)
            self.given, self.arguments = self.leaves, ((), {})
            items = [plain_items(self.result)]
            self.result = None
            kept = put_numbers(self.numbers.made, items)
            self.result = items.pop()
            self.numbers.read.update((one, "a place where the number is kept") for one in kept)
            if kept:
                self._let_numbers_stay()

    def _call(self) -> Any:
        """Call the function while all that is computed is captured."""
        capture = self.capture
        for tensor in (*(leaf for leaf in self.leaves if isinstance(leaf, Tensor)), *self.reached.tensors):
            capture.note(tensor, before=True)
        if any(seen.edge is not None for seen in capture.seen.values()):
            thread.backward_watchers = (*thread.backward_watchers, capture.watch_nodes)
        try:
            with proxying(self.reached, self.dynamic, self.numbers):
                args, kwargs = self.arguments
                self.ran.begin(sys._getframe())
                with watching(self.ran):
                    result = self.shared.function(*args, **kwargs)
            if capture.refused is not None:
                raise capture.refused
            if capture.split is None:
                self._take_down(result)
                capture.join_checks()
            return result
        except BaseException:
            self._failed()
            raise
        finally:
            self.ran.begin(None)
            thread.backward_watchers = tuple(one for one in thread.backward_watchers if one != capture.watch_nodes)

    def _take_down(self, result: Any) -> None:
        """Take down the histories that leave the call, as long as all is recorded: Note [Histories that leave a call].

        What prevents it is raised when the call is accounted for.
        """
        capture, given = self.capture, Results(self.reached.holds).take(result)[0]
        if thread.autocast is not None:  # the next call casts its weights anew
            kept = thread.autocast.cache
            thread.autocast.cache = {key: one for key, one in kept.items() if one[1] is not capture}
        for leaf in given:
            if isinstance(leaf, Tensor) and leaf._edge is not None and leaf._view is None:
                leaf._edge = without_own(leaf._edge, capture)
        try:
            self.histories = Histories.of(capture, given)
        except Unaccounted as error:
            self.obstacle = error

    def _failed(self) -> None:
        """Leave what eager execution would, after an error; nothing, if it is that elements were read."""
        if self.capture.refused is None:
            finish(self.capture)
            return
        self.capture.undo()
        thread.modes = self.modes[0].replace(deferred=True, results_watched=True)  # ``captured`` takes these back

    def _run_split(self) -> None:
        """Run what was captured after elements were read, or in a trace of jax's."""
        split, self.entry.accounted, self.entry.unlike = self.capture.split, False, False
        self.entry.reason = f"it is split where elements are read at {split}" if split else "jax traces it"
        finish(self.capture)
        self._expect_checks()
        self._narrow()
        if split and not (self.shared.widths.seen or self.reached.unsure):
            self.shared.widths.seen = self.entry.unlike = True  # the next call may read late

    def _narrow(self) -> None:
        """Leave out of what is reached what has nothing to do with what ran."""
        if self.ran.known:
            all_of_it = self.reached
            self.reached = all_of_it.narrowed(self.ran)
            self.why_not = self.why_not or self.reached.unsure or ""
            if self.shared.met.code is not None or not all_of_it.ends:
                self.scouts = self.shared.met.add(self.ran, self.reached.reaches) and self.ran.refused is None
        else:
            self.why_not = self.why_not or "a profiler of Python looks on, so that it is not known what it runs"

    def _check_arguments(self) -> None:
        """See whether there is more to the arguments than can be compared at the next call."""
        leaves, tree = taken_apart(self.arguments, self.shared.newcomers.opened)
        if tree != self.tree or any(one is not other for one, other in zip(leaves, self.given, strict=False)):
            self.why_not = "it changes the containers among its arguments"
        if any(isinstance(leaf, Tensor) and has_more(leaf) for leaf in self.leaves):
            self.why_not = "one of its arguments is of a class of its own, or has attributes"
        self.entry.reason = self.why_not or self.entry.reason

    def _analyse_outputs(self) -> None:
        """Account for what the program reads and leaves behind, and run it; see Note [Accounts]."""
        capture, reached, leaves = self.capture, self.reached, self.leaves
        results = Results(reached.holds)
        given, tree = results.take(self.result)
        appended = [Appended.of(one, results) for one in reached.appended]
        leaves_left = [*given, *(leaf for one in appended for leaf in one.take_leaves())]
        kept = [why] if (why := results.why_not()) else []
        histories = self.histories
        nodes = [] if histories is None else histories.take_over(capture, given)
        capture.forget_handles()
        finding, checks = capture.late_checks
        rebound, why = rebound_by(capture, reached, leaves)
        kept += [why] if why else histories_lost(leaves_left, rebound)
        try:
            sources = TensorSources(capture, leaves, reached.tensors, rebound)
            if self.obstacle is not None:
                raise self.obstacle
            inputs = inputs_of(capture, sources)
            effects = side_effects_of(capture, sources, leaves_left, rebound, finding, histories, reached.holds)
            if capture.leads_out:
                raise Unaccounted("its backward pass goes on through a history that was there before")
            if ambient() != self.modes:
                raise Unaccounted("it changes the modes of its caller")
            if histories is not None:
                histories.let_go()
            check_outputs(capture, effects, wanted_of(capture))
        except Unaccounted as error:
            self.entry.accounted, self.entry.reason, self.entry.last = False, self.why_not or why or str(error), None
            self.entry.unlike = False
            if histories is not None:
                histories.give_back(capture, nodes, given)
            finish(capture)
            self._expect_checks()
            return
        held = () if histories is None else histories.held
        executable = self.shared.programs.of(capture, inputs, effects, sources, leaves, held)
        if histories is not None:
            histories.settle(sources.of)
            histories = self.shared.programs.histories(executable, histories)
            for node, backward in zip(nodes, histories.backwards, strict=True):
                node.backward = backward
        numbers = self.numbers if self.numbers.origins or self.numbers.late else None
        new = RecordedCall(
            capture.code, inputs, effects, tree, executable, checks, numbers, histories, appended, reached.set_values()
        )
        elsewhere = {id(one.source.of) for one in effects.data}
        stay = [
            seen for seen in capture.seen.values()
            if id(seen.tensor) not in elsewhere and not (seen.written_first and sources.of(seen.tensor).varies)
        ]  # fmt: skip
        changes = next((seen.change() for seen in stay if seen.change()), None)
        fixed = [one for one in capture.seen.values() if one.before and sources.of(one.tensor).fixed]
        graded = capture.reads_grad or effects.grades or any(one.grades for one in inputs)
        guards = TensorGuards(fixed, capture.looked_at, graded, elsewhere)
        if {id(one.old) for one in rebound} & {id(one.tensor) for one in capture.looked_at}:
            kept.append("it reads elements of a tensor in a place that it rebinds")
        kept += [f"it changes a tensor: {changes}"] if changes else []
        kept += ["a number among its arguments is another one in each call"] if self.stays else []
        self._run_program(new, sources)
        capture.give_back()
        reached.release([*rebound, *self.numbers.rebound()])
        for tensor in [leaf for leaf in leaves_left if isinstance(leaf, Tensor)]:
            materialize(tensor)
        given.clear()
        leaves_left.clear()
        self._put_numbers()
        if not self.entry.keeps:
            self._expect_checks()
            return
        with self.shared.lock:
            self._remember(new, guards, self.why_not or "".join(kept[:1]))
        self._expect_checks()

    def _run_program(self, new: RecordedCall, sources: TensorSources) -> None:
        """Run the program; what the call left behind gets its arrays."""
        capture, executable = self.capture, new.executable
        executable.prepare(capture.inputs)
        for seen in capture.seen.values():
            seen.own = seen.value = None
        capture.slots.clear()
        with capture.running:
            use_up(capture, executable)
        for one in new.effects.written:
            materialize(sources.meant(one.source, self.leaves))
        for source, _ in new.effects.rebound:
            materialize(source.find(self.leaves))

    def _remember(self, new: RecordedCall, guards: TensorGuards, why_not: str) -> None:
        """See whether the next call can be replayed."""
        entry, reached, leaves = self.entry, self.reached, self.leaves
        if entry.unused > MOST_UNUSED:
            why_not, entry.runs = why_not or entry.reason, max(entry.runs, PATIENCE_IF_UNLIKE)
            entry.unused = MOST_UNUSED - TRIALS[0]
        if new.numbers is not None and new.numbers.read:
            why_not = why_not or self._let_numbers_stay()
        changed = reached.unsure or reached.changed({binding.identity for binding, _ in new.values})
        unlike = entry.known(new)
        if changed and not reached.unsure:
            changed = f"the call itself changes what it reads: {changed}{entry.read}{WAY_OUT}"
        entry.worthwhile = not self.shared.splits or self._is_worthwhile(new)  # others are replayed, or captured always
        for backward in new.histories.backwards if new.histories else ():
            backward.is_compiled = entry.worthwhile
        if not entry.worthwhile:
            self.why_not = why_not = why_not or "calls at once take no longer than its program would"
        entry.reason, entry.unlike = why_not or changed or unlike or "", not self.why_not
        entry.last, entry.guards, entry.tensor_guards, entry.accounted = new, reached, guards, True
        entry.dynamic |= {binding.identity for binding, _ in self.numbers.written} - entry.pinned
        self.shared.widths.seen = self.shared.widths.seen or not reached.unsure
        if entry.reason:
            entry.replay = None
        else:
            known = {i: leaf for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor) and reached.holds([leaf])}
            entry.replay = Replay(new, leaves, guards.ids, known, reached.holds)
            entry.runs = 0 if entry.unused < MOST_UNUSED - TRIALS[0] else entry.runs
            new.executable.compile_later()

    def _is_worthwhile(self, new: RecordedCall) -> bool:
        """Tell whether a program is likely to be quicker than calls at once."""
        by_itself = new.histories is not None or self.shared.by_itself
        return worthwhile(self.shared.function, new.executable) if by_itself else new.executable.is_large

    def _let_numbers_stay(self) -> str:
        """Let numbers that Python has read be what they are: each is part of what calls have in common."""
        numbers, entry = self.numbers, self.entry
        for number in numbers.depends_on(list(numbers.read)):
            origin = numbers.origins[number][0]
            if type(origin) is int:
                self.shared.widths.stay(entry.key, self.leaves)
            else:
                entry.pinned.add(origin.identity)
        entry.read = f"; a number is read at {next(iter(numbers.read.values()))}"
        return f"a number that is another one in each call is read at {next(iter(numbers.read.values()))}"

    def _expect_checks(self) -> None:
        """Have what the checks of the call have found looked at later."""
        finding, checks = self.capture.late_checks
        if finding is not None:
            Findings(None, checks).expect(finding)


def worthwhile(function: Callable, executable: StepExecutable) -> bool:
    """Tell whether the program of a function, a module or an update is likely to be quicker than calls at once."""
    if is_update(function):
        return executable.worthwhile_as_update(joined_up_to(function.__self__))  # type: ignore[attr-defined]
    return executable.worthwhile()


def _nothing_is_left() -> None:
    """Do nothing: what is captured was run."""


def finish(capture: Capture) -> None:
    """Run what was captured, as any other program."""
    if capture.split is not None:
        run(recording.program)  # what came before was run there
    elif capture.code:
        run(capture)
        capture.expect_checks()


def use_up(capture: Capture, executable: StepExecutable) -> None:
    """Run the program of a capture. An interrupt that comes before leaves it its inputs: it can be evaluated."""
    inputs = capture.inputs
    for position in executable.donated if executable.compiled else ():
        if sys.getrefcount(inputs[position]) > 2 or not alone():  # inputs', getrefcount's
            inputs[position] = copied(inputs[position])
    results: list[Any] = []
    try:
        with quiet_numbers():
            executable.run(inputs.copy(), results)
        give_arrays(capture, executable, results)
    except BaseException:
        if results:  # an interrupt came with them
            give_arrays(capture, executable, results)
        raise
    inputs.clear()
    capture.values.clear()  # what nobody wants refers to the capture, and that to it


def give_arrays(capture: Capture, executable: StepExecutable, results: list[Any]) -> None:
    """Give the values of a capture that are wanted their arrays."""
    for slot, array in executable.by_slot(results).items():
        value = capture.values[slot]
        value.array, value.program = array, None

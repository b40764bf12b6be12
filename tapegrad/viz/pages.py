"""The looks of tensors, nodes, modules and reports in a notebook: pieces of HTML, whole in themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import singledispatch
from html import escape
from typing import Any

from tapegrad._src.bindings.state.attributes import typename
from tapegrad._src.execution.array_functions.host import is_traced, to_host
from tapegrad._src.execution.array_functions.nonfinite import summarize
from tapegrad._src.execution.data.opaque import Opaque
from tapegrad._src.execution.tiers.settings import TierStats
from tapegrad._src.tape.node import Node, name_of
from tapegrad._src.tensor.paths import path_of
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad.autograd.profiling.events import EventList
from tapegrad.autograd.profiling.profile import profile
from tapegrad.autograd.profiling.session import profile as ProfileOfSteps
from tapegrad.compiler.step import Compiled
from tapegrad.execution import stats
from tapegrad.nn.modules.module import Module
from tapegrad.nn.modules.optimized import OptimizedModule
from tapegrad.nn.parameter import is_lazy
from tapegrad.viz.describing import bytes_text, describe_node, plain_name, saved_by, short

ELEMENTS_READ = 1 << 22
"""Of tensors with more elements the range isn't computed, for it is not asked for."""

ROWS = 60
"""The number of rows of a table that are shown."""


@singledispatch
def page_of(shown: Any) -> str:
    """The look of an object in a notebook."""
    return preformatted(repr(shown))


def preformatted(text: str) -> str:
    """Text as it is."""
    return f"<pre>{escape(text)}</pre>"


def line(parts: Iterable[str]) -> str:
    """Some facts on a line."""
    return f'<div style="opacity: 0.7">{escape(" · ".join(parts))}</div>'


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table; of a long one the first rows, and how many there are."""
    heads = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows[:ROWS])
    more = line([f"and {len(rows) - ROWS} more"]) if len(rows) > ROWS else ""
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{more}"


# Tensors --------------------------------------------------------------------------------------------------------------


@page_of.register
def page_of_tensor(tensor: Tensor) -> str:
    """A tensor: what it is like, its range, what made it, and its elements as they print."""
    return line(facts_of_tensor(tensor)) + preformatted(repr(tensor))


def facts_of_tensor(tensor: Tensor) -> list[str]:
    """Shape, dtype, device, range, and what made it."""
    if is_lazy(tensor):
        return [type(tensor).__name__, tensor.dtype.name, str(tensor.device)]
    facts = [type(tensor).__name__, f"{tensor.dtype.name}{list(tensor.shape)}", str(tensor.device)]
    return [*facts, *range_of(tensor), *made_by(tensor)]


def range_of(tensor: Tensor) -> list[str]:
    """The least and the greatest of the elements, of complex numbers in size; how many are not finite."""
    value = value_of(tensor)
    if isinstance(value, Opaque) or is_traced(value) or not tensor.numel():
        return []
    if tensor.numel() > ELEMENTS_READ:
        return [f"{tensor.numel():,} elements"]
    return [str(summarize(to_host(value)))]


def made_by(tensor: Tensor) -> list[str]:
    """The maker of a tensor, and the place, if that was recorded."""
    node, path = tensor.grad_fn, path_of(tensor)
    if node is None:
        known = [] if path is None else [f"parameter {path[0]} of {path[1]}"]
        return known + (["a leaf that requires grad"] if tensor.requires_grad else [])
    origin = node._origin
    place = "" if origin is None or origin.position is None else f" at {origin.position}"
    return [f"made by {name_of(node)}{place}"]


# Nodes and modules ----------------------------------------------------------------------------------------------------


@page_of.register
def page_of_node(node: Node) -> str:
    """A node: its name, what it takes and saves, and where its gradients go."""
    described = describe_node(node, {})
    saved = [[one.name, one.text, bytes_text(one.nbytes)] for one in saved_by(node)]
    ends = [(place, edge) for place, edge in enumerate(node.next_edges) if edge is not None]
    ways = [[place, described_end(edge[0]), edge[1]] for place, edge in ends]
    facts = [one for one in described.facts[1:] if not one.startswith("saves ")]
    return "".join([
        f"<b>{escape(described.name)}</b>",
        line(facts),
        table(["saved", "", "bytes"], saved) if saved else "",
        table(["gradient", "goes to", "slot"], ways) if ways else "",
    ])  # fmt: skip


def described_end(node: Node) -> str:
    """A node at the end of an edge: its name, and of a leaf which one."""
    described = describe_node(node, {}).name
    name = plain_name(node)
    return name if described == name else f"{name} of {described}"


@page_of.register
def page_of_module(module: Module) -> str:
    """A module: its parts as they print, and its parameters and buffers."""
    found = list(module.named_parameters())
    rows = [[name, *about(one), "yes" if one.requires_grad else "no"] for name, one in found]
    rows += [[name, *about(one), "a buffer"] for name, one in module.named_buffers()]
    known = [one for _, one in found if not is_lazy(one)]
    count, size = sum(one.numel() for one in known), bytes_text(sum(one.nbytes for one in known))
    facts = [typename(module), f"{count:,} parameters, {size}", "training" if module.training else "evaluating"]
    parameters = table(["name", "", "bytes", "requires grad"], rows) if rows else ""
    return line(facts) + preformatted(repr(module)) + parameters


def about(tensor: Tensor) -> list[str]:
    """Dtype, shape and size of a parameter, if they are known."""
    if is_lazy(tensor):
        return ["not known yet", ""]
    return [short(tensor), bytes_text(tensor.nbytes)]


# Reports --------------------------------------------------------------------------------------------------------------


@page_of.register
def page_of_compiled(step: Compiled) -> str:
    """A compiled step: how often Python was run, and why."""
    first, *kinds = step.report().splitlines()
    name = getattr(step.function, "__qualname__", typename(step.function))
    rows = [one.partition(": ")[::2] for one in kinds]
    return f"<b>{escape(name)}</b>" + line([first]) + (table(["calls", ""], rows) if rows else "")


@page_of.register
def page_of_compiled_module(module: OptimizedModule) -> str:
    """A compiled module: the module, and its report."""
    return page_of_module(module) + preformatted(module.report())


@page_of.register(type(stats()))
def page_of_stats(stats: Any) -> str:
    """The costs and savings of deferred programs."""
    rows = [
        [name, readable(name, value)] for name, value in stats._asdict().items() if not isinstance(value, (tuple, dict))
    ]
    kinds = sorted(stats.kinds.items(), key=lambda pair: -pair[1])
    reasons = "".join(f"<li>{escape(reason)}</li>" for reason in stats.reasons)
    return "".join([
        table(["programs and caches", ""], rows),
        table(["remembered", "entries"], kinds) if kinds else "",
        page_of_tiers(stats.tiers),
        f"<div>why the last programs were new</div><ol>{reasons}</ol>" if reasons else "",
    ])  # fmt: skip


def readable(name: str, value: Any) -> str:
    """A figure with its unit."""
    if name == "bytes":
        return bytes_text(value)
    return f"{value:.3g} s" if name.endswith("seconds") else f"{value:,}"


@page_of.register
def page_of_tiers(tiers: TierStats) -> str:
    """The ways in which kernels are run."""
    rows = [[name, f"{value:,}"] for name, value in tiers._asdict().items() if not isinstance(value, dict)]
    unwritten = sorted(tiers.unwritten.items(), key=lambda pair: -pair[1])
    return table(["kernels", ""], rows) + (table(["not written for the host", ""], unwritten) if unwritten else "")


@page_of.register
def page_of_events(events: EventList) -> str:
    """A profile: where the time went, by name."""
    averages = events.key_averages() if events._tree_built else events
    ordered = sorted(averages, key=lambda one: -one.self_cpu_time_total)
    rows = [
        [one.key, one.count, one.self_cpu_time_total_str, one.cpu_time_total_str, one.cpu_time_str] for one in ordered
    ]
    return table(["name", "calls", "time by itself", "time in all", "time of one call"], rows)


@page_of.register
def page_of_steps(seen: ProfileOfSteps) -> str:
    """A profile that follows the steps of a program: its last cycle."""
    return preformatted(repr(seen)) if seen.profiler is None else page_of_profile(seen.profiler)


@page_of.register
def page_of_profile(seen: profile) -> str:
    """A profile, when its block has ended."""
    return page_of_events(seen.function_events) if seen._finished() else preformatted(repr(seen))

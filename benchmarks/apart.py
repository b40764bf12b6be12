"""A process for each contestant, in turns: nobody finds memory, caches or threads as another has left them.

A tape of 10,000 operators takes a third longer in a process whose memory is in pieces, and a collection of garbage as
long as there are others' objects. So contestants are measured where nobody else has been, though one after the other.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any

from benchmarks.cases import Case, workload_case
from benchmarks.contest import MODES, Workload
from benchmarks.timing import Contestant
from benchmarks.workloads import compiled_workloads, model_workloads, workloads


@dataclass(frozen=True)
class Apart(Contestant):
    """A contestant in a process of its own, which measures itself when it is told to."""

    connection: Connection | None = None

    def seconds(self) -> float:
        """What one call took there."""
        assert self.connection is not None
        self.connection.send("again")
        return answer(self.name, self.connection)


def named(workload: str, small: bool) -> Workload:
    """A workload by its name."""
    return (workloads(small) | compiled_workloads(small) | model_workloads(small))[workload]


def answer(name: str, connection: Connection) -> Any:
    """What a process says.

    Raises:
        RuntimeError: it has ended; it has printed why.
    """
    try:
        return connection.recv()
    except EOFError:
        raise RuntimeError(f"{name}: its process failed") from None


def serve(connection: Connection, workload: str, small: bool, name: str, cpu: bool) -> None:
    """What the process does: make the contestant ready, say how much work a call is, and measure when it is told to."""
    case = workload_case(named(workload, small), [name] if name in MODES else [])
    contestant = next(one for one in case.contestants if one.name == name)
    contestant = replace(contestant, cpu=cpu)
    connection.send(contestant.units)
    with suppress(EOFError):  # nobody asks any more
        while connection.recv():
            connection.send(contestant.seconds())


@contextmanager
def case_apart(workload: str, modes: Iterable[str], small: bool, cpu: bool = False) -> Iterator[Case]:
    """A workload in some of the modes, and its floors, each in a process that ends with the block.

    With ``cpu``, seconds are those of the CPU.
    """
    known = named(workload, small)
    context = multiprocessing.get_context("spawn")
    connections: dict[str, Connection] = {}
    processes = []
    for name in (*modes, *known.floors):
        connections[name], there = context.Pipe()
        process = context.Process(target=serve, args=(there, workload, small, name, cpu), name=name, daemon=True)
        process.start()
        there.close()  # so that the end of the process is the end of the connection
        processes.append(process)
    try:
        contestants = tuple(Apart(name, int, answer(name, one), connection=one) for name, one in connections.items())
        yield Case(known.title, known.unit, known.scale, contestants)
    finally:
        for connection in connections.values():
            connection.close()
        for process in processes:
            process.join()

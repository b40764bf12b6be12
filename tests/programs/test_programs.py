"""The programs in ``examples/`` run unchanged, and take the way that they take on PyTorch: at once, deferred, compiled.

One process of each library runs them, one after the other.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
HELPERS = {"digits", "text", "training"}
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem not in HELPERS)
STEPS = "6"
"""Of which the first compiled ones are captured, and others replayed."""

NOT_SO_SOON = {"checkpoint_resume", "data_workers", "tree_net"}
"""Programs whose steps are of several kinds, or are not to be seen from outside."""

CLOSE = {"mixed_precision": 2e-3, "gaussian_process": 1e-9, "lbfgs_fit": 1e-6}
"""How far a loss may be from PyTorch's, of that; else ``USUALLY``, a few roundings of float32 that have grown."""

USUALLY = 1e-4

pytestmark = [pytest.mark.parity, pytest.mark.once("runs programs in processes of their own")]


class Runner:
    """A process of one library."""

    def __init__(self, library):
        command = [sys.executable, str(HERE / "runner.py"), library]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.known = {}

    def ask(self, name, *arguments, execution=None):
        """What an example says; the same question is asked once."""
        question = json.dumps([name, ["--steps", STEPS, *arguments], *([execution] if execution else [])])
        if question not in self.known:
            self.process.stdin.write(question + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
            assert answer, f"the process failed at {question}"
            self.known[question] = json.loads(answer)
        return self.known[question]


@pytest.fixture(scope="module")
def runners():
    made = {library: Runner(library) for library in ("torch", "tapegrad")}
    yield made
    for one in made.values():
        one.process.communicate()


def losses(answer):
    """The losses in a table of steps.

    >>> losses({"said": "step  loss\\n   0  1.5\\n   1  0.5\\n98% are right\\n"})
    [1.5, 0.5]
    """
    return [float(loss) for loss in re.findall(r"^ *\d+  (\S+)$", answer["said"], re.MULTILINE)]


HOW = {
    "at once": ((), "immediate"),
    "deferred": ((), "deferred"),
    "compiled": (("--compile",), "immediate"),
}


def marks(name, how):
    """Where processes are started for a program, it is dear."""
    return pytest.mark.ring("whole") if name == "data_workers" and how != "at once" else ()


CASES = [pytest.param(name, how, id=f"{name} {how}", marks=marks(name, how)) for name in NAMES for how in HOW]


@pytest.mark.parametrize(("name", "how"), CASES)
def test_a_program_takes_the_way_that_it_takes_on_pytorch(runners, name, how):
    arguments, execution = HOW[how]
    expected = losses(runners["torch"].ask(name))
    answer = runners["tapegrad"].ask(name, *arguments, execution=execution)
    got = losses(answer)
    assert answer["replayed"] or how != "compiled" or name in NOT_SO_SOON
    assert got == pytest.approx(expected, rel=CLOSE.get(name, USUALLY)) and len(got) == int(STEPS)


def test_there_are_as_many_programs_as_are_promised():
    assert len(NAMES) == 18

"""What type checkers and editors are told is what is there: stubs in step with declarations, and a strict program."""

import inspect
from pathlib import Path

import pytest

import tapegrad
from tapegrad._src.stubs.writing import FILES, GENERATED, written
from tests.typed import program

pytestmark = pytest.mark.once("reads declarations")
HOME = Path(inspect.getfile(tapegrad)).parent


@pytest.mark.parametrize("file", FILES)
def test_stubs_are_in_step(file):
    """If this is red, a declaration has changed: ``python -m tapegrad._src.stubs`` writes the files anew."""
    assert (HOME / f"{file}.pyi").read_text() == written(file)


def test_stubs_say_that_they_are_generated():
    for path in HOME.rglob("*.pyi"):
        assert path.read_text().startswith(f"{GENERATED}\n"), path


def test_no_other_stub_is_left():
    assert {str(path.relative_to(HOME).with_suffix("")) for path in HOME.rglob("*.pyi")} == set(FILES)


def test_the_package_says_that_it_is_typed():
    assert (HOME / "py.typed").is_file()


def test_the_typed_program_runs():
    assert 0 < program.train() < 5
    assert program.shapes() == (3, 2)


@pytest.mark.ring("full")
def test_a_strict_checker_finds_nothing_in_it_and_finds_what_is_wrong(tmp_path):
    """Attributes that aren't there, wrong arguments, missing types are found: it is checked, not waved through."""
    api = pytest.importorskip("mypy.api")
    wrong = tmp_path / "wrong_program.py"
    wrong.write_text(
        "import tapegrad as torch\n"
        "x = torch.ones(3)\n"
        "y: int = x.sum()\n"
        "x.no_such_method()\n"
        "torch.zeros('three')\n"
        "def untyped(x): return x\n"
    )
    out, _, _ = api.run([inspect.getfile(program), str(wrong)])  # pyproject.toml is strict with it
    found = [line.partition(": error: ")[0].rpartition("/")[2] for line in out.splitlines() if ": error: " in line]
    assert found == [f"wrong_program.py:{line}" for line in (3, 4, 5, 6)], out

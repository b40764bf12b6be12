"""Other people's tests: those of opt_einsum, which comes with jax, are run here, others by ``running.py``."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.libraries import running as libraries
from tests.libraries.table import LIBRARIES, SKIPPED, Library

pytestmark = pytest.mark.once("other processes compute")

CHECKOUT = Path(__file__).resolve().parents[2]
FILES = ["backends", "contract", "sharing"]
OTHERWISE = "sharing_nesting"  # a tensor on memory of NumPy's keeps the memory alive, not the array that showed it


@pytest.mark.ring("full")
def test_opt_einsum_passes_its_own_tests(tmp_path):
    files = [f"opt_einsum.tests.test_{name}" for name in FILES]
    told = ["-q", "--pyargs", *files, "-k", f"torch and not {OTHERWISE}", "-p", "no:cacheprovider", "--noconftest"]
    ended = subprocess.run(
        [sys.executable, "-m", "tapegrad", "-m", "pytest", *told, "--rootdir", str(tmp_path)],
        cwd=tmp_path, env={**libraries.os.environ, "PYTHONPATH": str(CHECKOUT)}, capture_output=True, text=True,
    )  # fmt: skip
    counted = re.search(r"^(\d+) passed, \d+ deselected", ended.stdout, re.MULTILINE)
    assert counted, ended.stdout[-3000:] + ended.stderr[-3000:]
    assert int(counted[1]) > 40


def written(path, *lines):
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def test_a_record_says_why_tests_do_not_pass(tmp_path):
    record = written(
        tmp_path / "record",
        ["imported", "b.py", "ImportError: no x"],
        ["begun", "a.py::one", ""], ["passed", "a.py::one", ""],
        ["begun", "a.py::two", ""], ["failed", "a.py::two", "assert 1 == 2"], ["failed", "a.py::two", "again"],
        ["begun", "a.py::three", ""], ["skipped", "a.py::three", ""], ["passed", "a.py::three", ""],
        ["begun", "a.py::four", ""],
    )  # fmt: skip
    wanted = ["a.py::one", "a.py::two", "a.py::three", "a.py::four", "a.py::five", "b.py::one"]
    assert dict(libraries.causes(wanted, libraries.outcomes(record))) == {
        "a.py::two": "assert 1 == 2",
        "a.py::three": "skipped",
        "a.py::four": "ended the process, or was running when time was up",
        "a.py::five": "not reached",
        "b.py::one": "not collected: ImportError: no x",
    }


def test_rows_of_libraries_that_were_not_run_stay(tmp_path):
    page = tmp_path / "libraries.md"
    library = Library("einops", "0.8.2", part="layers", one_in=3, differs="nothing")
    page.write_text(libraries.page_of([library], {"einops": {"passed": 3, "of": 4}}, ""))
    again = libraries.page_of([library], {}, page.read_text())
    assert again == page.read_text()
    assert "| einops | 0.8.2 | 3 / 4 | 1 in 3 of layers | nothing |" in again


def test_the_page_has_all_libraries():
    page = (CHECKOUT / "docs" / "libraries.md").read_text()
    assert set(libraries.rows_of(page)) <= set(LIBRARIES)
    assert all(f"`{name}`" in page for name in SKIPPED)

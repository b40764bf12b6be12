"""``python -m tests.libraries NAME ...`` runs the own tests of libraries that were written for PyTorch.

For each library of ``table.py`` that is named it makes an environment with pinned versions, unpacks the
library's sdist, which has its tests, records which of them pass on PyTorch 2.13 (once), runs those on tapegrad, and
prints how many pass, and the first lines of the errors of the others, the most frequent first. ``--table`` writes what
was found to ``docs/libraries.md``; rows of libraries that were not run here stay as they are.

``--names`` counts names that libraries import from PyTorch: see ``names.py``.

All is kept in a folder, ``.cache/libraries`` of the checkout: PyTorch and jax once, for all libraries together, and
for each what it needs besides. pip fetches what is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import tarfile
import time
import venv
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tests.libraries import names
from tests.libraries.table import LIBRARIES, SKIPPED, Library

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
BASE = ("torch==2.13.0", "jax==0.10.2", "numpy==2.4.6", "scipy==1.17.1", "pytest==9.2.0", "pytest-timeout==2.4.0")
"""What all environments have."""

SECONDS_OF_A_TEST, SECONDS_OF_A_RUN = 120, 480


def python_of(environment: Path) -> Path:
    """The Python of an environment."""
    return environment / "bin" / "python"


def packages_of(environment: Path) -> Path:
    """Where an environment has its packages."""
    return next((environment / "lib").glob("python*/site-packages"))


def pip(environment: Path, *arguments: str) -> None:
    """Run pip, which says something only if it fails."""
    command = [str(python_of(environment)), "-m", "pip", "-qq", "--disable-pip-version-check", *arguments]
    subprocess.run(command, check=True)


def base(folder: Path) -> Path:
    """The environment with what all libraries need, made if it isn't there."""
    environment = folder / "base"
    if not (environment / "made").exists():
        venv.create(environment, with_pip=True)
        pip(environment, "install", *BASE)
        (environment / "made").touch()
    return environment


def environment_of(library: Library, folder: Path) -> Path:
    """The environment of a library, which sees what the base has; made anew if its pins have changed."""
    environment, pins = folder / library.name / "environment", [f"{library.name}=={library.version}", *library.needs]
    made = environment / "made"
    if not made.exists() or made.read_text() != "\n".join(pins):
        venv.create(environment, with_pip=True, clear=True)
        below = packages_of(base(folder))
        (packages_of(environment) / "zz_base.pth").write_text(f"{below}\n")
        kept = folder / "constraints.txt"
        kept.write_text("\n".join(BASE))
        pip(environment, "install", "--constraint", str(kept), *pins)
        made.write_text("\n".join(pins))
    return environment


def source_of(library: Library, folder: Path) -> Path:
    """The unpacked sdist of a library."""
    place = folder / library.name / f"source-{library.version}"
    if not place.exists():
        fetched = folder / library.name / "fetched"
        shutil.rmtree(fetched, ignore_errors=True)
        from_source = ("--no-binary", ":all:", "--no-deps", "--dest", str(fetched))
        pip(base(folder), "download", *from_source, f"{library.name}=={library.version}")
        with tarfile.open(next(fetched.glob("*.tar.gz"))) as archive:
            archive.extractall(fetched, filter="data")
        next(path for path in fetched.iterdir() if path.is_dir()).rename(place)
    return place


def shown(folder: Path) -> Path:
    """A folder with tapegrad and the plugin, and with nothing else of the checkout that a test could import."""
    place = folder / "shown"
    place.mkdir(exist_ok=True)
    for name, path in {"tapegrad": CHECKOUT / "tapegrad", "libraries_plugin.py": HERE / "plugin.py"}.items():
        link = place / name
        link.unlink(missing_ok=True)
        link.symlink_to(path)
    return place


def arguments_of(library: Library, tests: Iterable[str] = ()) -> list[str]:
    """What pytest is told."""
    ignored = [f"--ignore={path}" for path in library.left_out]
    ours = ["-q", "-p", "libraries_plugin", "-p", "no:cacheprovider", f"--timeout={SECONDS_OF_A_TEST}"]
    ours += ["--continue-on-collection-errors", "--rootdir=."]
    return [*ours, "-W", "default", "-o", "addopts=", *library.options, *ignored, *(tests or library.tests)]


def run(library: Library, folder: Path, record: Path, only: Path | None = None, deadline: float = 0.0) -> None:
    """Run a library's tests on PyTorch, or those that a file names on tapegrad; again, where they end Python."""
    before = -1
    while before != (before := len(lines_of(record))) or before == -1:
        module = ["pytest"] if only is None else ["tapegrad", "--random", "pytorch", "-m", "pytest"]
        command = [str(python_of(environment_of(library, folder))), "-m", *module, *arguments_of(library)]
        status = process(command, library, folder, record, only, deadline)
        if status is not None and status >= 0 and record.exists():
            return


def process(
    command: Sequence[str], library: Library, folder: Path, record: Path, only: Path | None, deadline: float
) -> int | None:
    """Run a process, whose output goes to a file beside the record; None if time was up."""
    told = {**os.environ, **library.environment, "PYTHONPATH": str(shown(folder)), "LIBRARIES_RECORD": str(record)}
    told |= {"PYTHONDONTWRITEBYTECODE": "", "OMP_NUM_THREADS": "1", "LIBRARIES_ONE_IN": str(library.one_in)}
    told |= {"JAX_COMPILATION_CACHE_DIR": str(folder / "jax"), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    told |= {"LIBRARIES_ONLY": str(only)} if only else {}
    with open(record.with_suffix(".log"), "ab") as log:
        try:
            left = max(1.0, deadline - time.monotonic())
            place = source_of(library, folder)
            return subprocess.run(command, cwd=place, env=told, stdout=log, stderr=log, timeout=left).returncode
        except subprocess.TimeoutExpired:
            return 0


def lines_of(record: Path) -> list[list[str]]:
    """What the plugin has written."""
    return [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []


def outcomes(record: Path) -> dict[str, tuple[str, str]]:
    """How each test ended, and its error."""
    found: dict[str, tuple[str, str]] = {}
    for kind, test, text in lines_of(record):
        if found.get(test, ("begun", ""))[0] not in ("failed", "skipped"):  # what has been skipped is taken down, too
            found[test] = kind, text
    return found


def passes(library: Library, folder: Path) -> Path:
    """The file with the names of the tests that pass on PyTorch, made if it isn't there."""
    place = folder / library.name / f"passes-{key_of(library):08x}.json"
    if not place.exists():
        record = place.with_name("pytorch.jsonl")
        forget(record)
        run(library, folder, record, deadline=time.monotonic() + SECONDS_OF_A_RUN)
        found = [test for test, (kind, _) in outcomes(record).items() if kind == "passed"]
        if not found:
            raise RuntimeError(f"no test of {library.name} passes on PyTorch: see {record.with_suffix('.log')}")
        place.write_text(json.dumps(sorted(found)))
    return place


def key_of(library: Library) -> int:
    """A number for what decides which tests pass: pins, and what is run."""
    return zlib.crc32(repr((BASE, 2, replace(library, part="", differs=""))).encode())


def forget(record: Path) -> None:
    """Remove a record, and what was printed beside it."""
    record.unlink(missing_ok=True)
    record.with_suffix(".log").unlink(missing_ok=True)


ENDS = {"begun": "ended the process, or was running when time was up", "skipped": "skipped"}


def causes(wanted: Iterable[str], found: dict[str, tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Each test that doesn't pass, with the first line of why."""
    broken = {test: text for test, (kind, text) in found.items() if kind == "imported"}
    for test in wanted:
        kind, text = found.get(test, ("missing", ""))
        if kind == "missing":
            file = test.partition("::")[0]
            above = next((text for name, text in broken.items() if file.startswith(name) and name), None)
            yield test, f"not collected: {above}" if above else "not reached"
        elif kind != "passed":
            yield test, ENDS.get(kind, text)


def compare(library: Library, folder: Path) -> None:
    """Run what passes on PyTorch, and print and keep what came out."""
    (folder / library.name).mkdir(parents=True, exist_ok=True)
    environment_of(library, folder)
    only, record = passes(library, folder), folder / library.name / "tapegrad.jsonl"
    forget(record)
    began = time.monotonic()
    run(library, folder, record, only, deadline=began + SECONDS_OF_A_RUN)
    wanted = json.loads(only.read_text())
    failed = dict(causes(wanted, outcomes(record)))
    result = {"version": library.version, "passed": len(wanted) - len(failed), "of": len(wanted), "failed": failed}
    (folder / library.name / "result.json").write_text(json.dumps(result, indent=1))
    report(library, result, time.monotonic() - began)


def report(library: Library, result: dict, seconds: float) -> None:
    """Print how many tests pass, and why others don't."""
    print(f"{library.name} {library.version}: {result['passed']} of {result['of']} in {seconds:.0f} s", flush=True)
    for cause, times in Counter(result["failed"].values()).most_common():
        example = next(test for test, text in result["failed"].items() if text == cause)
        print(f"  {times:4} {cause}\n       {example}", flush=True)


PAGE = """\
# Libraries

Libraries that are written for PyTorch have tests of their own. Those of their tests that pass on PyTorch 2.13 are run
here by `python -m tapegrad --random pytorch -m pytest`, unchanged, from the same seed. `python -m tests.libraries NAME`
does it for a library, in an environment of its own with pinned versions (`tests/libraries/table.py`), and prints why
tests do not pass. One that takes more than {limit} seconds has failed. Of large suites a part is run: one test in so
many, by a hash of their names.

| library | version | passed / of | which tests | what differs |
| --- | --- | --- | --- | --- |
{rows}

{total}

Not among them, though they train or differentiate with PyTorch:

{skipped}

## Names

`python -m tests.libraries --names` counts the names that libraries import from PyTorch 2.13, or read of what they have
imported, in the sources of those of `tests/libraries/names.py`; it says which of them tapegrad has not, and which are
refused when they are called.
"""


def rows_of(page: str) -> dict[str, str]:
    """The rows of the table on a page, by library."""
    rows = [line for line in page.splitlines() if line.startswith("| ")][2:]
    return {row.split("|")[1].strip(): row for row in rows}


def part_of(library: Library) -> str:
    """Which tests of a library are run, in words."""
    which = library.part or "all"
    return which if library.one_in == 1 else f"1 in {library.one_in} of {which}"


def page_of(known: Iterable[Library], results: dict[str, dict], before: str) -> str:
    """The page with the table: rows of libraries that have no result are as they were before."""
    rows = rows_of(before)
    for library in known:
        if library.name in results:
            result = results[library.name]
            count = f"{result['passed']} / {result['of']}"
            cells = library.name, library.version, count, part_of(library), library.differs
            rows[library.name] = f"| {' | '.join(cells)} |"
    skipped = "\n".join(f"- `{name}`: {why}" for name, why in SKIPPED.items())
    kept = [rows[library.name] for library in known if library.name in rows]
    return PAGE.format(rows="\n".join(kept), total=total_of(kept), skipped=skipped, limit=SECONDS_OF_A_TEST)


def total_of(rows: Sequence[str]) -> str:
    """A sentence with the sums of all rows, and the mean of their shares."""
    pairs = [tuple(map(int, row.split("|")[3].split("/"))) for row in rows]
    passed, of = sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
    share = sum(pair[0] / pair[1] for pair in pairs) / len(pairs)
    return f"Together {passed:,} of {of:,} pass; of a library on average {share:.1%}."


def write_table(folder: Path) -> None:
    """Write the page of the libraries that have been run."""
    place, results = CHECKOUT / "docs" / "libraries.md", {}
    for name in LIBRARIES:
        kept = folder / name / "result.json"
        if kept.exists():
            results[name] = json.loads(kept.read_text())
    place.write_text(page_of(LIBRARIES.values(), results, place.read_text() if place.exists() else ""))


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="*", choices=[*LIBRARIES, []], metavar="NAME", help=", ".join(LIBRARIES))
    parser.add_argument("--folder", type=Path, default=CHECKOUT / ".cache" / "libraries", help="where all is kept")
    parser.add_argument("--table", action="store_true", help="write docs/libraries.md")
    parser.add_argument("--names", action="store_true", help="count the names that libraries import and tapegrad has")
    parser.add_argument("--count-names", action="store_true", help="write the list of those names again, by PyTorch")
    given = parser.parse_args()
    if given.names:
        return names.report()
    folder = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pytest.ini").touch()  # where a library has no settings of its own, those of the checkout are not meant
    if given.count_names:
        names.count(folder)
    for name in given.libraries:
        compare(LIBRARIES[name], folder)
    if given.table:
        write_table(folder)
    return 0

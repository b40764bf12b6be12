"""A plugin of pytest that writes down how each test of a library ended: ``running.py`` loads it.

Each line of the file is the JSON of ``[kind, test, text]``: a test has "begun", and "passed", "failed" (with the
first line of its error) or been "skipped"; a file could not be "imported". What has begun and not ended has ended the
process.
"""

from __future__ import annotations

import json
import os
import random
import sys
import zlib

import pytest

RECORD, ONLY = os.environ.get("LIBRARIES_RECORD", os.devnull), os.environ.get("LIBRARIES_ONLY")
ONE_IN = int(os.environ.get("LIBRARIES_ONE_IN", "1"))


def write(kind: str, test: str, text: str = "") -> None:
    """Append a line, at once."""
    with open(RECORD, "a") as record:
        record.write(json.dumps([kind, test, text]) + "\n")


def ended() -> set[str]:
    """The tests that the file has already: an earlier process was ended by the one behind them."""
    if not os.path.exists(RECORD):
        return set()
    with open(RECORD) as record:
        return {test for _, test, _ in map(json.loads, record)}


def first_line(report) -> str:
    """The error of a report, in a line, and where it was raised."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is None:
        lines = [line for line in str(report.longrepr).strip().splitlines() if line.startswith("E ")]
        return (lines or str(report.longrepr).strip().splitlines() or [""])[-1][:300]
    lines = crash.message.strip().splitlines() or [""]
    return f"{lines[0][:300]}  [{os.path.relpath(crash.path)}:{crash.lineno}]"


def pytest_collection_modifyitems(config, items):
    """Keep the tests that are asked for, and did not run yet."""
    done, kept = ended(), items
    kept = [item for item in kept if zlib.crc32(item.nodeid.encode()) % ONE_IN == 0]
    if ONLY:
        with open(ONLY) as names:
            wanted = set(json.load(names))
        kept = [item for item in items if item.nodeid in wanted]
    kept = [item for item in kept if item.nodeid not in done]
    chosen = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = kept


def pytest_collectreport(report):
    """Note a file that could not be imported."""
    if report.failed:
        write("imported", report.nodeid, first_line(report))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Let a test draw the same numbers wherever it is run: many pass with some only."""
    seed = zlib.crc32(item.nodeid.encode())
    random.seed(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].default_generator.manual_seed(seed)  # torch.manual_seed imports PyTorch's compiler first
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed(seed)


def pytest_runtest_logstart(nodeid):
    """Note that a test begins."""
    write("begun", nodeid)


def pytest_runtest_logreport(report):
    """Note how a test ended; what it fails at its end counts as well."""
    if report.failed:
        write("failed", report.nodeid, first_line(report))
    elif report.skipped:
        write("skipped", report.nodeid)
    elif report.when == "teardown":
        write("passed", report.nodeid)

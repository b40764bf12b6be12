"""What libraries ask before they compute: of the compiler, of groups of processes, of the version."""

import importlib.metadata
import subprocess
import sys

import pytest

import tapegrad as torch


def test_whether_a_call_is_captured():
    seen = []

    def step(x):
        seen.append((torch.compiler.is_compiling(), torch._dynamo.is_compiling()))
        return x + 1

    step(torch.ones(1))
    torch.compile(step)(torch.ones(1))
    assert seen == [(False, False), (True, True)]
    assert not torch.compiler.is_compiling() and not torch.compiler.is_exporting()


def test_marked_functions_are_what_they_were():
    def double(x):
        return x * 2

    marks = (torch.compiler.disable, torch.compiler.allow_in_graph, torch.compiler.assume_constant_result)
    assert all(mark(double) is double for mark in marks) and torch.compiler.disable(recursive=False)(double) is double
    with pytest.raises(AssertionError, match="^fn must be callable$"):
        torch.compiler.disable(3)
    with pytest.raises(AssertionError, match="^allow_in_graph expects a callable$"):
        torch.compiler.allow_in_graph(3)
    assert torch.compiler.list_backends() == ["cudagraphs", "inductor", "openxla", "tvm"]


def test_there_is_no_group_of_processes_before_it_is_made():
    assert torch.distributed.is_available() and not torch.distributed.is_initialized()


def test_the_version_of_what_is_installed():
    program = """
import importlib.metadata, tapegrad
with tapegrad.install():
    import torch
    assert importlib.metadata.version("torch") == torch.__version__
    assert importlib.metadata.metadata("torch")["Name"] == "torch"
"""
    subprocess.run([sys.executable, "-c", program], check=True)
    assert importlib.metadata.version("numpy")


def test_explain_says_what_keeps_calls_from_being_replayed():
    def step(x):
        if x.sum() > 1:
            x = x + 1
        print("step")
        return x

    found = torch._dynamo.explain(step, torch.ones(2))
    read, printed = found.break_reasons
    assert (found.graph_count, found.graph_break_count, found.op_count) == (2, 1, 3)
    assert (read.user_stack[0].name, read.user_stack[0].line) == ("step", "if x.sum() > 1:")
    assert "it calls print at" in printed.reason
    assert "Graph Break Count: 1" in str(found), str(found)
    assert not torch._dynamo.explain(lambda x: (x * 2).sum().item())(torch.ones(2)).break_reasons

"""What a tape tells of itself: costs, what is kept, by whom, and why a gradient is or isn't there."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

import tapegrad as torch
from tapegrad.viz.explanations import walking

HERE = "test_explain.py"


def leaf(*shape):
    return torch.ones(*shape, requires_grad=True)


def lines():
    return torch.autograd.set_record_source_lines(True)


# -- bad input ---------------------------------------------------------------------------------------------------------

OF_GRAPHS = ["explain", "explain_nan", "saved", "walk"]
OF_TENSORS = ["who_holds", "why_none", "why_no_grad"]


@pytest.mark.parametrize("name", OF_GRAPHS)
def test_what_is_no_graph_gets_a_sentence(name):
    explain = getattr(torch.viz, name)
    with pytest.raises(TypeError, match=rf"^{name}\(\): expected a tensor.*, got str"):
        explain("loss")
    with pytest.raises(ValueError, match=rf"^{name}\(\): the tensor has no graph"):
        explain(torch.ones(2))


@pytest.mark.parametrize("name", OF_TENSORS)
def test_what_is_no_tensor_gets_a_sentence(name):
    with pytest.raises(TypeError, match=rf"^{name}\(\): expected a tensor, got float"):
        getattr(torch.viz, name)(1.0)


@pytest.mark.parametrize("name", ["walk", "explain_nan"])
def test_a_graph_that_was_freed_gets_a_sentence(name):
    loss = leaf(2).exp().sum()
    loss.backward()
    sentence = rf"^{name}\(\): what the graph saved was freed by the backward call at .*{HERE}"
    with pytest.raises(RuntimeError, match=sentence):
        getattr(torch.viz, name)(loss)


@pytest.mark.parametrize("name", ["explain", "explain_nan", "walk", "watch", "who_holds", "why_no_grad", "why_none"])
def test_names_at_the_top_are_those_of_viz(name):
    assert getattr(torch, name) is getattr(torch.viz, name)


@pytest.mark.parametrize("name", ["explain", "explain_nan", "graph", "saved", "walk"])
def test_nothing_is_not_explained(name):
    """None of them but ``graph`` draws."""
    with pytest.raises(ValueError, match=rf"^{name}\(\): expected a tensor, or several; the sequence is empty$"):
        getattr(torch.viz, name)([])


# -- explain -----------------------------------------------------------------------------------------------------------


def costs(loss):
    return {row.operator: row for row in torch.explain(loss).rows}


def test_operations_and_bytes_are_those_of_xla():
    loss = (torch.ones(4, 8) @ leaf(8, 16)).exp().sum()
    found = costs(loss)
    assert found["mm"].flops == 2 * 4 * 8 * 16 and found["mm"].backward_flops == 2 * 4 * 8 * 16
    assert found["exp"].nbytes == 2 * 4 * 64 and found["exp"].flops == 64
    assert [found[name].saved for name in ("mm", "exp", "sum_all")] == [4 * 32, 4 * 64, 0]


def test_every_turn_of_a_loop_counts():
    steps, batch, width = 16, 8, 4
    lstm = torch.nn.LSTM(width, width, num_layers=2)
    found = costs(lstm(torch.ones(steps, batch, width))[0].sum())["lstm_layer"]
    by_hand = 2 * steps * 2 * batch * (width + width) * 4 * width
    assert by_hand < found.flops < 1.5 * by_hand and found.backward_flops > 2 * by_hand


def test_of_convolutions_what_meets_the_image_counts():
    """Of 4 places in a row 2 are at a rim, where a kernel of 3 meets 2 elements."""
    loss = torch.nn.functional.conv2d(leaf(2, 16, 4, 4), leaf(8, 16, 3, 3), padding=1).sum()
    row = next(row for row in torch.explain(loss).rows if "conv" in row.operator)
    assert row.flops == 2 * 2 * 16 * 8 * (2 + 3 + 3 + 2) ** 2


def test_gradients_that_pass_as_they_are_cost_nothing():
    assert costs((leaf(4) + leaf(4)).sum())["add"].backward_nbytes == 0


def test_calls_of_one_line_are_one_row():
    x = leaf(3)
    with lines():
        for _ in range(5):
            x = x * 2
        loss = (x * 3).sum()
    rows = [row for row in torch.explain(loss).rows if row.operator == "mul"]
    assert [row.calls for row in rows] == [5, 1]
    assert all(HERE in row.line for row in rows) and "x = x * 2" in rows[0].line


@pytest.mark.once("is timed")
def test_times_are_those_that_were_recorded():
    x = leaf(3)
    assert costs(x.exp().sum())["exp"].forward_ns is None
    with torch.viz.record():
        loss = x.exp().sum()
        loss.backward(retain_graph=True)
    row = costs(loss)["exp"]
    assert row.forward_ns > 0 and row.backward_ns > 0
    assert "forward" in torch.explain(loss).table()[0]


def test_the_peak_of_memory_is_found_where_it_is():
    x = leaf(1000)
    loss = x.exp().exp().sum()
    peak = torch.explain(loss).peak
    assert peak.node.name() == "ExpBackward0"
    assert (peak.saved, peak.gradients) == (8000, 8000)  # both results; the gradients that come and go
    assert peak.lines["exp"] == 8000 and sum(peak.lines.values()) == peak.nbytes


def test_of_a_freed_graph_costs_are_still_known():
    loss = leaf(2).exp().sum()
    loss.backward()
    report = torch.explain(loss)
    assert report.peak is None and report.rows[0].flops is not None
    assert any("was freed by the backward call" in fact for fact in report.facts)


def test_nodes_that_no_operator_made_have_no_costs():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = leaf(4) * 1
    x[1:] *= 3
    rows = costs(Double.apply(x).sum())
    assert rows["DoubleBackward"].flops is None and rows["CopySlices"].flops is None


def test_without_data_there_are_shapes():
    loss = (torch.ones(3, device="meta", requires_grad=True) * 2).sum()
    assert costs(loss)["mul"].flops is None
    assert str(next(torch.walk(loss))).splitlines()[1] == "  gets f32[]"
    with pytest.raises(ValueError, match=r"^explain_nan\(\): the tensor has no elements"):
        torch.explain_nan(loss)


# -- what is kept ------------------------------------------------------------------------------------------------------


def test_saved_counts_what_several_nodes_keep_once():
    w = leaf(8)
    y = w.exp()
    report = torch.viz.saved((y * w).sum())
    assert report.nbytes == 64
    by_name = {row.of: row for row in report.rows}
    assert by_name["result of exp"].holders == ("ExpBackward0.result", "MulBackward0.self")
    assert "of this leaves, which are there anyway: 32 B" in report.facts


def test_saved_knows_parameters_by_their_paths():
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
    report = torch.viz.saved(net(torch.ones(4, 2)).sum())
    assert "parameter 1.weight of Sequential" in {row.of for row in report.rows}


def test_saved_of_what_hooks_have_packed():
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x.tolist(), torch.tensor):
        loss = leaf(4).exp().sum()
    report = torch.viz.saved(loss)
    assert report.nbytes == 0 and "packed by a hook" in report.rows[0].text


def test_who_holds_a_tensor():
    class Owner:
        pass

    x, w = torch.ones(3), leaf(3)
    owner, row = Owner(), [x]
    owner.attribute = x
    y = w * x
    view = x[1:]
    found = {(holder.kind, holder.name) for holder in torch.who_holds(x).rows}
    assert {
        ("graph", "MulBackward0.other"), ("variable", "x"), ("object", "a list of 1"),
        ("object", "attribute attribute of a Owner"), ("tensor", "tensor without a graph, f32[2], on the same memory"),
    } <= found  # fmt: skip
    y.sum().backward()
    del owner, row, view
    found = {(holder.kind, holder.name) for holder in torch.who_holds(x).rows}
    assert not any(kind in ("graph", "object") for kind, _ in found), found


def test_who_holds_a_parameter():
    net = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), momentum=0.9)
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    names = {holder.name for holder in torch.who_holds(net.weight).rows}
    assert {"parameter weight of Linear", "SGD"} <= names
    names = {holder.name for holder in torch.who_holds(net.weight.grad).rows}
    assert ".grad of parameter weight of Linear, f32[1, 2]" in names
    momentum = optimizer.state[net.weight]["momentum_buffer"]
    assert "state 'momentum_buffer' of SGD" in {row.name for row in torch.who_holds(momentum).rows}


# -- why a gradient isn't there ----------------------------------------------------------------------------------------


def reasons_without_grad():
    w = leaf(2)
    with torch.inference_mode():
        inferred = w * 2
    frozen = torch.nn.Linear(1, 1).requires_grad_(False)
    with lines():
        with torch.no_grad():
            lost = w * 2
        passed_on, cut, index = lost + 1, w.detach() * 3, w.argmax()
    return [
        (w, "it requires grad"),
        (torch.arange(2), r"its dtype is torch.int64: only"),
        (inferred, "it was made in inference mode"),
        (frozen.weight, "it is frozen"),
        (w.data, "it shows the memory of another tensor, which requires grad"),
        (lost, "its gradient was lost in mul, which ran while grad mode was off"),
        (passed_on, "its gradient was lost in mul, which ran while grad mode was off"),
        (cut, "its gradient was lost in detach"),
        (index, "its gradient was lost in argmax, whose result is torch.int64"),
        (torch.ones(2), "nothing that it was computed from requires grad"),
    ]


def test_why_a_tensor_requires_no_grad():
    for tensor, reason in reasons_without_grad():
        answer = torch.why_no_grad(tensor)
        assert answer.reason.startswith(reason), answer
    facts = torch.why_no_grad(reasons_without_grad()[5][0]).facts
    assert any(HERE in fact and "with torch.no_grad()" in fact for fact in facts)


def stopped():
    class Stop(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return None

    w = leaf(2)
    return w, Stop.apply(w).sum()


def set_to_none():
    w = leaf(2)
    loss = w.exp().sum()
    loss.backward()
    w.grad = None
    return w, loss


def detached():
    v, w = leaf(2), leaf(2)
    return w, (v * w.detach()).sum()


def left_out():
    v, w = leaf(2), leaf(2)
    with torch.viz.record():
        loss = (v * w).sum()
        loss.backward(inputs=[v], retain_graph=True)
    return w, loss


def not_a_leaf():
    y = leaf(2) * 2
    return y, y.sum()


def not_run():
    w = leaf(2)
    return w, w.sum()


@pytest.mark.parametrize(
    ("program", "reason", "fact"),
    [
        (stopped, "StopBackward gives no gradient for it", None),
        (set_to_none, "a backward call ran through the graph, and the gradient was set to None since", HERE),
        (detached, "the loss does not depend on it", "MulBackward0 uses its numbers without its history"),
        (left_out, "the backward call that was recorded left it out", None),
        (not_a_leaf, "it is no leaf", "retain_grad()"),
        (not_run, "the loss depends on it, but backward() was not called", None),
    ],
)
def test_why_a_gradient_is_none(program, reason, fact):
    tensor, loss = program()
    answer = torch.why_none(tensor, loss)
    assert answer.reason.startswith(reason), answer
    assert fact is None or any(fact in one for one in answer.facts), answer


@pytest.mark.parametrize(
    ("cut", "fact"),
    [
        (lambda v: (v * 2).detach(), "a gradient was lost in detach at .*{HERE}"),
        (lambda v: v.data, "a gradient was lost in data at .*{HERE}"),
        (lambda v: (v > 0).float(), "a gradient was lost in gt, whose result is torch.bool, at .*{HERE}"),
        (
            torch.no_grad()(lambda v: v * 2),
            "lost in mul, which ran while grad mode was off, at .*{HERE}.*; grad mode was",
        ),
        (lambda v: v.sum().item(), r"detach\(\), .data, item\(\), tolist\(\), .* leave the graph"),
    ],
)
def test_where_the_way_to_a_leaf_was_cut(cut, fact):
    """Also when the graph was freed."""
    v, w = leaf(2), leaf(2)
    with torch.autograd.set_record_source_lines(True):
        loss = (w + cut(v)).sum()
    loss.backward()
    facts = torch.why_none(v, loss).facts
    assert re.search(fact.replace("{HERE}", HERE), facts[0]), facts


def test_a_gradient_that_is_there_is_described():
    w = leaf(2)
    w.round().sum().backward()
    assert torch.why_none(w).facts == (".grad is f32[2] (min 0, max 0, 0 nan, 0 inf)",)


def test_the_list_that_holds_a_tensor_is_named(monkeypatch):
    losses = [leaf(2).sum()]
    monkeypatch.setattr(torch.viz, "losses", losses, raising=False)
    found = {(row.name, row.place) for row in torch.who_holds(losses[0]).rows}
    assert ("a list of 1", "losses of module tapegrad.viz") in found


def test_why_a_gradient_is_none_without_the_loss():
    w = leaf(2)
    assert torch.why_none(w).reason.startswith("no graph that is alive leads to it")
    loss = w.sum()
    assert torch.why_none(w).reason.startswith("a graph leads to it")
    loss.backward()
    assert torch.why_none(w).reason == "it has a gradient"
    assert torch.why_none(torch.ones(2)).reason.startswith("it does not require grad: nothing")


# -- walk --------------------------------------------------------------------------------------------------------------


def test_a_walk_gives_what_backward_gives():
    w, v = torch.tensor([1.0, 2.0], requires_grad=True), leaf(2)
    y = (w * v + w.exp()) * w
    steps = {step.node: step for step in torch.walk(y.sum())}
    expected = torch.autograd.grad(y.sum(), [w, v, y])
    ends = {id(node.variable): step.incoming[0] for node, step in steps.items() if hasattr(node, "variable")}
    assert torch.equal(ends[id(w)], expected[0]) and torch.equal(ends[id(v)], expected[1])
    assert torch.equal(steps[y.grad_fn].incoming[0], expected[2])
    assert w.grad is None and v.grad is None


def test_a_walk_is_in_the_order_of_the_engine_and_runs_hooks():
    ran = []
    w = leaf(2)
    y = w.exp()
    loss = (y * y.sin()).sum()
    y.register_hook(lambda grad: grad * 2)
    steps = list(torch.walk(loss))
    for step in steps:
        if not hasattr(step.node, "variable"):
            step.node.register_prehook(lambda grads, node=step.node: ran.append(node))
    loss.backward()
    assert [step.node for step in steps if not hasattr(step.node, "variable")] == ran
    assert torch.equal(steps[-1].incoming[0], w.grad)


def test_between_two_nodes_anything_may_be_done():
    w = leaf(2)
    loss = w.exp().sum()
    steps = torch.walk(loss)
    next(steps)
    loss.backward(retain_graph=True)
    assert torch.is_grad_enabled() and (w * 2).requires_grad
    assert [step.name for step in steps] == ["ExpBackward0", "leaf"]
    assert [row.order for row in steps.rows] == [1, 2, 3] and "ExpBackward0" in str(steps)


def test_a_walk_inside_a_transform():
    def cubed(x):
        found.append([(step.name, str(step).splitlines()[1]) for step in torch.walk((x**3).sum())])
        found.append(torch.why_none(x, (x**3).sum()).reason)
        return (x**3).sum()

    for transformed in (torch.func.grad(cubed), torch.vmap(torch.func.grad(cubed))):
        found = []
        x = torch.ones(2, 3)
        assert torch.equal(transformed(x), 3 * x**2)
        assert [name for name, _ in found[0]] == ["SumBackward0", "PowBackward0", "leaf"]
        assert found[1] == "the loss depends on it, but backward() was not called"


class Widget:
    """As much of one of ipywidgets as is used."""

    def __init__(self, value=None, description=""):
        self.children = self.value = value
        self.description, self.disabled = description, False

    def on_click(self, react):
        self.click = lambda: react(self)

    def _repr_mimebundle_(self):
        return {"application/vnd.jupyter.widget-view+json": {}, "text/plain": "VBox()"}


@pytest.fixture
def notebook(monkeypatch):
    """A notebook that can show widgets."""
    kinds = dict.fromkeys(["Button", "HTML", "HBox", "VBox"], Widget)
    monkeypatch.setattr(walking, "import_module", {"ipywidgets": SimpleNamespace(**kinds)}.get)
    monkeypatch.setattr(walking, "in_notebook", lambda: True)


def test_a_walk_that_is_shown_elsewhere():
    assert set(torch.walk(leaf(2).sum())._repr_mimebundle_()) == {"text/plain", "text/html"}


@pytest.mark.usefixtures("notebook")
def test_a_walk_has_buttons_in_a_notebook():
    w = leaf(2)
    steps = torch.walk((w.exp() * 3).sum())
    shown = steps._repr_mimebundle_()
    assert shown["text/html"] == steps._repr_html_() and "application/vnd.jupyter.widget-view+json" in shown
    row, page = walking.buttons_of(steps).children
    one, rest = row.children
    one.click()
    assert [step.name for step in steps.rows] == ["SumBackward0"] and "1. SumBackward0" in page.value
    rest.click()
    assert len(steps.rows) == 4 and "4. leaf" in page.value and one.disabled and rest.disabled and w.grad is None


@pytest.mark.usefixtures("notebook")
def test_buttons_of_a_walk_that_raises():
    row, page = walking.buttons_of(torch.walk(Raises.apply(leaf(2)).sum())).children
    row.children[1].click()
    assert "ValueError: no way" in page.value and "SumBackward0" in page.value and row.children[0].disabled


class Raises(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        raise ValueError("no way\nto say")


def test_a_backward_pass_that_raises_is_told():
    w = leaf(2)
    loss = (Raises.apply(w) * 3).sum()
    answer = torch.why_none(w, loss)
    assert answer.reason == "the loss depends on it, but its backward pass could not be looked at"
    assert answer.facts == ("that raises ValueError: no way",)
    found = torch.explain_nan(loss)
    assert found.title == "no nan is known in the forward pass, nor in the backward pass until that raises an error"
    assert found.facts[0] == "ValueError: no way"
    assert [row.name for row in found.rows] == ["SumBackward0", "MulBackward0"]


def test_a_long_walk_takes_a_step_at_a_time():
    """What has run is remembered in one list: to copy it at each step would take minutes where there are 100,000."""
    steps = torch.walk((leaf(2) * 3).sum())
    first = next(steps)
    seen = steps.rows
    assert [*seen, *steps] == list(seen) and seen is steps.rows and seen[0] is first and len(seen) == 3


def test_a_walk_goes_where_it_is_told():
    v, w = leaf(2), leaf(2)
    y = v.exp()
    loss = (y * w.sin()).sum()
    assert "SinBackward0" not in [step.name for step in torch.walk(loss, inputs=[v])]
    assert next(torch.walk(y, torch.full((2,), 3.0))).incoming[0].tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        torch.walk(y)
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        torch.walk(y, torch.ones(3))


def test_a_walk_says_where_a_gradient_goes():
    with lines():
        loss = (leaf(2) * 3).sum()
    first = next(torch.walk(loss))
    assert str(first).startswith("1. SumBackward0\n  made at test_explain.py:")
    assert "gives f32[2] (min 1, max 1, 0 nan, 0 inf) to MulBackward0" in str(first)


# -- explain_nan -------------------------------------------------------------------------------------------------------


def root_of_negative():
    return (torch.tensor([4.0, -1.0], requires_grad=True).sqrt() * 2).sum()


def log_guarded_too_late():
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    return torch.where(x > 0, x.log(), 0.0).sum()


def masked():
    scores = torch.tensor([1.0, 2.0], requires_grad=True)
    mask = torch.tensor([False, True])
    return torch.softmax(scores.masked_fill(mask, -float("inf")), 0)[0]


def nobody_kept():
    x = leaf(2)
    return (x - torch.tensor([float("nan"), 1.0])).exp().sum()


def in_the_data():
    return torch.tensor([1.0, float("nan")], requires_grad=True).sin().sum()


def overflow():
    return (torch.tensor([1000.0], requires_grad=True).exp() * 2).sum()


def overflow_that_becomes_nan():
    x = torch.tensor([1000.0], requires_grad=True)
    y = x.exp()
    return (y - y * 2).sum() + y.sin().sum()


@pytest.mark.parametrize(
    ("program", "title", "node", "facts"),
    [
        (root_of_negative, "the first nan: sqrt made it, in the forward pass", "SqrtBackward0", "negative number"),
        (log_guarded_too_late, "the first nan: LogBackward0 made it, in the backward pass", "LogBackward0", "To guard"),
        (masked, "no nan: neither in what is known of the forward pass, nor", None, None),
        (nobody_kept, "the first nan that is known: in the result of exp", "ExpBackward0", "it may come from sub"),
        (in_the_data, "the first nan: it is in the data: in leaf", "torch::autograd::AccumulateGrad", None),
        (overflow, "the first inf: exp made it, in the forward pass", "ExpBackward0", "too large for its dtype"),
        (overflow_that_becomes_nan, "the first nan", None, "exp"),
    ],
)
def test_the_first_nan_is_found_after_the_fact(program, title, node, facts):
    report = torch.explain_nan(program())
    assert report.title.startswith(title), report
    assert node is None or report.node.name() == node
    assert facts is None or any(facts in fact for fact in report.facts), report


def test_nothing_accumulates_while_a_nan_is_looked_for():
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    loss = x.sqrt().sum()
    assert torch.explain_nan(loss).title == "the first inf: SqrtBackward0 made it, in the backward pass"
    assert x.grad is None
    loss.backward()
    assert np.isinf(x.grad.tolist()[0])


def test_of_a_loss_that_is_no_scalar_the_forward_pass_is_looked_at():
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    assert "gradient= lets backward be looked at" in torch.explain_nan(x.sqrt()).title
    assert torch.explain_nan(x.sqrt(), torch.ones(2)).phase == "backward"


def test_the_line_that_made_a_nan_is_told():
    with lines():
        loss = root_of_negative()
    facts = torch.explain_nan(loss).facts
    assert any(re.search(rf"it was called at .*{HERE}:\d+ in root_of_negative", fact) for fact in facts)


# -- how reports look --------------------------------------------------------------------------------------------------


def test_reports_print_and_show_themselves():
    loss = (leaf(2).exp() * 2).sum()
    explanations = [torch.explain(loss), torch.viz.saved(loss), torch.explain_nan(loss), torch.walk(loss)]
    for report in [*explanations, torch.why_none(leaf(1))]:
        text, html = str(report), report._repr_html_()
        assert text == repr(report) and text.startswith(report.title)
        assert report.title in html and ("<table>" in html) == bool(report.rows)


def test_long_tables_are_cut_and_html_is_escaped():
    x = leaf(1)
    for _ in range(100):
        x = x.exp()
    report = torch.viz.saved(x)
    assert len(report.rows) == 100 and "  and 60 more" in str(report).splitlines()
    loss = (leaf(2) * 2).sum()
    with lines():
        loss = loss * (1 if 1 < 2 else 0)
    assert "1 &lt; 2" in torch.explain(loss)._repr_html_()

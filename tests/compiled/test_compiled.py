"""Every entry of the table gives compiled what it gives at once; and what is compared can tell."""

import pytest

from tests.compiled.running import difference, entries

RED = frozenset("""
alias_of_seed alias_of_load savez_compressed numpy_writes missing_of_function missing_of_module module_getattr
enum_attribute bases torch_replaced method_replaced numpy_replaced format_attribute format_map custom_op_global
weak_reference numpy_flip numpy_binomial seeds_by_name count_kept_in_tuple count_in_set count_as_key count_in_deque
count_in_exception float_kept argument_kept sets_deterministic sets_benchmark sets_threads sets_precision sets_printing
reads_benchmark reads_deterministic reads_threads reads_precision reads_printing reads_numpy dataclass_batch
count_in_others bound_next numpy_batch from_numpy_batch as_tensor_batch object_batch global_batch closures_brought dict_of_lists
""".split())  # noqa: SIM905
"""What is wrong today."""


def names(kind):
    return sorted(entries(kind))


@pytest.mark.once("a program is compared with itself at once")
@pytest.mark.parametrize("name", names("steps"))
def test_step(name):
    assert_right(entries()[name])


@pytest.mark.once("a program is compared with itself at once")
@pytest.mark.parametrize("name", names("attacks"))
def test_attack(name):
    assert_right(entries()[name])


def assert_right(entry):
    fault, _ = difference(entry)
    if entry.name in RED:
        assert fault is not None, f"{entry.name} is right: take it out of RED"
    else:
        assert fault is None, fault

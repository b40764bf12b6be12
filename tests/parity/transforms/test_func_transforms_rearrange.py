"""``func.rearrange`` on both: dimensions split, ordered and joined by a pattern, and patterns that are refused."""

from harness import agree, attempt, warned

GOOD = [
    ("a b c -> c a b", {}), ("a b c -> a (b c)", {}), ("a (b d) c -> d a b c", {"d": 3}), ("... c -> c ...", {}),
    ("a b (c d) -> (a c) b d", {"c": 2}), ("a ... -> a (...)", {}), ("a b c -> a () b c 1", {}), ("... -> ... 1", {}),
    ("(a 1) b c -> a b c", {}), ("a b c ... -> (a 1) (... b) c", {}), ("a b (c d e) -> e a b c d", {"c": 2, "d": 2}),
]  # fmt: skip

BAD = [
    ("a b c -> a b", {}), ("a b -> b a", {}), ("a a b -> b a", {}), ("a b c", {}), ("a b c -> a b c -> c", {}),
    ("a b (c d) -> a b c d", {}), ("a b (c d) -> a b c d", {"c": 3}), ("a b (c d) -> a b c d", {"c": 3, "d": 3}),
    ("a b c -> a b c", {"a": 5}), ("a b c -> c a b", {"z": 3}), ("a b 2 -> a b", {}), ("0 b c -> b c", {}),
    ("a (b (c)) d -> a b c d", {}), ("a b_ c -> c b_ a", {}), ("a b 3c -> 3c b a", {}), ("a b c.. -> a", {}),
    ("a ... ... -> a", {}), ("(...) -> ...", {}), ("a b c -> a b c ...", {}), ("a ( b c -> a b c", {}),
    ("a) b c -> a", {}), ("a,b c -> a", {}), ("... ->", {}), ("... a b c d -> a b c d ...", {}), ("", {}),
    ("a b c -> a b c", {"a": 2.0}), ("a b c -> a b c", {"…": 2}), ("a b (c d e) -> a b c d e", {"c": 2, "e": 0}),
]  # fmt: skip


def cube(torch):
    return torch.arange(24.0).reshape(2, 3, 4)


def test_patterns():
    def program(torch):
        x = cube(torch)
        outputs = [torch.func.rearrange(x, pattern, **lengths) for pattern, lengths in GOOD]
        outputs += [torch.func.rearrange([x, x + 1], "n a b c -> a (n b) c")]
        outputs += [torch.func.rearrange(torch.ones(2, 1, 3), "a 1 c -> c a"), torch.func.vmap(swapped(torch))(x)]
        return [*outputs, torch.func.grad(lambda x: (swapped(torch)(x) * cube(torch)[0].t()).sum())(x[0])]

    agree(program)


def swapped(torch):
    return lambda x: torch.func.rearrange(x, "a b -> b a")


def test_patterns_that_are_refused():
    agree(lambda torch: [attempt(lambda: torch.func.rearrange(cube(torch), p, **n)) for p, n in BAD])  # noqa: B023
    agree(lambda torch: attempt(lambda: torch.func.rearrange(cube(torch), 3)))


def test_names_that_are_warned_of():
    names = ("if b c -> c b if", "axis b c -> c b axis")
    agree(lambda torch: [warned(lambda: torch.func.rearrange(cube(torch), name)) for name in names])  # noqa: B023

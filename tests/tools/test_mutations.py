"""The mistakes that the mutation tester makes, and those it does not."""

import textwrap

from tools.mutations import mutations


def mutants(source: str) -> set[str]:
    source = textwrap.dedent(source).strip()
    return {mutation.apply(source) for mutation in mutations(source)}


def test_every_kind_of_mistake() -> None:
    assert mutants("x = a < b") == {"x = a <= b", "x = a >= b"}
    assert mutants("x = a is not None") == {"x = a is None"}
    assert mutants("x = a + b * c") == {"x = a - b * c", "x = a + b / c"}
    assert mutants("x = a and b") == {"x = a or b"}
    assert mutants("x = ~mask") == {"x = mask"}
    assert mutants("x = [0, 2.5, 0.0, 1e-8, True]") == {
        "x = [1, 2.5, 0.0, 1e-8, True]",
        "x = [0, 5.0, 0.0, 1e-8, True]",
        "x = [0, 2.5, 1.0, 1e-8, True]",
        "x = [0, 2.5, 0.0, 0.0, True]",
        "x = [0, 2.5, 0.0, 1e-8, False]",
    }
    assert mutants("x = f(a, b, c=d)") == {"x = f(b, a, c=d)", "x = f(a, c=d)", "x = f(a, b, )"}
    assert mutants("x = y.mean().sqrt()") == {"x = y.sum().sqrt()", "x = y.mean()"}
    assert mutants("x = a if b else c") == {"x = a if not (b) else c"}
    assert mutants("x += y") == {"pass", "x -= y"}


def test_statements_are_deleted_where_the_program_can_do_without_them() -> None:
    source = """
        def f(self, x):
            x = g(x)
            y = h(x)
            self.y = y
            return y
        """
    found = mutants(source)
    assert sum("    pass" in mutant for mutant in found) == 2
    assert sum("return None" in mutant for mutant in found) == 1
    # Nothing else: `y` would be missing, and there is no other mistake to make.
    assert len(found) == 3


def test_what_only_people_read_stays_as_it_is() -> None:
    source = '''
        """Two words, 1 and 2."""

        X: int | None

        @decorated(frozen=True)
        def f(x: Tensor | None) -> int | None:
            """Adds 1."""
            assert x > 0
            warnings.warn(f"{x + 1} is more than {x}", stacklevel=2)
            raise UsageError(f"{x - 1} is too little: give {x + 1}.")
        '''
    assert {line for mutant in mutants(source) for line in _new_lines(source, mutant)} == {"pass"}
    assert len(mutants(source)) == 2


def test_what_means_nothing_on_a_processor_stays_as_it_is() -> None:
    assert mutants("x = zip(a, strict=True)") == set()
    assert mutants("x = torch.empty(a, device=b)") == set()
    assert mutants("x = moments(a, self.device)") == {"x = moments(self.device, a)"}
    assert mutants("x = a / (b + EPSILON)") == {"x = a * (b + EPSILON)"}


def test_letters_beyond_the_first_hundred_and_twenty_eight() -> None:
    assert mutants('x = "φ" if a < 1 else b') == {
        'x = "φ" if a <= 1 else b',
        'x = "φ" if a >= 1 else b',
        'x = "φ" if a < 2 else b',
    }


def _new_lines(before: str, after: str) -> set[str]:
    known = {line.strip() for line in before.splitlines()}
    return {line.strip() for line in after.splitlines()} - known

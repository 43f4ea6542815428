"""Selection by name: pytest's own ``-k``, so that both faces select alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pytest_episem.errors import EpisemError


def matcher(expression: str) -> Callable[[Iterable[str]], bool]:
    """Return a function that tells whether a thing of these names is selected, as ``pytest -k`` would; an empty
    expression selects everything.

    Raises:
        EpisemError: pytest does not read it.
    """
    if not expression.strip():
        return lambda names: True
    # Private, since pytest has no public way in; a test holds both faces against each other.
    from _pytest.mark.expression import Expression

    try:
        compiled = Expression.compile(expression)
    except (SyntaxError, RecursionError, MemoryError) as fault:
        words = fault.msg if isinstance(fault, SyntaxError) else "it is nested too deeply"
        raise EpisemError(
            f"-k {expression[:60]!r}: {words}; write names joined by 'and', 'or', 'not' and parentheses, as in pytest"
        ) from None

    def selected(names: Iterable[str]) -> bool:
        known = [name.lower() for name in names]

        def holds(word: str, /, **arguments: object) -> bool:
            if arguments:
                raise EpisemError(f"-k {expression[:60]!r}: a name takes no arguments, as in pytest")
            return any(word.lower() in name for name in known)

        return compiled.evaluate(holds)

    return selected

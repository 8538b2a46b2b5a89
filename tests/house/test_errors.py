"""The error tree: every class is drawn, explains itself, and is told apart by its code."""

from __future__ import annotations

from collections.abc import Iterator

from identity import errors
from identity.errors import LoomError


def _tree(error: type[LoomError]) -> Iterator[type[LoomError]]:
    yield error
    for child in error.__subclasses__():
        yield from _tree(child)


ours = [error for error in _tree(LoomError) if error.__module__ == errors.__name__]


def test_codes_tell_the_classes_apart() -> None:
    codes = [error.code for error in ours]
    assert sorted(codes) == sorted(set(codes))


def test_every_class_stands_in_the_drawing_with_its_code() -> None:
    lines = (errors.__doc__ or "").splitlines()
    drawn = [error for error in ours if any(error.__name__ in line and error.code in line for line in lines)]
    assert drawn == [error for error in ours if error is not LoomError]


def test_a_class_raised_without_a_message_says_its_docstring() -> None:
    class Explained(LoomError):
        """What went wrong."""

    assert str(Explained()) == "What went wrong."
    assert all(error.__doc__ for error in ours)

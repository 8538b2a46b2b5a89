"""What one feed tells of: the values of one kind under one sight.

What people said comes first, and is what a read waits for; what workers made of it follows, so that nobody who only wants to
recall waits for vectors.
"""

from __future__ import annotations

import msgspec

from identity.keys import Kind
from identity.visibility import Sight

SAID = (Kind.MEMORY, Kind.FEEDBACK)
"""The kinds that people write."""


class Stretch(msgspec.Struct, frozen=True):
    """The values of one kind that a caller may read, of one sight."""

    sight: Sight
    kind: Kind

    @property
    def bucket(self) -> str:
        return self.sight.bucket

    @property
    def filter(self) -> str:
        """Key pattern to follow. A broker that enforces scopes takes it, for it lies within the sight's."""
        return self.sight.filter_of(self.kind)

    @property
    def name(self) -> str:
        """By which it is known beyond this process."""
        return f"{self.bucket} {self.filter}"

    @property
    def is_said(self) -> bool:
        """Whether people write it, so that reads wait for it."""
        return self.kind in SAID

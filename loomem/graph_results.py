"""What the engine answers about entities and their relations. As `loomem.results`, of which it is a part."""

from __future__ import annotations

from loomem.results import Result


class Node(Result, frozen=True, kw_only=True):
    """An entity."""

    name: str
    type: str
    aliases: list[str]
    memories: int
    """How many memories speak of it."""
    depth: int
    """How many relations lie between it and what was asked for."""


class Link(Result, frozen=True, kw_only=True):
    """A relation, from subject to object, and the memories that state it."""

    subject: str
    relation: str
    object: str
    direction: str
    """`out` or `in`, seen from the one that is nearer to what was asked for."""
    depth: int
    """Of the farther end."""
    memory_ids: list[str]


class GraphFound(Result, frozen=True, kw_only=True):
    """An entity and what is around it."""

    entity: str
    """As it was asked for."""
    found: bool
    name: str | None = None
    type: str | None = None
    aliases: list[str] | None = None
    candidates: list[str] | None = None
    """Whom a name that stands by itself may also mean."""
    memories: int
    memory_ids: list[str] | None = None
    """Those that speak of it, the last changed first."""
    nodes: list[Node]
    """The others within the depth."""
    relations: list[Link]
    more: bool = False
    """There is more than is told."""
    degraded: list[str] | None = None
    """What is missing."""
    position: str


class Ruled(Result, frozen=True, kw_only=True):
    """A word on two names."""

    verdict: str
    name: str
    into: str
    stream: str
    position: str

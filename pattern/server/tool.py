"""What a tool is. One declaration, of which `schema` makes what clients are told and `arguments` what calls must pass.

Only the JSON type of each argument is checked here, since what a value may be is the engine's to say: so enums, bounds
and the inside of objects are told to the model but enforced in one place for the tools, the command line and imports.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from identity.ports import Progress

if TYPE_CHECKING:
    from loomem.engine import Engine

Json = Literal["string", "integer", "number", "boolean", "array", "object"]


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """What an argument looks like."""

    type: Json
    about: str = ""
    """One line for the model."""
    enum: tuple[str | int, ...] = ()
    items: Shape | None = None
    fields: dict[str, Shape] = {}
    required: tuple[str, ...] = ()
    default: str | int | bool | None = None
    minimum: int | None = None
    maximum: int | None = None
    format: str | None = None


Arguments = Mapping[str, Any]
"""Arguments of one call, their JSON types checked; absent ones and nulls are not in it."""


class Backend(Protocol):
    """What stands behind the tools."""

    def wake(self) -> None:
        """Hear that the client has its list of tools: what was put off for its sake may start now."""
        ...

    async def engine(self) -> Engine:
        """Return the engine, waiting until it is ready; the caller bounds the wait.

        Raises: Unavailable, saying what to do.
        """
        ...

    async def health(self) -> msgspec.Struct:
        """Return how everything is; answers while disconnected too."""
        ...


Run = Callable[[Backend, Arguments, Progress], Awaitable[msgspec.Struct]]


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool of the MCP server."""

    name: str
    title: str
    about: str
    """When to use it, for the model."""
    params: dict[str, Shape] = {}
    required: tuple[str, ...] = ()
    missing: dict[str, Any] = {}
    """What a required argument is when it is missing all the same; the others are an error then."""
    older: dict[str, Shape] = {}
    """Spellings of older clients: accepted and checked, not told."""
    seldom: frozenset[str] = frozenset()
    """Arguments that few calls need: told only where the list of tools may be long."""
    result: type[msgspec.Struct]
    run: Run
    says: Callable[[Any], str] | None = None
    """The result in words for the model, where they are not its JSON."""
    fails: str | None = None
    """What stands before the text of a failure that is not the caller's; the caller's own is told bare. None: "Error: " before all."""
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False
    """Whether it reaches beyond the memory store (files)."""
    deadline_s: float = 30.0
    """How long a call may take."""

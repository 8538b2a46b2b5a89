"""Entities as a caller asks for them, and words on which names are one. What they are follows from the memories (`views.graph`)."""

from __future__ import annotations

import asyncio

import msgspec

from identity.errors import Conflict, InvalidInput, LoomError, NotFound
from identity.keys import Kind, Space
from identity.ports import Entry, Marker, Put, Reason, Remove
from identity.visibility import Scope
from loomem.core import limits as check
from loomem.core.graph.names import NAME_CHARS, is_name, key_of
from loomem.core.graph.ruling import Ruling, Verdict, encode, ruling_id
from loomem.core.plan import text_of
from loomem.core.position import format_position
from loomem.core.row import Place, Row
from loomem.core.streams import USER_DEFAULT, Stream, built_in
from loomem.graph_results import GraphFound, Link, Node, Ruled
from loomem.store.write import TRIES, Door, Written
from loomem.views.graph import Graph
from loomem.views.lens import Edge, Entity, Lens

PATIENCE_S = 3.0
"""How long a question waits for what workers read, where a process has just begun."""
DEPTH_LIMIT = 3
NODES_LIMIT = 100
LINKS_LIMIT = 200
IDS_LIMIT = 20
"""Of memories told for one relation."""
OWN_IDS_LIMIT = 50
DIRECTIONS = ("both", "out", "in")


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A question for an entity, checked."""

    name: str
    depth: int = 1
    direction: str = "both"
    stream: Stream | None = None
    scopes: tuple[Scope, ...] = tuple(Scope)


def clean_name(value: object, *, field: str = "entity") -> str:
    """Return a name. Raises: InvalidInput."""
    text = " ".join(check.clean_text(field, value).split())
    if not is_name(text):
        raise InvalidInput(f"{field} must be a name of at most {NAME_CHARS} characters", field=field)
    return text


def clean_depth(value: object) -> int:
    """Return how far is looked; what is asked for is clamped."""
    asked = check.whole_number(value)
    return 1 if asked is None else max(1, min(asked, DEPTH_LIMIT))


def clean_direction(value: object) -> str:
    """Return in which direction is looked. Raises: InvalidInput."""
    if value is None or value == "":
        return DIRECTIONS[0]
    if value not in DIRECTIONS:
        raise InvalidInput(f"direction must be {' or '.join(DIRECTIONS)}", field="direction")
    return str(value)


def clean_verdict(value: object) -> Verdict | None:
    """Return what is said of two names; None takes back what was said. Raises: InvalidInput."""
    if value == "none":
        return None
    try:
        return Verdict(str(value))
    except ValueError:
        raise InvalidInput("verdict must be merge, split or none", field="verdict") from None


async def around(door: Door, graph: Graph, asked: Asked) -> GraphFound:
    """Return an entity and what is around it, as far as the caller may see it. Raises: Unavailable."""
    await door.projection.settle(asked.scopes)
    degraded = None if await _read(door) else ["what memories name is still being told; declared relations are there"]
    lens = _lens(door, graph, asked)
    position = format_position(door.projection.position_of(asked.scopes))
    standing = lens.find(asked.name)
    if standing is None:
        return GraphFound(
            entity=asked.name, found=False, memories=0, nodes=[], relations=[], degraded=degraded, position=position
        )
    entity = lens.entity(standing.key)
    walk = _Walk(lens, asked, entity)
    return GraphFound(
        entity=asked.name,
        found=True,
        name=entity.name,
        type=entity.type,
        aliases=list(entity.aliases),
        candidates=[lens.written(key) for key in standing.candidates] or None,
        memories=_count(entity),
        memory_ids=list(dict.fromkeys(row.id for row in entity.rows))[:OWN_IDS_LIMIT],
        nodes=walk.nodes,
        relations=walk.links,
        more=walk.more,
        degraded=degraded,
        position=position,
    )


async def rule(door: Door, graph: Graph, verdict: Verdict | None, name: str, into: str, stream: Stream | None) -> Ruled:
    """Write down that two names are one, or two; without a verdict, take back what was said of them.

    Raises: InvalidInput (one name, or one that no memory has), NotFound (there is nothing to take back), Conflict, Unavailable.
    """
    if key_of(name) == key_of(into):
        raise InvalidInput("These are one name already", field="into")
    await door.projection.settle()
    await _read(door)
    where = stream or built_in(door.caller, USER_DEFAULT)
    if verdict is not None:
        lens = _lens(door, graph, Asked(name=name, stream=stream))
        for field, each in (("name", name), ("into", into)):
            if lens.find(each) is None:
                raise InvalidInput(f"No memory that you can see there speaks of {each!r}", field=field)
    written = await _write(door, where.space, verdict, name, into)
    await _read(door)
    return Ruled(
        verdict="none" if verdict is None else str(verdict),
        name=name,
        into=into,
        stream=where.word,
        position=written.position,
    )


# --- within -----------------------------------------------------------------------------------------------------------


async def _read(door: Door) -> bool:
    """Return whether what workers had read by the start, and the caller's own rulings, are in the view; wait a little for that."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            await door.projection.told(Kind.GRAPH)
    except (TimeoutError, LoomError):
        return False
    return True


def _lens(door: Door, graph: Graph, asked: Asked) -> Lens:
    now_ms, chains = door.now_ms, door.projection.records.chains

    def within(place: Place) -> bool:
        return place.scope in asked.scopes and (asked.stream is None or asked.stream.holds(place))

    def admit(row: Row) -> bool:
        return not row.expired(now_ms) and not chains.is_superseded(row)

    return graph.asked(within, admit)


async def _write(door: Door, space: Space, verdict: Verdict | None, name: str, into: str) -> Written:
    key = space.key(Kind.GRAPH, ruling_id(name, into))
    at_least = 0
    for left in reversed(range(TRIES)):
        held = await (await door.bucket(space.bucket)).get(key, at_least=at_least)
        try:
            return await door.send(space.bucket, _change(door, key, held, verdict, name, into))
        except Conflict as conflict:
            if not left:
                raise
            at_least = conflict.actual
    raise AssertionError  # TRIES is at least one


def _change(
    door: Door, key: str, held: Entry | Marker | None, verdict: Verdict | None, name: str, into: str
) -> Put | Remove:
    if verdict is None:
        if not isinstance(held, Entry):
            raise NotFound(f"Nothing was said there of {name!r} and {into!r}")
        return Remove(key=key, expected=held.revision, op=door.ids.op_id(), reason=Reason.OTHER)
    ruling = Ruling(verdict=verdict, name=name, into=into, agent_id=door.caller.agent_id, at=text_of(door.now_ms))
    known = held.revision if isinstance(held, Entry) else 0
    return Put(key=key, value=encode(ruling), expected=known, op=door.ids.op_id())


class _Walk:
    """What lies around an entity, the nearest first, within the limits."""

    def __init__(self, lens: Lens, asked: Asked, start: Entity) -> None:
        self.nodes: list[Node] = []
        self.links: list[Link] = []
        self.more = False
        self._lens = lens
        self._told: set[tuple[str, str, str]] = set()
        seen = {start.key: start}
        ring = [start]
        for depth in range(1, asked.depth + 1):
            following: list[Entity] = []
            for entity in ring:
                for edge in lens.edges(entity):
                    if asked.direction != "both" and edge.outgoing != (asked.direction == "out"):
                        continue
                    if edge.other not in seen:
                        if len(self.nodes) >= NODES_LIMIT:
                            self.more = True
                            continue
                        other = seen[edge.other] = lens.entity(edge.other)
                        following.append(other)
                        self.nodes.append(_node(other, depth))
                    self._link(entity, edge, seen[edge.other], depth)
            ring = following

    def _link(self, entity: Entity, edge: Edge, other: Entity, depth: int) -> None:
        subject, object_ = (entity, other) if edge.outgoing else (other, entity)
        address = subject.key, edge.relation, object_.key
        if address in self._told:
            return
        if len(self.links) >= LINKS_LIMIT:
            self.more = True
            return
        self._told.add(address)
        ids = list(dict.fromkeys(row.id for row in edge.rows))
        self.links.append(
            Link(
                subject=subject.name,
                relation=edge.relation,
                object=object_.name,
                direction="out" if edge.outgoing else "in",
                depth=depth,
                memory_ids=ids[:IDS_LIMIT],
            )
        )


def _node(entity: Entity, depth: int) -> Node:
    return Node(name=entity.name, type=entity.type, aliases=list(entity.aliases), memories=_count(entity), depth=depth)


def _count(entity: Entity) -> int:
    return len({row.id for row in entity.rows})

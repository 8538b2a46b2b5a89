"""Declarations as the JSON Schemas that clients get: flat, without `$ref`, `anyOf` and null, which many cannot read.

An output schema requires nothing and forbids nothing, though every success fills it: clients of the TypeScript SDK
check the structured content of *errors* against it too, and would replace `{code, message, details}` by a complaint of
their own. So it names the fields of the result and those of a failure.

`brief` is for clients that count tokens: arguments that are seldom needed are accepted but not told, nor is what stands
inside of objects, nor the fields of a failure.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec
from mcp_types import Tool as ListedTool
from mcp_types import ToolAnnotations
from msgspec import inspect

from pattern.server.errors import Failure
from pattern.server.tool import Shape, Tool

Schema = dict[str, Any]


def listed(tool: Tool, *, brief: bool = False) -> ListedTool:
    """Return a tool as `tools/list` tells it."""
    return ListedTool(
        name=tool.name,
        title=tool.title,
        description=tool.about,
        input_schema=input_schema(tool, brief=brief),
        output_schema=output_schema(tool.result, brief=brief),
        annotations=ToolAnnotations(
            read_only_hint=tool.read_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent or tool.read_only,
            open_world_hint=tool.open_world,
        ),
    )


def input_schema(tool: Tool, *, brief: bool = False) -> Schema:
    """Return the schema of a tool's arguments."""
    told = {name: shape for name, shape in tool.params.items() if not (brief and name in tool.seldom)}
    if brief:
        told = {name: msgspec.structs.replace(shape, fields={}) for name, shape in told.items()}
    return _shape(Shape(type="object", fields=told, required=tool.required))


def output_schema(result: type[msgspec.Struct], *, brief: bool = False) -> Schema:
    """Return the schema of a tool's structured content, be it a result or a failure."""
    if brief:
        return {"type": "object", "properties": {name: _outline(field) for name, field in _fields(result).items()}}
    return {"type": "object", "properties": {**_fields(Failure), **_fields(result)}}


def _outline(schema: Schema) -> Schema:
    """Return a schema without what is inside."""
    outline: Schema = {"type": schema["type"]}
    if "items" in schema:
        outline["items"] = {"type": schema["items"]["type"]}
    return outline


def _shape(shape: Shape) -> Schema:
    schema: Schema = {"type": shape.type}
    if shape.about:
        schema["description"] = shape.about
    if shape.enum:
        schema["enum"] = list(shape.enum)
    if shape.items is not None:
        schema["items"] = _shape(shape.items)
    if shape.type == "object":
        schema["properties"] = {name: _shape(field) for name, field in shape.fields.items()}
    if shape.required:
        schema["required"] = list(shape.required)
    for word in ("default", "minimum", "maximum", "format"):
        value = getattr(shape, word)
        if value is not None:
            schema[word] = value
    return schema


def _fields(struct: type[msgspec.Struct]) -> Schema:
    info = inspect.type_info(struct)
    if not isinstance(info, inspect.StructType):
        raise TypeError(f"{struct.__name__} is no Struct")
    return {field.encode_name: _type(field.type) for field in info.fields}


def _type(kind: inspect.Type) -> Schema:  # noqa: C901 - a table of types reads best as one match
    match kind:
        case inspect.Metadata(type=inner):
            said = cast("Schema | None", kind.extra_json_schema)  # pyright: ignore[reportUnknownMemberType] - a bare dict
            return {**_type(inner), **(said or {})}
        case inspect.UnionType(types=types):
            return _one_of(types)
        case inspect.StructType(cls=cls):
            return {"type": "object", "properties": _fields(cls)}
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            return {"type": "array", "items": _type(item)}
        case inspect.DictType():
            return {"type": "object"}
        case inspect.EnumType(cls=cls):
            return {"type": "string", "enum": [member.value for member in cls]}
        case inspect.LiteralType(values=values):
            return {"type": "string", "enum": list(values)}
        case inspect.BoolType():
            return {"type": "boolean"}
        case inspect.IntType():
            return {"type": "integer"}
        case inspect.FloatType():
            return {"type": "number"}
        case inspect.StrType():
            return {"type": "string"}
        case inspect.AnyType():
            return {}
        case _:
            raise TypeError(f"{kind} has no flat JSON Schema")


def _one_of(types: tuple[inspect.Type, ...]) -> Schema:
    """Return the one type that is left without None and UNSET; both are omitted from results."""
    left = [kind for kind in types if not isinstance(kind, inspect.NoneType | inspect.CustomType)]
    if len(left) != 1:
        raise TypeError(f"a union of {len(left)} types has no flat JSON Schema")
    return _type(left[0])

"""Writes the types of the messages for the page: `python -m selfmate.studio.typescript > studio/src/messages.ts`.

>>> print(declaration(messages.TimeControl))
/** Seconds for the game, and those added after every move. */
export interface TimeControl {
  seconds: number;
  increment?: number;
}
"""

from __future__ import annotations

import ast
import inspect
import itertools
import sys
import typing
from typing import Any

import msgspec.inspect as schema
from msgspec import NODEFAULT, Struct

from selfmate.studio import messages

__all__ = ["declaration", "typescript"]

HEADER = """\
// Generated from src/selfmate/studio/messages.py by `make messages`; a test compares both.
"""


def typescript() -> str:
    """Return the module with all types."""
    requests, events = typing.get_args(messages.AnyRequest), typing.get_args(messages.AnyEvent)
    structs: dict[str, type[Struct]] = {}
    for message in (*requests, *events):
        _collect(schema.type_info(message), structs)
    parts = [HEADER, 'export type Color = "white" | "black";\n']
    parts += [declaration(structs[name], optional=structs[name] not in events) + "\n" for name in sorted(structs)]
    for name, members in (("Request", requests), ("Event", events)):
        parts.append(
            f"export type Any{name} =\n" + "".join(f"  | {each.__name__}\n" for each in members).rstrip() + ";\n"
        )
    return "\n".join(parts)


def declaration(struct: type[Struct], *, optional: bool = True) -> str:
    """Return the interface of a struct; with `optional`, fields with a default may be left out."""
    info = schema.type_info(struct)
    assert isinstance(info, schema.StructType)
    docs = _field_docs(struct)
    lines = [_comment(inspect.getdoc(struct) or "", ""), f"export interface {struct.__name__} {{"]
    if info.tag_field is not None:
        lines.append(f'  {info.tag_field}: "{info.tag}";')
    for field in info.fields:
        has_default = field.default is not NODEFAULT or field.default_factory is not NODEFAULT
        mark = "?" if optional and has_default else ""
        if field.name in docs:
            lines.append(_comment(docs[field.name], "  "))
        lines.append(f"  {field.encode_name}{mark}: {_type(field.type)};")
    return "\n".join([*lines, "}"])


def _type(info: schema.Type) -> str:
    """Return the TypeScript of a type."""
    match info:
        case schema.NoneType():
            return "null"
        case schema.BoolType():
            return "boolean"
        case schema.IntType() | schema.FloatType():
            return "number"
        case schema.StrType():
            return "string"
        case schema.LiteralType(values=values):
            return " | ".join(f'"{value}"' for value in values)
        case schema.UnionType(types=types):
            return " | ".join(_type(each) for each in types)
        case schema.ListType(item_type=item):
            inner = _type(item)
            return f"({inner})[]" if " " in inner else f"{inner}[]"
        case schema.TupleType(item_types=items):
            return f"[{', '.join(_type(each) for each in items)}]"
        case schema.DictType(key_type=key, value_type=value):
            return f"Record<{_type(key)}, {_type(value)}>"
        case schema.StructType(cls=cls):
            return cls.__name__
        case schema.Metadata(type=inner_type):
            return _type(inner_type)
    raise TypeError(f"no TypeScript for {info}")


def _collect(info: schema.Type, found: dict[str, type[Struct]]) -> None:
    """Add a struct and those that it contains."""
    if isinstance(info, schema.StructType) and info.cls.__name__ not in found:
        found[info.cls.__name__] = info.cls
        for field in info.fields:
            _collect(field.type, found)
    for name in ("item_type", "value_type", "type"):
        if isinstance(inner := getattr(info, name, None), schema.Type):
            _collect(inner, found)
    members: tuple[Any, ...] = getattr(info, "types", ()) or getattr(info, "item_types", ())
    for each in members:
        _collect(each, found)


def _field_docs(struct: type[Struct]) -> dict[str, str]:
    """Return the strings that follow the fields of a struct and its bases in the source."""
    docs: dict[str, str] = {}
    for base in reversed(struct.__mro__):
        if base.__module__ != messages.__name__:
            continue
        tree = ast.parse(inspect.getsource(base))
        body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
        for field, after in itertools.pairwise(body):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(after, ast.Expr)
                and isinstance(after.value, ast.Constant)
            ):
                docs[field.target.id] = str(after.value.value)
    return docs


def _comment(text: str, indent: str) -> str:
    return f"{indent}/** {' '.join(text.split())} */"


if __name__ == "__main__":
    sys.stdout.write(typescript())

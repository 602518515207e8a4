"""The examples in the docstrings of the native core; pytest finds those of the Python modules by itself."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator

import pytest

import selfmate
from selfmate import _core


def documented(holder: object, prefix: str) -> Iterator[tuple[str, str]]:
    """Find every docstring with an example, in the module and in its classes, methods and properties."""
    for name, item in vars(holder).items():
        if name.startswith("__") and name not in ("__init__", "__doc__"):
            continue
        # A docstring of our own, not one that is inherited from int, str or Enum.
        text = item if name == "__doc__" else getattr(item, "__doc__", None)
        if isinstance(text, str) and ">>>" in text:
            yield f"{prefix}.{name}", text
        if inspect.isclass(item) and item.__module__.startswith("selfmate._core"):
            yield from documented(item, f"{prefix}.{name}")


EXAMPLES = dict(documented(_core, "_core"))


@pytest.mark.parametrize("name", EXAMPLES)
def test_native_docstring(name: str) -> None:
    examples = doctest.DocTestParser().get_doctest(EXAMPLES[name], vars(_core) | vars(selfmate), name, None, None)
    output: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(examples, out=output.append)
    assert not output, "".join(output)


def test_native_classes_have_examples() -> None:
    for name in ("Position", "Move", "Setup", "Outcome"):
        assert any(found.startswith(f"_core.{name}") for found in EXAMPLES), name


@pytest.mark.parametrize("name", [name for name in selfmate.__all__ if name != "__version__"])
def test_public_name_is_documented(name: str) -> None:
    item = getattr(selfmate, name)
    if not isinstance(item, (bool, int, str, tuple)):
        assert item.__doc__, name

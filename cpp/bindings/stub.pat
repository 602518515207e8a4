# What the generated src/selfmate/_core.pyi cannot know by itself: mypy --strict asks for the types
# inside a tuple, for == with any object, and for a note where a class has no hash.
VARIANTS$:
    VARIANTS: tuple[str, ...]

\.CORE$:
    CORE: str

__eq__$:
    def __eq__(self, other: object, /) -> bool: ...

Position\.__hash__$:
    __hash__: None  # type: ignore[assignment]

__reduce__$:
    def __reduce__(self) -> tuple[object, ...]: ...

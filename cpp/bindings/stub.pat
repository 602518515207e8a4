# Corrections of the generated src/selfmate/_core.pyi for mypy --strict: element types of a tuple, == with any object,
# classes without hash.
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

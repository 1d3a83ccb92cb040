"""A sequence that is made as far as it is looked at: of two hundred releases a check needs the newest few."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar, overload

T = TypeVar("T")


class Lazily(Sequence[T]):
    """The items of an iterable, each taken from it when it is first asked for; what raises then raises again at the next question."""

    def __init__(self, items: Iterable[T]) -> None:
        self._made: list[T] = []
        self._rest = iter(items)
        self._failed: Exception | None = None

    def __iter__(self) -> Iterator[T]:
        return self.since(0)

    def since(self, place: int) -> Iterator[T]:
        """The items from a place on."""
        while self._reach(place):
            yield self._made[place]
            place += 1

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            plain = index.stop is not None and index.stop >= 0 and (index.start or 0) >= 0 and (index.step or 1) > 0
            self._reach(index.stop - 1 if plain else None)
            return tuple(self._made[index])
        self._reach(index if index >= 0 else None)
        return self._made[index]

    def __len__(self) -> int:
        self._reach(None)
        return len(self._made)

    def __bool__(self) -> bool:
        return self._reach(0)

    def _reach(self, place: int | None) -> bool:
        """Take items until there is one at `place` (None = all of them); whether there is one."""
        while place is None or len(self._made) <= place:
            if self._failed is not None:  # an iterator that raised has ended, and would look complete
                raise self._failed
            try:
                self._made.append(next(self._rest))
            except StopIteration:
                return False
            except Exception as error:
                self._failed = error
                raise
        return True

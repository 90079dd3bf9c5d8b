"""Where the named, shaped blocks of a user's model sit in the flat vectors of a program."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

from ppsm.arrays import FloatArray, IntArray
from ppsm.errors import InputError
from ppsm.labels import entry_name
from ppsm.views import spread


@dataclass(frozen=True, eq=False)
class Layout:
    """Block name -> array of positions in the flat vector, -1 where the block has no entry."""

    what: str
    blocks: Mapping[str, xr.DataArray]

    @classmethod
    def of_names(cls, what: str, names: Iterable[str]) -> "Layout":
        """One scalar block for each name."""
        return cls(what, {name: xr.DataArray(i) for i, name in enumerate(names)})

    def __getitem__(self, name: str) -> xr.DataArray:
        if name not in self.blocks:
            known = ", ".join(f"'{block}'" for block in list(self.blocks)[:12]) or "none"
            raise InputError(f"there is no {self.what} named '{name}'; expected one of: {known}.")
        return self.blocks[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.blocks)

    def positions(self, name: str) -> IntArray:
        """Positions of a block's entries in the flat vector, in the block's own order."""
        flat = self[name].values.ravel()
        return flat[flat >= 0]

    def shaped(self, name: str, vector: FloatArray) -> xr.DataArray:
        """A block's entries of a flat vector in the block's shape; NaN where the block has no entry."""
        return shaped_like(self[name], vector).rename(name)

    @property
    def axes(self) -> tuple[str, ...]:
        """What the parts of an entry's label are called, where there is only one block."""
        return tuple(map(str, next(iter(self.blocks.values())).dims)) if len(self.blocks) == 1 else ()

    def labelled(self, vector: FloatArray, names: tuple[str, ...]) -> xr.DataArray:
        """The whole flat vector with labels: in the shape of the only block, else one name for each entry."""
        if self.axes:
            return self.shaped(next(iter(self.blocks)), vector)
        return xr.DataArray(vector, coords=[("entry", list(names))])

    def summary(self, vector: FloatArray) -> list[tuple[str, str]]:
        """Each block's entries of a flat vector in a few words."""
        return [(name, spread(vector[self.positions(name)])) for name in self.blocks]

    def entry_names(self, count: int) -> tuple[str, ...]:
        """A readable name for each entry of the flat vector, such as ``balance[A, 3]``."""
        names = [""] * count
        for block, positions in self.blocks.items():
            for index, position in np.ndenumerate(positions.values):
                if position >= 0:
                    names[position] = entry_name(block, _labels(positions, index))
        return tuple(names)


def shaped_like(positions: xr.DataArray, vector: FloatArray) -> xr.DataArray:
    """The entries of a flat vector at these positions, in their shape; NaN where a position is -1."""
    # One more entry than the vector has, so that position -1 finds the NaN.
    return positions.copy(data=np.append(vector, np.nan)[positions.values])


def _labels(positions: xr.DataArray, index: tuple[int, ...]) -> list[object]:
    return [
        positions.coords[dim].values[i] if dim in positions.coords else i
        for dim, i in zip(positions.dims, index, strict=True)
    ]

"""Options that several commands have, and numbers as people type them."""

import math
from pathlib import Path
from typing import Annotated

import typer

from ppsm.errors import InputError

CaseName = Annotated[str, typer.Option(help="A built-in case or a case directory.")]
PowerStress = Annotated[float, typer.Option(help="Relative increase of all loads; 0.48 is +48 %.")]
GasStress = Annotated[float | None, typer.Option(help="Relative increase of the case's gas demands.")]
DemandFile = Annotated[
    Path | None,
    typer.Option(
        help="The secret demand: a CSV file node,demand_mwh or an Excel workbook instead of a stress."
    ),
]
DemandUnit = Annotated[
    str | None, typer.Option(help="Unit of the file's demands where its column says none: kWh, MWh or GWh.")
]
DemandSheet = Annotated[str | None, typer.Option(help="Sheet of the demands in an Excel workbook.")]
Alpha = Annotated[float, typer.Option(help="The distance within which one entry is hidden, in MWh.")]
Alphas = Annotated[str, typer.Option(help="Distances to compare, in MWh.")]
Draws = Annotated[int, typer.Option(help="Draws of the noise.")]
ValueWidth = Annotated[str, typer.Option(help="Half-width of the value band, such as 0.1%.")]
PriceWidth = Annotated[str, typer.Option(help="Half-width of the price bands, such as 0.1%.")]
LedgerFile = Annotated[
    Path | None, typer.Option(help="The privacy ledger; by default $PPSM_LEDGER, else the user's own.")
]
Dataset = Annotated[str | None, typer.Option(help="The data set that the ledger charges.")]
ResearchSeed = Annotated[
    int | None, typer.Option(help="Reproducible noise for research; the result is NOT private.")
]
ClearSeconds = Annotated[float, typer.Option(help="Seconds for each clearing of the markets.")]
ReleaseSeconds = Annotated[
    float, typer.Option(help="Seconds for clearing the markets with a release; the original has 300.")
]
CacheDirectory = Annotated[Path | None, typer.Option(help="Directory for remembered commitments.")]

# A bare number from here on may be meant in per cent: the paper's bands are 0.1, 1 and 10 %.
_AMBIGUOUS_FROM = 0.05


def fraction(text: str, name: str) -> float:
    """Read ``0.1%`` or ``0.001`` as 0.001; a bare number that may be either is refused."""
    bare = text.strip()
    is_percent = bare.endswith("%")
    try:
        number = float(bare.removesuffix("%"))
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise InputError(f"{name} is '{text}'; expected a width such as 0.1% or 0.001.")
    if number > (100.0 if is_percent else 1.0):
        raise InputError(
            f"{name} is '{text}'; expected a width of at most 100%, such as 0.1%: write it with %."
        )
    if is_percent:
        return number / 100.0
    if number >= _AMBIGUOUS_FROM:
        raise InputError(
            f"{name} is '{text}', which may mean {number:g} % or {100 * number:g} %: write {number:g}% or "
            f"{100 * number:g}%."
        )
    return number


def widths(eta_p: str, eta_d: str) -> tuple[float, float]:
    """Read the half-widths of both bands."""
    return fraction(eta_p, "eta-p"), fraction(eta_d, "eta-d")


def numbers(text: str, name: str) -> tuple[float, ...]:
    """Read a list such as ``10,100,1000``."""
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = ()
    if not values or not all(math.isfinite(value) and value > 0 for value in values):
        raise InputError(f"{name} is '{text}'; expected numbers above zero with commas, such as 10,100,1000.")
    return values


def insist_on_seconds(time_limit: float) -> None:
    """Refuse a limit within which nothing can be done."""
    if not time_limit > 0:
        raise InputError(f"the time limit is {time_limit:g} s; expected a number above zero.")

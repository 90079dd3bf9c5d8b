"""Reader for gas networks in the matgas format of GasModels.jl; everything leaves it in SI units.

The columns and units are those of the GasModels documentation, page "Matgas Format". A file is in SI
(``units = 'si'``) or US customary units (``'usc'``), and either as such or per unit (``is_per_unit``).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ppsm.cases.matlab import MatlabFile, parse_matlab, read_matlab
from ppsm.cases.matlab_rows import TableRow, table_rows, unique_by

_JUNCTION = [
    "id",
    "p_min",
    "p_max",
    "p_nominal",
    "junction_type",
    "status",
    "pipeline_name",
    "edi_id",
    "lat",
    "lon",
]
_PIPE = [
    "id",
    "fr_junction",
    "to_junction",
    "diameter",
    "length",
    "friction_factor",
    "p_min",
    "p_max",
    "status",
]
_COMPRESSOR = [
    "id",
    "fr_junction",
    "to_junction",
    "c_ratio_min",
    "c_ratio_max",
    "power_max",
    "flow_min",
    "flow_max",
    "inlet_p_min",
    "inlet_p_max",
    "outlet_p_min",
    "outlet_p_max",
    "status",
    "operating_cost",
    "directionality",
]
_REGULATOR = [
    "id",
    "fr_junction",
    "to_junction",
    "reduction_factor_min",
    "reduction_factor_max",
    "flow_min",
    "flow_max",
    "status",
]
_SHORT_PIPE = ["id", "fr_junction", "to_junction", "status"]
_RECEIPT = [
    "id",
    "junction_id",
    "injection_min",
    "injection_max",
    "injection_nominal",
    "is_dispatchable",
    "status",
]
_DELIVERY = [
    "id",
    "junction_id",
    "withdrawal_min",
    "withdrawal_max",
    "withdrawal_nominal",
    "is_dispatchable",
    "status",
]

_GAS_CONSTANT_J_PER_MOL_K = 8.314
_AIR_MOLAR_MASS_KG_PER_MOL = 0.02896
_PSI_PA = 6894.75729
_INCH_M = 0.0254
_MILE_M = 1609.344
_MMSCF_M3 = 28316.846592
_DAY_S = 86400.0
_ATMOSPHERE_PA = 101325.0
# Standard conditions of a US standard cubic foot: 60 degrees Fahrenheit, one atmosphere.
_STANDARD_TEMPERATURE_K = 288.706


@dataclass(frozen=True)
class GasJunction:
    """A point of the gas network; coordinates are NaN where the file has none."""

    id: str
    pressure_min_pa: float
    pressure_max_pa: float
    latitude: float
    longitude: float


@dataclass(frozen=True)
class GasPipe:
    """A pipe; flow and pressures obey ``flow**2 = resistance * (p_from**2 - p_to**2)``."""

    id: str
    from_junction: str
    to_junction: str
    diameter_m: float
    length_m: float
    friction_factor: float
    resistance_kg2_per_s2_pa2: float
    bidirectional: bool


@dataclass(frozen=True)
class GasCompressor:
    """A compressor with the bounds of its pressure ratio."""

    id: str
    from_junction: str
    to_junction: str
    ratio_min: float
    ratio_max: float
    flow_min_kg_per_s: float
    flow_max_kg_per_s: float
    bidirectional: bool


@dataclass(frozen=True)
class GasRegulator:
    """A control valve (or, with both factors 1, an open valve) that can lower the pressure."""

    id: str
    from_junction: str
    to_junction: str
    reduction_min: float
    reduction_max: float
    flow_min_kg_per_s: float
    flow_max_kg_per_s: float


@dataclass(frozen=True)
class GasPoint:
    """A receipt (injection) or delivery (withdrawal)."""

    id: str
    junction: str
    flow_min_kg_per_s: float
    flow_max_kg_per_s: float
    flow_nominal_kg_per_s: float
    dispatchable: bool


@dataclass(frozen=True)
class GasNetwork:
    """A gas network as published, converted to SI; components out of service are left out."""

    path: Path
    sound_speed_m_per_s: float
    base_flow_kg_per_s: float
    base_pressure_pa: float
    junctions: tuple[GasJunction, ...]
    pipes: tuple[GasPipe, ...]
    compressors: tuple[GasCompressor, ...]
    regulators: tuple[GasRegulator, ...]
    receipts: tuple[GasPoint, ...]
    deliveries: tuple[GasPoint, ...]


@dataclass(frozen=True)
class _Scale:
    """Factors from the file's numbers to SI."""

    pressure_pa: float
    flow_kg_per_s: float
    length_m: float
    diameter_m: float
    sound_speed_m_per_s: float


def weymouth_resistance(
    diameter_m: float, length_m: float, friction_factor: float, sound_speed_m_per_s: float
) -> float:
    """Return w of ``flow**2 = w (p_i**2 - p_j**2)`` in (kg/s)^2/Pa^2, isothermal steady flow.

    From ``p dp = -(lambda a^2 / (2 D A^2)) phi |phi| dx`` with area A and sound speed a; the friction factor
    of matgas files is Darcy's, so ``w = D A^2 / (lambda L a^2)`` (A. R. D. Thorley, C. H. Tiley, "Unsteady
    and transient flow of compressible fluids in pipelines", Int. J. Heat and Fluid Flow 8(1), 1987).
    """
    area_m2 = math.pi * diameter_m**2 / 4
    return diameter_m * area_m2**2 / (friction_factor * length_m * sound_speed_m_per_s**2)


def read_matgas(path: str | Path) -> GasNetwork:
    """Read a matgas file."""
    return _network(read_matlab(Path(path)))


def parse_matgas(text: str, path: str | Path = "gas.m") -> GasNetwork:
    """Read the text of a matgas file; ``path`` is only named in errors."""
    return _network(parse_matlab(text, Path(path)))


def _network(file: MatlabFile) -> GasNetwork:
    for name in ("junction", "pipe"):
        if file.table(name) is None:
            raise file.error(
                1, f"there is no table '{name}'; expected a matgas file with junctions and pipes."
            )
    scale = _scale(file)
    junctions = tuple(_junctions(file, scale))
    if not junctions:
        raise file.error(1, "there is no junction in service; expected at least one.")
    known = {junction.id for junction in junctions}
    return GasNetwork(
        path=file.path,
        sound_speed_m_per_s=scale.sound_speed_m_per_s,
        base_flow_kg_per_s=scale.flow_kg_per_s,
        base_pressure_pa=scale.pressure_pa,
        junctions=junctions,
        pipes=tuple(_pipes(file, scale, known)),
        compressors=tuple(_compressors(file, scale, known)),
        regulators=(*_regulators(file, scale, known), *_open_valves(file, known)),
        receipts=tuple(_points(file, "receipt", _RECEIPT, "injection", scale, known)),
        deliveries=tuple(_points(file, "delivery", _DELIVERY, "withdrawal", scale, known)),
    )


def _positive(file: MatlabFile, name: str, default: float | None = None) -> float:
    value = file.number(name)
    value = default if value is None else value
    if value is None or not 0 < value < math.inf:
        raise file.error(1, f"the value '{name}' is {value}; expected a positive number, add or correct it.")
    return value


def _sound_speed(file: MatlabFile, molar_mass: float) -> float:
    """Return the given sound speed, or ``sqrt(z R T / M)``."""
    if file.number("sound_speed") is not None:
        return _positive(file, "sound_speed")
    constant = _positive(file, "R", _GAS_CONSTANT_J_PER_MOL_K)
    compressibility = _positive(file, "compressibility_factor")
    return math.sqrt(compressibility * constant * _positive(file, "temperature") / molar_mass)


def _scale(file: MatlabFile) -> _Scale:
    units = (file.text("units") or "").lower()
    if units not in {"si", "usc"}:
        line = file.fields["units"].line if "units" in file.fields else 1
        raise file.error(
            line, f"the units are '{units}'; expected 'si' or 'usc' (US customary), set mgc.units."
        )
    molar_mass = _positive(
        file,
        "gas_molar_mass",
        _positive(file, "gas_specific_gravity", 0.6) * _AIR_MOLAR_MASS_KG_PER_MOL,
    )
    sound_speed = _sound_speed(file, molar_mass)
    if file.number("is_per_unit"):
        pressure = _positive(file, "base_pressure")
        # GasModels takes base_pressure / sound_speed where the file does not say.
        return _Scale(
            pressure_pa=pressure,
            flow_kg_per_s=_positive(file, "base_flow", pressure / sound_speed),
            length_m=_positive(file, "base_length", 5000.0),
            # Published per-unit files leave diameters in metres; newer ones name their base.
            diameter_m=_positive(file, "base_diameter", 1.0),
            sound_speed_m_per_s=sound_speed,
        )
    if units == "si":
        return _Scale(1.0, 1.0, 1.0, 1.0, sound_speed)
    ideal = _ATMOSPHERE_PA * molar_mass / (_GAS_CONSTANT_J_PER_MOL_K * _STANDARD_TEMPERATURE_K)
    density = _positive(file, "standard_density", ideal)
    return _Scale(_PSI_PA, _MMSCF_M3 / _DAY_S * density, _MILE_M, _INCH_M, sound_speed)


def _active(file: MatlabFile, name: str, columns: list[str], required: int) -> Iterable[tuple[str, TableRow]]:
    rows = table_rows(file, name, columns, required=required, use_heading=True)
    return ((key, row) for key, row in unique_by(file, rows, "id") if row.active())


def _junctions(file: MatlabFile, scale: _Scale) -> Iterable[GasJunction]:
    for name, row in _active(file, "junction", _JUNCTION, 3):
        least, most = row.number("p_min", least=0.0), row.number("p_max", above=0.0)
        if least > most:
            raise file.error(
                row.line, f"junction {name} has p_min {least:g} above p_max {most:g}; correct one."
            )
        yield GasJunction(
            id=name,
            pressure_min_pa=least * scale.pressure_pa,
            pressure_max_pa=most * scale.pressure_pa,
            latitude=row.number("lat") if "lat" in row.values else math.nan,
            longitude=row.number("lon") if "lon" in row.values else math.nan,
        )


def _ends(file: MatlabFile, row: TableRow, known: set[str]) -> tuple[str, str]:
    start, end = (_junction(file, row, column, known) for column in ("fr_junction", "to_junction"))
    if start == end:
        raise file.error(
            row.line, f"'{row.table}' joins junction {start} with itself; correct one of its ends."
        )
    return start, end


def _junction(file: MatlabFile, row: TableRow, column: str, known: set[str]) -> str:
    name = row.identifier(column)
    if name not in known:
        raise file.error(
            row.line,
            f"'{row.table}' refers to junction {name}, which is absent or out of service; correct it.",
        )
    return name


def _pipes(file: MatlabFile, scale: _Scale, known: set[str]) -> Iterable[GasPipe]:
    for name, row in _active(file, "pipe", _PIPE, 6):
        start, end = _ends(file, row, known)
        diameter = row.number("diameter", above=0.0) * scale.diameter_m
        length = row.number("length", above=0.0) * scale.length_m
        friction = row.number("friction_factor", above=0.0)
        resistance = _resistance(row, diameter, length, friction, scale.sound_speed_m_per_s)
        bidirectional = row.number("is_bidirectional", 1.0) != 0
        yield GasPipe(name, start, end, diameter, length, friction, resistance, bidirectional)


def _resistance(row: TableRow, diameter: float, length: float, friction: float, sound_speed: float) -> float:
    """Return the pipe's resistance, or refuse the row whose numbers are too extreme for the formula."""
    try:
        value = weymouth_resistance(diameter, length, friction, sound_speed)
    except (OverflowError, ZeroDivisionError):
        value = math.nan
    if not 0 < value < math.inf:
        raise row.file.error(row.line, f"this pipe's figures give the resistance {value}; correct the row.")
    return value


def _compressors(file: MatlabFile, scale: _Scale, known: set[str]) -> Iterable[GasCompressor]:
    for name, row in _active(file, "compressor", _COMPRESSOR, 5):
        least, most = row.number("c_ratio_min", least=0.0), row.number("c_ratio_max", above=0.0)
        if least > most:
            raise file.error(row.line, f"compressor {name} has ratios {least:g} > {most:g}; correct one.")
        flow_min, flow_max = _flow_bounds(row, scale)
        # Directionality 0 means that the station can compress either way.
        both = row.number("directionality", 0.0) == 0
        yield GasCompressor(name, *_ends(file, row, known), least, most, flow_min, flow_max, both)


def _regulators(file: MatlabFile, scale: _Scale, known: set[str]) -> Iterable[GasRegulator]:
    for name, row in _active(file, "regulator", _REGULATOR, 3):
        least = row.number("reduction_factor_min", 0.0, least=0.0)
        most = row.number("reduction_factor_max", 1.0, above=0.0)
        if least > most:
            raise file.error(row.line, f"regulator {name} has factors {least:g} > {most:g}; correct one.")
        yield GasRegulator(name, *_ends(file, row, known), least, most, *_flow_bounds(row, scale))


def _flow_bounds(row: TableRow, scale: _Scale) -> tuple[float, float]:
    least = row.number("flow_min", -math.inf, infinite=True)
    most = row.number("flow_max", math.inf, infinite=True)
    if least > most:
        raise row.file.error(row.line, f"flow_min {least:g} is above flow_max {most:g}; correct one.")
    return least * scale.flow_kg_per_s, most * scale.flow_kg_per_s


def _open_valves(file: MatlabFile, known: set[str]) -> Iterable[GasRegulator]:
    """Valves and short pipes join two junctions at equal pressure: a regulator with both factors 1."""
    for table in ("valve", "short_pipe"):
        for name, row in _active(file, table, _SHORT_PIPE, 3):
            ends = _ends(file, row, known)
            yield GasRegulator(f"{table}-{name}", *ends, 1.0, 1.0, -math.inf, math.inf)


def _points(
    file: MatlabFile, table: str, columns: list[str], verb: str, scale: _Scale, known: set[str]
) -> Iterable[GasPoint]:
    for name, row in _active(file, table, columns, 5):
        least = row.number(f"{verb}_min", least=0.0)
        most = row.number(f"{verb}_max", least=0.0, infinite=True)
        if least > most:
            raise file.error(
                row.line, f"{table} {name} has {verb}_min {least:g} above its maximum {most:g}; correct it."
            )
        yield GasPoint(
            id=name,
            junction=_junction(file, row, "junction_id", known),
            flow_min_kg_per_s=least * scale.flow_kg_per_s,
            flow_max_kg_per_s=most * scale.flow_kg_per_s,
            flow_nominal_kg_per_s=row.number(f"{verb}_nominal") * scale.flow_kg_per_s,
            dispatchable=row.number("is_dispatchable", 0.0) != 0,
        )

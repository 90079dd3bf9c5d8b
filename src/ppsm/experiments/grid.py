"""Grids: instances in batches, and what their rows share.

An :class:`Experiment` declares one: power stress x gas stress x alpha x eta x mechanism x repetition. Three
of them are the paper's (section 7); others are files::

    case = "northeast"
    alphas = [10, 100, 1000]          # MWh
    etas = [0.001]                    # fractions: 0.001 is 0.1 %
    mechanisms = ["laplace", "ppsm-p", "ppsm"]
    repetitions = 30
    power_stress = [0.3, 0.6]         # all of the case's own where left out
    gas_stress = [0.1, 1.3]
"""

import hashlib
import math
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from ppsm import __version__
from ppsm.cases import Case, load_case
from ppsm.cases.stress import check_stress
from ppsm.errors import FileFormatError, InputError
from ppsm.experiments.row import Cell, Instance, Key
from ppsm.experiments.tuning import Limits
from ppsm.experiments.variants import Variant
from ppsm.mechanism.mechanisms import MECHANISMS, check_width
from ppsm.mechanism.predictors import PRICE_NOISE

Batch = tuple[Instance, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Grid:
    """What a run is to run.

    Attributes
    ----------
    label
        Which grid this is, for people.
    case, name
        The case, and what its rows call it.
    limits
        What the instances are solved with.
    batches
        The instances of a batch are of one cell; they run together, one after the other, and are kept
        together.
    """

    label: str
    case: Case
    name: str
    limits: Limits
    batches: tuple[Batch, ...]

    @classmethod
    def one_by_one(
        cls, label: str, case: Case, name: str, limits: Limits, instances: Sequence[Instance]
    ) -> "Grid":
        """A batch for each instance, so that as many as possible are kept when they are stopped."""
        batches = tuple((each,) for each in instances)
        return cls(label=label, case=case, name=name, limits=limits, batches=batches)

    @cached_property
    def keys(self) -> list[Key]:
        """The keys of the rows, in the order of the instances."""
        return [each.key_in(self.name) for batch in self.batches for each in batch]

    def left(self, done: set[Key]) -> list[Batch]:
        """The batches of what is not done yet."""
        left = [tuple(each for each in batch if each.key_in(self.name) not in done) for batch in self.batches]
        return [batch for batch in left if batch]

    @property
    def settings(self) -> dict[str, object]:
        """What rows must share to be comparable, beside their axes."""
        return {
            "case": self.case.name,
            "case_digest": hashlib.sha256(repr(self.case).encode()).hexdigest()[:24],
            "package_version": __version__,
            **asdict(self.limits),
            "epsilon": self.batches[0][0].epsilon,
            "noise_of_step_2a": f"{PRICE_NOISE:.0%} of the average price",
        }


def single_cell(
    cell: Cell, alphas: Sequence[float], draws: range, *, eta_p: float, eta_d: float
) -> list[Instance]:
    """The paper's mechanisms at several alphas on one cell: draws are outermost, so a part is a fair sample.

    Each number of a draw has noise of its own.
    """
    return [
        Instance(
            power_stress=cell[0],
            gas_stress=cell[1],
            alpha=alpha,
            mechanism=mechanism,
            repetition=draw,
            eta_p=eta_p,
            eta_d=eta_d,
        )
        for draw in draws
        for alpha in alphas
        for mechanism in MECHANISMS
    ]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A grid and the limits that its instances are solved with.

    ``mechanisms`` are names of :mod:`ppsm.experiments.variants`; ``etas`` are used for both bands; the limits
    are those of :class:`~ppsm.experiments.tuning.Limits`. The noise of a repetition follows from its number:
    a grid with another ``first_repetition`` has other draws, which nobody has tuned on.
    """

    name: str
    case: str
    power_stress: tuple[float, ...]
    gas_stress: tuple[float, ...]
    alphas: tuple[float, ...]
    etas: tuple[float, ...]
    mechanisms: tuple[str, ...]
    repetitions: int
    first_repetition: int = 0
    epsilon: float = 1.0
    gap: float = Limits.gap
    clear_seconds: float = Limits.clear_seconds
    original_seconds: float = Limits.original_seconds
    fidelity_nodes: int = Limits.fidelity_nodes
    fidelity_seconds: float = Limits.fidelity_seconds

    def __post_init__(self) -> None:
        for name in ("power_stress", "gas_stress", "alphas", "etas", "mechanisms"):
            values = getattr(self, name)
            if not values or len(set(values)) < len(values):
                raise InputError(f"'{name}' is {list(values)}; expected at least one value, and none twice.")
        case = load_case(self.case)
        for cell in self.cells:
            check_stress(case, *cell)
        variants = [Variant.named(text) for text in self.mechanisms]
        if len(set(variants)) < len(variants):
            raise InputError(f"'mechanisms' is {list(self.mechanisms)}; expected none twice.")
        if self.repetitions < 1:
            raise InputError(f"{self.repetitions} repetitions were asked for; expected at least 1.")
        if self.first_repetition < 0:
            raise InputError(f"first_repetition is {self.first_repetition}; they are counted from 0.")
        limits = (field.name for field in fields(Limits))
        _positive(self, "alphas", "etas", "epsilon", *limits)
        for eta in self.etas:
            check_width(eta, "one of the etas")

    @property
    def cells(self) -> list[Cell]:
        """The stress cells."""
        return list(product(self.power_stress, self.gas_stress))

    @cached_property
    def grid(self) -> Grid:
        """All instances: those of a cell and repetition in a batch, since they share step 2b.

        Batches of one power stress are together, so that unit commitments are reused.
        """
        case = load_case(self.case)
        draws = range(self.first_repetition, self.first_repetition + self.repetitions)
        since = f" from number {self.first_repetition}" if self.first_repetition else ""
        order = product(self.power_stress, draws, self.gas_stress)
        return Grid(
            label=f"{self.name} with {self.repetitions} repetitions{since}",
            case=case,
            name=case.name,
            limits=Limits(**{field.name: getattr(self, field.name) for field in fields(Limits)}),
            batches=tuple(self._batch(power, gas, repetition) for power, repetition, gas in order),
        )

    def _batch(self, power: float, gas: float, repetition: int) -> Batch:
        return tuple(
            Instance(
                power_stress=power,
                gas_stress=gas,
                alpha=alpha,
                mechanism=mechanism,
                repetition=repetition,
                eta_p=eta,
                eta_d=eta,
                epsilon=self.epsilon,
            )
            for alpha, mechanism in product(self.alphas, self.mechanisms)
            # Without bands once is enough, and the same row serves grids of any eta.
            for eta in (self.etas if Variant.named(mechanism).has_bands else (Instance.eta_p,))
        )


def _positive(experiment: Experiment, *names: str) -> None:
    for name in names:
        value = getattr(experiment, name)
        for number in value if isinstance(value, tuple) else (value,):
            if not (math.isfinite(number) and number > 0):
                raise InputError(f"'{name}' holds {number}; expected numbers above zero.")


# alpha in MWh (the paper's 0.1, 1 and 10 are hundreds of MWh), eta as a fraction; 30 repetitions, section 7.
_PAPER: dict[str, Any] = {"alphas": (10.0, 100.0, 1000.0), "etas": (0.001,), "repetitions": 30}
_THREE = ("laplace", "ppsm-p", "ppsm")
GRIDS: dict[str, dict[str, Any]] = {
    "table1": {**_PAPER, "mechanisms": (*_THREE, "ppsm+measured", "ppsm+prior", "ppsm+prior5")},
    "table2": {**_PAPER, "alphas": (1000.0,), "etas": (0.001, 0.01, 0.1), "mechanisms": _THREE},
    "figure3": {**_PAPER, "mechanisms": _THREE},
    # Beyond the paper.
    "norms": {**_PAPER, "mechanisms": ("ppsm-p", "ppsm-p+l1", "ppsm", "ppsm+l1"), "repetitions": 5},
    "priors": {
        **_PAPER,
        "mechanisms": ("ppsm", "ppsm+prior20", "ppsm+prior", "ppsm+prior5"),
        "repetitions": 5,
    },
    "predictors": {
        **_PAPER,
        "mechanisms": ("ppsm", "ppsm+measured", "ppsm+model", "ppsm+learned"),
        "repetitions": 5,
    },
    "alphas": {**_PAPER, "alphas": (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0), "mechanisms": _THREE},
    # Noise of a ten-thousandth of a MWh: what predictions and bands cost by themselves.
    "noise-free": {**_PAPER, "alphas": (1e-4,), "etas": (0.001, 0.01, 0.1), "mechanisms": _THREE},
}


def named(name: str, case: str = "northeast") -> Experiment:
    """One of the named grids over all stress cells of a case."""
    if name not in GRIDS:
        raise InputError(
            f"there is no experiment '{name}'; expected one of {', '.join(GRIDS)}, or a file FILE.toml."
        )
    return Experiment(name=name, case=case, **_stress_of(load_case(case)), **GRIDS[name])


def _stress_of(case: Case) -> dict[str, Any]:
    return {"power_stress": tuple(case.power_stress), "gas_stress": tuple(case.gas_stress)}


def read_experiment(file: Path) -> Experiment:
    """Read a grid from a TOML file; what it leaves out is as in Table 1, over all stress cells."""
    if not file.is_file():
        raise InputError(f"there is no file {file}; expected a grid in TOML, or one of {', '.join(GRIDS)}.")
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FileFormatError(
            f"{file} cannot be read as an experiment ({error}); correct the file."
        ) from None
    known = {field.name: field.type for field in fields(Experiment) if field.name != "name"}
    for name, value in content.items():
        if name not in known:
            raise FileFormatError(
                f"{file} has '{name}', which is no setting; expected some of {', '.join(known)}."
            )
        content[name] = _typed(file, name, value, known[name])
    case = content.pop("case", "northeast")
    given = {**_stress_of(load_case(case)), **GRIDS["table1"], **content}
    return Experiment(name=file.stem, case=case, **given)


def _typed(file: Path, name: str, value: Any, wanted: Any) -> Any:
    """The value as the field's type; numbers may be written without a decimal point."""
    items: Sequence[Any] = value if isinstance(value, list) else [value]
    one = {str: str, int: int}.get(wanted, str if wanted == tuple[str, ...] else float)
    is_list = wanted not in (str, int, float)
    accepted = (int, float) if one is float else one
    if is_list != isinstance(value, list) or not all(
        isinstance(item, accepted) and not isinstance(item, bool) for item in items
    ):
        what = {str: "text", int: "a whole number", float: "a number"}[one]
        raise FileFormatError(
            f"{file} has {name} = {value!r}; expected {'a list, each ' if is_list else ''}{what}."
        )
    typed = tuple(one(item) for item in items)
    return typed if is_list else typed[0]


def adjusted(
    experiment: Experiment, *, repetitions: int | None = None, clear_seconds: float | None = None
) -> Experiment:
    """The same with another number of repetitions or another limit, where they are given."""
    given = {"repetitions": repetitions, "clear_seconds": clear_seconds}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    return replace(experiment, **changes)

"""Mechanisms by name, with what they may be given on top: ``ppsm``, ``ppsm+prior``, ``ppsm-p+l1``.

``+prior``    a public history of the demand: each entry known up to 10 %, or up to 5 % with
              ``+prior5`` and so on (drawn once per cell and repetition)
``+l1``       L1 distance in step 3b, the likelihood of Laplace noise, instead of the paper's L2
``+model``    nothing is published: M_L and M_F solve the market's public model
``+measured`` the same, and a part of epsilon measures totals (:mod:`ppsm.privacy.measurements`)
``+learned``  M_L and M_F learned from a simulated public past of the market at this power stress and alpha
"""

import re
from dataclasses import dataclass

from ppsm.errors import InputError
from ppsm.mechanism.first_step import Laplace
from ppsm.mechanism.mechanisms import MECHANISMS

OPTIONS = ("prior", "l1", "measured", "model", "learned")
_PREDICTORS = {"measured", "model", "learned"}
# How well a public history knows an entry; the paper has no such row. Hourly forecasts of gas demand at four
# Spanish sites have mean absolute errors of 3 to 10 %, those further ahead more (Energy 244:122562, 2022).
PRIOR_SPREAD = 0.1
LEARNED = "ppsm+learned"
# What a release does by default, where nothing is published.
MEASURED = "ppsm+measured"
_DEFAULT_PRIOR = f"prior{100 * PRIOR_SPREAD:.0f}"


@dataclass(frozen=True)
class Variant:
    """A mechanism and its options."""

    mechanism: str
    options: frozenset[str]

    @classmethod
    def named(cls, name: str) -> "Variant":
        """Read a name such as ``ppsm+prior``."""
        mechanism, *options = name.split("+")
        allowed = OPTIONS if mechanism in MECHANISMS and mechanism != Laplace.name else ()
        options = ["prior" if option == _DEFAULT_PRIOR else option for option in options]
        kinds = [_kind(option) for option in options]
        if mechanism not in MECHANISMS or not set(kinds) <= set(allowed):
            raise InputError(
                f"the mechanism '{name}' is unknown; expected one of {', '.join(MECHANISMS)}, the last two "
                f"also with {', '.join(f'+{option}' for option in OPTIONS)} (or +prior5 for 5 %)."
            )
        if len(_PREDICTORS & set(kinds)) > 1 or len(set(kinds)) < len(kinds):
            raise InputError(
                f"the mechanism '{name}' asks for two predictors or for an option twice; expected each "
                "option once, and '+measured', '+model' or '+learned'."
            )
        return cls(mechanism, frozenset(options))

    @property
    def kinds(self) -> frozenset[str]:
        """The options without their numbers."""
        return frozenset(map(_kind, self.options))

    @property
    def prior_spread(self) -> float | None:
        """How well the public history knows an entry, as a fraction; None without one."""
        for option in self.options:
            if _kind(option) == "prior":
                return int(option.removeprefix("prior")) / 100.0 if option != "prior" else PRIOR_SPREAD
        return None

    @property
    def rank(self) -> tuple[int, tuple[str, ...], float]:
        """Where it stands in a table: the paper's order, then by options, loose priors first."""
        return list(MECHANISMS).index(self.mechanism), tuple(sorted(self.kinds)), -(self.prior_spread or 0.0)

    @property
    def has_bands(self) -> bool:
        """Whether the widths eta mean anything."""
        return self.mechanism != Laplace.name


def _kind(option: str) -> str:
    return "prior" if re.fullmatch(r"prior[1-9]\d?", option) else option

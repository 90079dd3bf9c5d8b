"""What the follower allows: of which data set, how private, who may ask, how often, and what it is told."""

import tomllib
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from ppsm.errors import FileFormatError
from ppsm.protocol.messages import Dataset, Day, PartyName, Strict

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Width = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(gt=0, lt=2**31)]


class Allowance(Strict):
    """What one party may ask for within a window that moves with the time.

    ``rounds`` and ``epsilon`` are counted over the last ``window_days``. The ledger's budget holds on top,
    for all parties together: they may talk to each other.
    """

    rounds: Count
    epsilon: Positive
    window_days: Positive = 30.0

    @property
    def window(self) -> timedelta:
        """The window as a time."""
        return timedelta(days=self.window_days)


class Policy(Strict):
    """A policy file.

    Attributes
    ----------
    dataset, day
        What may be asked for.
    mechanism, alpha, epsilon, eta_p, eta_d
        How it is released.
    outcome
        What a leader is told after its commitment: ``nothing``, or the market with the *released* vector.
        No figure of the true data can be chosen here.
    round_timeout_s
        After so long without a message a round is over.
    requests_per_minute, largest_request_bytes
        For one party, and for one address that nobody vouches for.
    certificate_required
        Whether a token is not enough.
    parties
        Who may ask for what.
    research_seed
        Draws reproducible noise and charges nothing; every message then says that it is NOT private.
    """

    format: Literal["ppsm-policy/1"]
    dataset: Dataset
    day: Day
    mechanism: Literal["ppsm", "ppsm-p"] = "ppsm"
    alpha: Positive
    epsilon: Positive = 1.0
    eta_p: Width = 0.001
    eta_d: Width = 0.001
    outcome: Literal["nothing", "released"] = "released"
    round_timeout_s: Positive = 3600.0
    requests_per_minute: Positive = 120.0
    largest_request_bytes: Count = 1_000_000
    certificate_required: bool = False
    parties: dict[PartyName, Allowance]
    research_seed: Annotated[int, Field(ge=0)] | None = None

    @classmethod
    def read(cls, file: Path) -> "Policy":
        """Read a TOML file."""
        try:
            return cls.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
        except OSError as error:
            raise FileFormatError(f"{file} cannot be read ({error.strerror}): check the path.") from None
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise FileFormatError(f"{file} is not TOML ({error}): correct it.") from None
        except ValidationError as error:
            first = error.errors(include_input=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            raise FileFormatError(f"{file}: {where}: {first['msg']}; correct the policy.") from None

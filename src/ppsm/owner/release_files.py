"""The files of a release, each written once: the vector, its dossier, the game cleared with it.

``released.csv`` says of itself what it is: private or not, of which day, what its data set has lost, and the
SHA-256 of its ``dossier.json``. What a directory holds is never replaced by another release.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ppsm.cases.csv_tables import fail, key, number, read_table
from ppsm.cases.demand import write_demand
from ppsm.cases.schema import Case
from ppsm.errors import FileFormatError, InputError
from ppsm.files import write_atomically
from ppsm.mechanism.coordination import Outcome
from ppsm.mechanism.dossier import Dossier
from ppsm.mechanism.prior import PublicPrior
from ppsm.privacy.released import Released
from ppsm.privacy.statement import headline

RELEASED, DOSSIER, EVALUATION = "released.csv", "dossier.json", "evaluation.json"


@dataclass(frozen=True)
class PriorRow:
    """What is publicly known about the demand at one delivery."""

    node: str = key()
    mean_mwh: float = number(0.0, 1e8)
    spread_mwh: float = number(1e-6, 1e8)


def write_release(directory: Path, case: Case, dossier: Dossier) -> None:
    """Write the dossier, then the released vector that names it; when this returns both are on the disk.

    The dossier's evaluation has a file of its own (:func:`write_evaluation`): the dossier never changes.
    """
    refuse_to_replace(directory, dossier.released)
    # What may be there is of an earlier try, and would not fit.
    (directory / EVALUATION).unlink(missing_ok=True)
    text = replace(dossier, evaluation=None).to_json() + "\n"
    write_atomically(directory / DOSSIER, text)
    remarks = (
        f"ppsm release of '{dossier.released.record.dataset}': {headline(dossier.released)}",
        f"day {dossier.released.record.time:%Y-%m-%d} (UTC)",
        f"{DOSSIER} has the SHA-256 {_digest(text)}",
    )
    write_demand(directory / RELEASED, case, dossier.released.values, remarks=remarks)


def write_evaluation(directory: Path, outcome: Outcome) -> None:
    """Write the game cleared with the released vector, beside the dossier that it belongs to."""
    text = (directory / DOSSIER).read_text(encoding="utf-8")
    content = {"dossier_sha256": _digest(text), "evaluation": outcome.to_dict()}
    write_atomically(directory / EVALUATION, json.dumps(content, allow_nan=False, indent=1) + "\n")


def read_release(directory: Path) -> Dossier | None:
    """The release that a directory holds, with its evaluation if there is one; None where there is none."""
    file = directory / DOSSIER
    if not file.exists():
        return None
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise FileFormatError(f"{file} is no text: restore it, or choose another directory.") from None
    dossier = Dossier.from_json(text)
    if not (directory / EVALUATION).exists():
        return dossier
    try:
        content = json.loads((directory / EVALUATION).read_text(encoding="utf-8"))
        found, outcome = content["dossier_sha256"], Outcome.from_dict(content["evaluation"])
    except (ValueError, KeyError, TypeError) as error:
        raise FileFormatError(f"{directory / EVALUATION} cannot be read ({error}): remove it.") from None
    if found != _digest(text):
        raise FileFormatError(f"{directory / EVALUATION} is of another dossier than {file}: remove it.")
    return dossier.with_evaluation(outcome)


def noisy_of_dossiers(paths: Sequence[Path]) -> Iterator[tuple[Path, Released]]:
    """The noisy vector of each dossier, or of those in and below a directory, with its file."""
    # All of them first: a directory without any must not pass for one whose releases are charged.
    for file in [file for path in paths for file in _dossiers(path)]:
        try:
            yield file, Dossier.from_json(file.read_text(encoding="utf-8")).noisy
        except OSError as error:
            raise FileFormatError(f"{file} cannot be read ({error.strerror}); check the path.") from None
        except ValueError as error:
            # Of many dossiers it must be said which; bytes that are no text are no error of ours yet.
            why = error if isinstance(error, FileFormatError) else "It is no text: use one that ppsm wrote."
            raise FileFormatError(f"{file}: {why}") from None


def _dossiers(path: Path) -> list[Path]:
    """A file as it is, or the dossiers in and below a directory, which must hold one."""
    files = sorted(path.rglob(DOSSIER)) if path.is_dir() else [path]
    if not files:
        raise FileFormatError(f"there is no {DOSSIER} below {path}; give a dossier or its directory.")
    return files


def refuse_to_replace(directory: Path, coming: Released | None) -> None:
    """Refuse a directory that holds another release than the one that is coming (None: not drawn yet).

    The same release may be completed, and research with seeded noise may repeat itself.
    """
    held = [name for name in (RELEASED, DOSSIER) if (directory / name).exists()]
    if not held and (directory / EVALUATION).exists():
        held = [EVALUATION]  # of no release that is here: perhaps a file that this one was given
    if not held:
        return
    try:
        found = read_release(directory)
    except InputError:
        found = None
    if found is not None and coming is not None and not coming.private and not found.private:
        return
    if (
        found is not None
        and coming is not None
        and coming.private
        and found.released.receipt == coming.receipt
    ):
        return
    kind = "something else" if found is None else f"a release ({headline(found.released)})"
    raise InputError(
        f"{directory} holds {kind} in {' and '.join(held)}, and no release replaces another: choose another "
        f"directory, such as --out {free_neighbour(directory)}."
    )


def free_neighbour(directory: Path) -> Path:
    """The first of ``DIR-2``, ``DIR-3``, ... that is not there."""
    number = 2
    while (found := directory.with_name(f"{directory.name}-{number}")).exists():
        number += 1
    return found


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def read_prior(path: Path, case: Case) -> PublicPrior:
    """Read a CSV file ``node,mean_mwh,spread_mwh`` with one row per delivery of a case."""
    order = {name: index for index, name in enumerate(case.delivery_ids)}
    mean, spread = np.full(len(order), np.nan), np.full(len(order), np.nan)
    rows = read_table(path, PriorRow)
    for index, row in enumerate(rows):
        if row.node not in order:
            fail(
                path.name,
                index,
                f"node '{row.node}' is no delivery of the case '{case.name}'; correct the name.",
            )
        if not np.isnan(mean[order[row.node]]):
            fail(path.name, index, f"node '{row.node}' occurs twice; keep one row for each delivery.")
        mean[order[row.node]], spread[order[row.node]] = row.mean_mwh, row.spread_mwh
    for name, index in order.items():
        if np.isnan(mean[index]):
            fail(path.name, len(rows), f"node '{name}' of the case '{case.name}' has no row; add it.")
    return PublicPrior.of(mean, spread, source=f"the file {path.name}")

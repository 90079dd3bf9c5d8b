"""``ppsm release``: turn a secret gas demand into a private, faithful release, and see what it does."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ppsm.cases import Case, load_case
from ppsm.cases.schema import builtin_cases
from ppsm.cases.stress import check_stress
from ppsm.cli import options
from ppsm.cli.app import app, examples
from ppsm.cli.output import writable_directory
from ppsm.cli.progress import steps
from ppsm.cli.secret import owner_console, owner_directory, read_secret
from ppsm.errors import InputError, PpsmError
from ppsm.files import OWNER_MODE, write_atomically
from ppsm.privacy import Sensitive

if TYPE_CHECKING:
    from ppsm.coordinations import GaucCoordination
    from ppsm.mechanism import Laplace, Learned, Outcome, Predictor, Release
    from ppsm.mechanism.predictors import PredictorNote
    from ppsm.owner.private_release import Granted, Written
    from ppsm.privacy import PublishedFigures


# What the owner alone may know of a release, in the directory for the owner.
DISTANCES = "distances.json"


class MechanismName(StrEnum):
    """What is done after the noise."""

    LAPLACE = "laplace"
    PPSM_P = "ppsm-p"
    PPSM = "ppsm"


class PredictorName(StrEnum):
    """Where steps 2a and 3a have their predictions from."""

    PUBLIC = "public"
    LEARNED = "learned"
    MODEL = "model"


@app.command(
    short_help="A private, faithful release of a gas demand.",
    epilog=examples(
        "ppsm release --power-stress 0.36 --demand demand.csv --alpha 100 --out shared",
        "ppsm release --power-stress 0.36 --gas-stress 0.5 --alpha 100 --seed 1 --out trial",
    ),
)
def release(
    power_stress: options.PowerStress,
    alpha: options.Alpha,
    out: Annotated[Path, typer.Option(help="Directory for released.csv and dossier.json.")],
    gas_stress: options.GasStress = None,
    case: options.CaseName = "northeast",
    epsilon: Annotated[float, typer.Option(help="The privacy loss allowed.")] = 1.0,
    eta_p: options.ValueWidth = "0.1%",
    eta_d: options.PriceWidth = "0.1%",
    mechanism: Annotated[MechanismName, typer.Option(help="The mechanism.")] = MechanismName.PPSM,
    predictor: Annotated[
        PredictorName,
        typer.Option(
            help="'model' needs no figure of the true demand; 'learned' trains on an invented past; "
            "'public' rests on figures that the market has published (--published), which makes the promise "
            "conditional."
        ),
    ] = PredictorName.MODEL,
    published: Annotated[
        Path | None,
        typer.Option(
            help="Figures of the true demand that the market has published, as a JSON file with day, source "
            "and rounding: whoever knows all entries but one can compute that one from them."
        ),
    ] = None,
    demand: options.DemandFile = None,
    demand_unit: options.DemandUnit = None,
    demand_sheet: options.DemandSheet = None,
    prior: Annotated[
        Path | None, typer.Option(help="Public knowledge: a CSV file node,mean_mwh,spread_mwh.")
    ] = None,
    ledger: options.LedgerFile = None,
    after: Annotated[
        list[Path] | None,
        typer.Option(
            help="Dossier (or its directory) of an earlier release: a ledger that has not charged it, as "
            "an old copy has not, is refused. Repeatable."
        ),
    ] = None,
    dataset: options.Dataset = None,
    model: Annotated[
        Path | None, typer.Option(help="Learned model: read if it exists, else trained and written.")
    ] = None,
    seed: options.ResearchSeed = None,
    time_limit: options.ClearSeconds = 300.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary as JSON.")] = False,
) -> None:
    """Release a gas demand: step 1 adds noise, steps 2a to 3b repair it, the markets are cleared with it.

    It is charged to a budget that somebody has granted ('ppsm ledger init', 'ppsm ledger grant'). Stopped
    after the ledger was charged, the same command goes on from the noise that it paid for. Exit codes: 0
    released; 2 unusable input; 4 refused (budget, ledger); 130 interrupted.
    """
    loaded = load_case(case)
    check_stress(loaded, power_stress, gas_stress)
    widths = options.widths(eta_p, eta_d)
    name = dataset or f"gas-demand/{loaded.name}"
    secret = read_secret(loaded, demand, gas_stress, name, unit=demand_unit, sheet=demand_sheet)
    if predictor is PredictorName.LEARNED and demand is None and case not in builtin_cases():
        _refuse_to_learn_from_the_secret(loaded, model)
    figures = _published_figures(predictor, published)
    if after and seed is not None:
        raise InputError(
            "--after asks a ledger, and seeded noise (--seed) is charged to none: give one of the two."
        )
    options.insist_on_seconds(time_limit)
    directory = writable_directory(out)
    if model is not None and not model.parent.is_dir():
        raise InputError(
            f"cannot write the model '{model}', there is no directory '{model.parent}': create it first."
        )
    # What can be refused was refused; the markets need linopy, which takes a while to load.
    from ppsm.coordinations import GaucCoordination
    from ppsm.owner.private_release import Granted, cell_name, one_at_a_time

    chosen = _mechanism(loaded, mechanism, alpha, epsilon, widths, prior)
    with one_at_a_time(owner_directory(directory)):
        granted = None
        if seed is None:
            granted = Granted.begin(
                chosen,
                secret,
                cell_name(loaded, power_stress),
                directory=directory,
                owner=owner_directory(directory),
                ledger=ledger,
                after=after or (),
            )
        with _interruptible(granted), steps(4) as say:
            say("building the markets")
            game = GaucCoordination(loaded, power_stress, time_limit=time_limit)
            say("choosing the predictions", 1)
            models = _predictor(predictor, chosen, secret, game, granted, figures, model)
            say("releasing", 2)
            written = _written(granted, chosen, secret, game, models, seed or 0, directory)
            say("clearing the markets with the release (it is written already)", 3)
            outcome = game.clear(written.release.released.values)
            written.evaluated(outcome)
    _report(directory, written.release, outcome, secret, as_json=as_json)


def _written(
    granted: "Granted | None",
    mechanism: "Laplace",
    secret: Sensitive,
    game: "GaucCoordination",
    predictor: "Predictor | None",
    seed: int,
    directory: Path,
) -> "Written":
    """The release on the disk: private where a budget was granted, else seeded."""
    from ppsm.owner.private_release import PURPOSE, Written
    from ppsm.owner.release_files import refuse_to_replace

    if granted is not None:
        return granted.draw(game, predictor).restore().write()
    noisy = mechanism.perturb_with_seed(secret, game, predictor, seed=seed, purpose=PURPOSE)
    refuse_to_replace(directory, noisy)
    return Written.to(directory, game.case, mechanism.process(noisy, game, predictor))


def _published_figures(predictor: PredictorName, file: Path | None) -> "PublishedFigures | None":
    """What the market has published; only the owner's own words bring figures of the true demand in."""
    from ppsm.privacy import PublishedFigures

    if (file is not None) != (predictor is PredictorName.PUBLIC):
        raise InputError(
            "the predictor 'public' and --published FILE go together, found one of them: give the figures "
            "that the market has published as FILE (docs/mechanism.md has its form), or leave both out."
        )
    return None if file is None else PublishedFigures.read(file)


def _refuse_to_learn_from_the_secret(case: Case, model: Path | None) -> None:
    """A past is invented around the demand of the case, which must then be public."""
    if model is None or not model.exists():
        raise InputError(
            f"the demand of the case '{case.name}' is the secret itself, so no public past can be invented "
            "around it: give the secret with --demand, or a model that was trained elsewhere with --model."
        )


def _mechanism(
    case: Case,
    name: MechanismName,
    alpha: float,
    epsilon: float,
    widths: tuple[float, float],
    prior: Path | None,
) -> "Laplace":
    from ppsm.mechanism import PPSM, Laplace, PPSM_p
    from ppsm.owner.release_files import read_prior

    known = None if prior is None else read_prior(prior, case)
    if name is MechanismName.LAPLACE:
        if known is not None:
            raise InputError(
                "a prior was given to the mechanism 'laplace', which repairs nothing: leave it out."
            )
        return Laplace(alpha=alpha, epsilon=epsilon)
    if name is MechanismName.PPSM_P:
        return PPSM_p(alpha=alpha, epsilon=epsilon, eta_p=widths[0], prior=known)
    return PPSM(alpha=alpha, epsilon=epsilon, eta_p=widths[0], eta_d=widths[1], prior=known)


@contextmanager
def _interruptible(granted: "Granted | None") -> Iterator[None]:
    """Say on Ctrl-C how to go on, if noise was drawn and charged for."""
    try:
        yield
    except KeyboardInterrupt:
        if granted is not None and granted.noise_is_kept:
            typer.echo(
                "The ledger is charged and the noisy vector is kept: run the same command again to go on "
                "without a new charge.",
                err=True,
            )
        raise


def _predictor(
    name: PredictorName,
    mechanism: "Laplace",
    secret: Sensitive,
    game: "GaucCoordination",
    granted: "Granted | None",
    figures: "PublishedFigures | None",
    model: Path | None,
) -> "Predictor | None":
    """The models of steps 2a and 3a, chosen before the release."""
    from ppsm.mechanism import ModelBased, PPSM_p, PublicOutcome
    from ppsm.privacy import simulated_publication

    if not isinstance(mechanism, PPSM_p):
        return None  # it repairs nothing, so it predicts nothing
    if name is PredictorName.LEARNED:
        return _learned(mechanism, game, model)
    if figures is None:
        return ModelBased()
    mechanism.insist_on_published(figures.result, game)  # the ledger's note of them is for good
    if granted is not None:
        return granted.rest_on(figures)
    # Beside seeded noise nothing is noted: the result promises nothing.
    return PublicOutcome(simulated_publication(figures.result, dataset=secret.dataset), seed=0)


def _learned(mechanism: "Laplace", game: "GaucCoordination", model: Path | None) -> "Learned":
    """A model that is read if it is there, else trained on an invented past and written."""
    from ppsm.coordinations.unit_commitment import case_days
    from ppsm.mechanism import Learned

    noise = {"alpha": mechanism.alpha, "epsilon": mechanism.epsilon}
    purpose: dict[str, str | float] = {"case": game.case.name, "power stress": game.power_stress, **noise}
    if model is not None and model.exists():
        known = Learned.load(model)
        known.insist_on(purpose)
        return known
    days = case_days(game.case, game.power_stress)
    learned = replace(Learned.train(days.released(**noise)), trained_for=purpose)
    if model is not None:
        learned.save(model)
    return learned


def _summary(directory: Path, release: "Release", outcome: "Outcome") -> dict[str, Any]:
    from ppsm.owner.release_files import DOSSIER, RELEASED

    fidelity = release.fidelity
    return {
        "released": str(directory / RELEASED),
        "dossier": str(directory / DOSSIER),
        "private": release.released.private,
        "statement": release.dossier.statement,
        "mechanism": release.dossier.mechanism.name,
        "predictor": None if release.dossier.predictor is None else release.dossier.predictor.to_dict(),
        "widening": None if fidelity is None else fidelity.widening,
        "fidelity_status": None if fidelity is None else fidelity.status.value,
        "theory": release.dossier.theory.to_dict(),
        "feasible": outcome.feasible,
        "status": outcome.status.value,
        "leader_cost": outcome.leader_cost,
        "electricity_value": outcome.values.get("electricity"),
        "gas_value": outcome.values.get("gas"),
        "bound": outcome.leader_bound,
        "gap": outcome.gap,
    }


def _prediction_words(predictor: "PredictorNote") -> str:
    errors = predictor.cross_validation
    if errors is None:
        return predictor.name
    return (
        f"{predictor.name} from {errors.days:.0f} days; on days left out the value is off by "
        f"{errors.value_error_percent:.2f} %, prices by {errors.price_error_percent:.2f} %"
    )


def _report(
    directory: Path, release: "Release", outcome: "Outcome", secret: Sensitive, *, as_json: bool
) -> None:
    if as_json:
        sys.stdout.write(json.dumps(_summary(directory, release, outcome), indent=2, allow_nan=False) + "\n")
        return
    from ppsm.owner.release_files import DOSSIER, RELEASED

    console, dossier = Console(), release.dossier
    table = Table(title=f"Release by {dossier.mechanism.name}", show_header=False)
    table.add_row("released", escape(str(directory / RELEASED)))
    table.add_row("dossier", escape(str(directory / DOSSIER)))
    table.add_row("private", str(release.released.private))
    table.add_row("status", outcome.status.value)
    if dossier.predictor is not None:
        table.add_row("predictions", _prediction_words(dossier.predictor))
    if release.fidelity is not None:
        table.add_row("fidelity", release.fidelity.bands_in_words)
    if outcome.leader_cost is not None:
        table.add_row("leader_cost", f"{outcome.leader_cost:,.0f} $")
    for name, value in outcome.values.items():
        table.add_row(f"{name}_value", f"{value:,.0f} $")
    if outcome.gap is not None:
        table.add_row("gap", f"{outcome.gap:,.6g}")
    console.print(table)
    console.print(escape(dossier.statement), highlight=False)
    _show_to_owner(owner_directory(directory) / DISTANCES, release, secret)


def _show_to_owner(file: Path, release: "Release", secret: Sensitive) -> None:
    """How far the release is from the truth; where that fails, others see neither by exit code nor by log."""
    from ppsm.owner.distances import distances_for_owner

    try:
        found = distances_for_owner(secret, release).reveal()
    except PpsmError as error:
        write_atomically(file, json.dumps({"not measured": str(error)}) + "\n", mode=OWNER_MODE)
        owner_console(file).print(escape(str(error)))
        return
    write_atomically(file, json.dumps(asdict(found), indent=1) + "\n", mode=OWNER_MODE)
    mine = Table(title="For the owner only: do not pass on", show_header=False)
    mine.add_row("distance of the noisy demand, L1", f"{found.l1_noisy:,.0f} MWh")
    mine.add_row("distance of the release, L1", f"{found.l1_released:,.0f} MWh")
    if found.truth_in_bands is not None:
        mine.add_row("true demand within the bands", "yes" if found.truth_in_bands else "no")
    owner_console(file).print(mine)

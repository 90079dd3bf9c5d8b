"""A gas operator keeps its demand secret; a power operator plans its day with what is released of it.

Two parties, two functions: nothing passes between them but one text, which anybody may read. The case is
public (``ppsm case show medium``); its demand at +50 % plays the secret here. Run with ``python
examples/owner_to_leader.py``; it takes seconds.
"""

import tempfile
from pathlib import Path

from ppsm import Ledger, Sensitive, load_case
from ppsm.coordinations import GaucCoordination
from ppsm.mechanism import PPSM, Dossier, Outcome, PublicOutcome
from ppsm.owner.distances import Distances, distances_for_owner
from ppsm.privacy import OwnerOnly, publish_outcome

CASE, POWER_STRESS = "medium", 0.2
DATASET = "gas-demand/today"
ALPHA_MWH = 20.0  # a delivery is hidden among those that take up to 20 MWh more or less


def gas_operator(ledger: Ledger) -> tuple[str, OwnerOnly[Distances]]:
    """The owner of the secret: returns the message to send, and figures for its own eyes only."""
    case = load_case(CASE)
    market = GaucCoordination(case, POWER_STRESS)
    demand = Sensitive(case.demand_mwh(0.5), dataset=DATASET, unit="MWh", entry_names=market.entry_names)
    ledger.grant(DATASET, epsilon=1.0, alpha=ALPHA_MWH, unit="MWh")

    # The market publishes its cost and prices anyway; that they are used is an act of the owner, on record.
    publication = publish_outcome(demand, market, ledger=ledger, purpose="market report of the day")
    mechanism = PPSM(alpha=ALPHA_MWH, epsilon=1.0, eta_p=0.001, eta_d=0.001)
    release = mechanism.release(
        demand, market, PublicOutcome(publication, seed=1), ledger=ledger, purpose="day-ahead planning"
    )
    return release.dossier.to_json(), distances_for_owner(demand, release)


def power_operator(message: str) -> Outcome:
    """The leader: commits its plants with the released demand in place of the true one."""
    released = Dossier.from_json(message).released
    return GaucCoordination(load_case(CASE), POWER_STRESS).clear(released.values)


def main(directory: Path) -> None:
    """Play both parties; the ledger is kept in a directory."""
    ledger = Ledger.create(directory / "ledger.db")
    message, figures = gas_operator(ledger)
    outcome = power_operator(message)

    dossier = Dossier.from_json(message)
    for name, value in zip(dossier.released.entry_names, dossier.released.values, strict=True):
        print(f"released {name:3} {value:6.1f} MWh")
    print(f"the power operator's day: {outcome.status}, {outcome.leader_cost:,.0f} $")
    if dossier.publication is not None:
        published, cleared = dossier.publication.result.value, outcome.values["gas"]
        print(f"the gas market's: {cleared:,.0f} $ with the release, {published:,.0f} $ published")
    print(f"budget left: epsilon = {ledger.balance(DATASET).left}")
    print(f"for the owner only: the release is {figures.reveal().l1_released:.0f} MWh from the truth")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder))

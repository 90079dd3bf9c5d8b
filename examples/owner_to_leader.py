"""A gas operator keeps its demand secret; a power operator plans its day with what is released of it.

Three parties, three functions: one keeps the privacy budget and grants some of it, one owns the secret and
spends what was granted, one plans. Nothing passes from the owner to the planner but one text, which anybody
may read. The case is public (``ppsm case show medium``); its demand at +50 % plays the secret here. Run with
``python examples/owner_to_leader.py``; it takes seconds.
"""

import tempfile
from pathlib import Path

from ppsm import Ledger, Sensitive, load_case
from ppsm.coordinations import GaucCoordination
from ppsm.mechanism import PPSM, Dossier, ModelBased, Outcome
from ppsm.owner.distances import Distances, distances_for_owner
from ppsm.privacy import OwnerOnly

CASE, POWER_STRESS = "medium", 0.2
DATASET = "gas-demand/today"
ALPHA_MWH = 20.0  # a delivery is hidden among those that take up to 20 MWh more or less


def data_protection_officer(ledger: Path) -> None:
    """Who keeps the budget: allows a privacy loss of 1 at the distance that must stay deniable."""
    Ledger.create(ledger).grant(DATASET, epsilon=1.0, alpha=ALPHA_MWH, unit="MWh")


def gas_operator(ledger: Ledger) -> tuple[str, OwnerOnly[Distances]]:
    """The owner of the secret: returns the message to send, and figures for its own eyes only."""
    case = load_case(CASE)
    market = GaucCoordination(case, POWER_STRESS)
    demand = Sensitive(case.demand_mwh(0.5), dataset=DATASET, unit="MWh", entry_names=market.entry_names)
    mechanism = PPSM(alpha=ALPHA_MWH, epsilon=1.0, eta_p=0.001, eta_d=0.001)
    # Predictions come from the market's public model, so no figure of the true demand leaves.
    release = mechanism.release(demand, market, ModelBased(), ledger=ledger, purpose="day-ahead planning")
    return release.dossier.to_json(), distances_for_owner(demand, release)


def power_operator(message: str) -> Outcome:
    """The leader: commits its plants with the released demand in place of the true one."""
    released = Dossier.from_json(message).released
    return GaucCoordination(load_case(CASE), POWER_STRESS).clear(released.values)


def main(directory: Path) -> None:
    """Play all parties; the ledger is kept in a directory."""
    data_protection_officer(directory / "ledger.db")
    ledger = Ledger(directory / "ledger.db")  # whoever releases can only spend
    message, figures = gas_operator(ledger)
    outcome = power_operator(message)

    dossier = Dossier.from_json(message)
    for name, value in zip(dossier.released.entry_names, dossier.released.values, strict=True):
        print(f"released {name:3} {value:6.1f} MWh")
    print(f"the power operator's day: {outcome.status}, {outcome.leader_cost:,.0f} $")
    print(dossier.statement)
    print(f"budget left: epsilon = {ledger.balance(DATASET).left}")
    print(f"for the owner only: the release is {figures.reveal().l1_released:.0f} MWh from the truth")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder))

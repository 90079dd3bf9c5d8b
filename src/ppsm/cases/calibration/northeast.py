"""The Northeast case: published networks in, the tables of ``cases/data/northeast`` out, byte for byte.

Networks: the joint Pennsylvania-to-Northeast gas network and 36-bus NPCC power system published with
GasPowerModels.jl (Los Alamos National Laboratory), which belong to R. Bent, S. Blumsack, P. Van Hentenryck,
C. Borraz-Sanchez, M. Shahriari, "Joint Electricity and Natural Gas Transmission Planning With Endogenous
Market Feedbacks", IEEE Trans. Power Systems 33(6), 2018. The page docs/northeast.md explains each choice.
"""

from pathlib import Path

from ppsm.cases.calibration.assumptions import Assumptions
from ppsm.cases.calibration.build import build_case
from ppsm.cases.links import read_links
from ppsm.cases.matgas import read_matgas
from ppsm.cases.matpower import read_matpower
from ppsm.cases.schema import Case

POWER_FILE, GAS_FILE, LINK_FILE = "EP36.m", "northeast.m", "northeast-case36.json"

# The paper's demand at +130 % peaks at 98.31e2 MWh; the largest published delivery is 1.3926 per unit.
MWH_PER_FLOW_UNIT = 3069.33

NORTHEAST = Assumptions(
    name="northeast",
    title="Northeastern US: 36-bus power system and 146-junction gas network",
    source=(
        "Networks from GasPowerModels.jl (Los Alamos National Laboratory), after Bent, Blumsack, "
        "Van Hentenryck, Borraz-Sanchez, Shahriari, IEEE Trans. Power Systems 33(6), 2018; see SOURCE.md for "
        "licence and changes"
    ),
    mwh_per_flow_unit=MWH_PER_FLOW_UNIT,
    # The modelled single-line pipelines carry a twentieth of the fleets' gas; and 3069 MWh per unit of flow
    # is about what 44.48 kg/s carry in one hour, so a day's burn enters on the scale of an hour.
    gas_share=round(1 / 20 / 24, 6),
    # 365 GW of gas capacity are planning limits for 138 GW of load; 0.55 leaves about 1.4 times the peak.
    gas_capacity_factor=0.55,
    unit_size_mw=600.0,
    # Loads rise by up to 60 % and plants are fleets; at 3 times the ratings one bus cannot be served.
    line_rating_factor=4.0,
    # 12 receipts x 6 blocks x 0.28 are 20.2 per unit for at most 16.3 of demand and burn: enough everywhere,
    # and the fifth block is reached in the stressed ones.
    supply_block_flow_units=0.28,
    # where the most stressed cell clears
    direction_price_usd_per_mmbtu=6.1,
    # Half a bar of daily pressure swing: small noise at a dead end is taken up, large noise is not.
    pack_swing_bar=0.5,
    # The paper's stress factors: 6 x 7 cells of 30 repetitions are its 1260 instances.
    power_stress=(0.30, 0.36, 0.42, 0.48, 0.54, 0.60),
    gas_stress=(0.1, 0.3, 0.5, 0.7, 0.9, 1.1, 1.3),
)


def northeast_case(published: Path) -> Case:
    """Build and check the case from the directory with the published files."""
    return build_case(
        read_matpower(published / POWER_FILE),
        read_matgas(published / GAS_FILE),
        read_links(published / LINK_FILE),
        NORTHEAST,
    )

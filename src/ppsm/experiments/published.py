"""The numbers that the paper printed, to be shown beside ours.

F. Fioretto, L. Mitridati and P. Van Hentenryck, "Differential Privacy for Stackelberg Games", IJCAI 2020,
Tables 1 and 2. alpha there is in hundreds of MWh; here it is in MWh. Errors are in per cent of the original
cost, the distance is L1 in hundreds of MWh.
"""

from dataclasses import dataclass

CITATION = (
    "F. Fioretto, L. Mitridati and P. Van Hentenryck, "
    '"Differential Privacy for Stackelberg Games", IJCAI 2020'
)


@dataclass(frozen=True)
class PublishedRow:
    """One line of a table; None where the table has no such column."""

    feasible_percent: float | None
    l1_hundred_mwh: float | None
    leader_error_percent: float
    electricity_error_percent: float
    gas_error_percent: float


CASE = "northeast"

# By mechanism and alpha in MWh; eta = 0.1 %.
TABLE1: dict[tuple[str, float], PublishedRow] = {
    ("laplace", 10.0): PublishedRow(71.49, 5.08, 0.1237, 0.3222, 0.3335),
    ("laplace", 100.0): PublishedRow(18.13, 50.85, 1.2959, 3.5538, 3.5540),
    ("laplace", 1000.0): PublishedRow(4.47, 508.55, 22.940, 52.414, 52.414),
    ("ppsm-p", 10.0): PublishedRow(98.45, 4.45, 0.0631, 0.1503, 0.1503),
    ("ppsm-p", 100.0): PublishedRow(91.30, 21.87, 0.1216, 0.1764, 0.1761),
    ("ppsm-p", 1000.0): PublishedRow(80.71, 24.31, 0.2143, 0.3851, 0.3853),
    ("ppsm", 10.0): PublishedRow(99.10, 3.89, 0.0192, 0.1056, 0.1057),
    ("ppsm", 100.0): PublishedRow(95.09, 12.71, 0.0698, 0.1465, 0.1465),
    ("ppsm", 1000.0): PublishedRow(91.35, 14.16, 0.1367, 0.2330, 0.2331),
}

# By mechanism and eta as a fraction, at alpha = 1000 MWh; Laplace has no eta.
TABLE2: dict[tuple[str, float | None], PublishedRow] = {
    ("laplace", None): PublishedRow(None, None, 22.9400, 52.4141, 52.4141),
    ("ppsm-p", 0.001): PublishedRow(None, None, 0.1915, 0.3851, 0.3851),
    ("ppsm-p", 0.01): PublishedRow(None, None, 0.1946, 0.4102, 0.4102),
    ("ppsm-p", 0.1): PublishedRow(None, None, 0.2224, 0.4543, 0.4543),
    ("ppsm", 0.001): PublishedRow(None, None, 0.1367, 0.2330, 0.2330),
    ("ppsm", 0.01): PublishedRow(None, None, 0.1242, 0.2060, 0.2060),
    ("ppsm", 0.1): PublishedRow(None, None, 0.2086, 0.3601, 0.3605),
}
TABLE2_ALPHA = 1000.0


def published_row(
    table: str, case: str, mechanism: str, alpha: float, eta: float | None
) -> PublishedRow | None:
    """The paper's line for a line of ours: only for its case, and for no mechanism with options."""
    if case != CASE:
        return None
    if table == "table1":
        return TABLE1.get((mechanism, alpha)) if eta in (None, 0.001) else None
    return TABLE2.get((mechanism, eta)) if alpha == TABLE2_ALPHA else None

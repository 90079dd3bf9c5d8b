"""Every number that steers the search for gas-aware unit commitment, with what it does.

None of them changes what is proven: they say how long the search tries, in which order, and how much room it
leaves to the rounding of solvers. Tolerances that define an answer (:mod:`ppsm.markets.model.validity`) and
those of the certificate are no tuning and stay where they are used.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class MarketTuning:
    """The numbers by the file that uses them; shares are parts of one."""

    # --- model/: the markets as linear programs
    # Feasibility of UC and of its relaxation: LPs of this size have numbers of very different sizes.
    commitment_feasibility: float = 1e-7
    # EM's dispatch decides what plants burn, so that it is solved closer.
    dispatch_feasibility: float = 1e-8
    # Integers of a relaxation within this of a whole number are whole.
    whole: float = 1e-6
    # Relative improvement of GM's optimum by virtual supplies that counts as one.
    virtual_improvement: float = 1e-9

    # --- gauc/solver.py: incumbent and bound
    # UC is solved so much closer than the gap asked for, so that what is left goes to prices.
    commitment_share_of_gap: float = 0.1
    # Answers this close to the incumbent need no refuting; a little less than the gap, against rounding.
    target_share_of_gap: float = 0.98
    # Where the gap asked for is out of reach these multiples of it are tried: less is to be refuted then.
    slacks: tuple[float, ...] = (1.0, 2.0, 5.0)
    # A multiple is worth trying if it would leave less than this part of the gap there is.
    worth_proving: float = 0.8
    # So often levels are raised to what prices ask for before the search gives a commitment up.
    price_rounds: int = 8

    # --- gauc/deliverable.py: commitments that the gas network can serve
    # Gap of a first look: most of these commitments lead to no answer.
    coarse_gap: float = 0.002
    # Gap of a commitment without dear gas, which proves nothing.
    affordable_gap: float = 1e-4

    # --- gauc/enumeration.py: commitments in order of cost
    # With more unary columns than this a cut excludes too little to be worth a solve.
    largest_unary: int = 800
    # With more combinations than this, listing them takes longer than a search.
    largest_listing: int = 30_000
    # The next commitment is found at least this close, since its bound counts.
    enumeration_gap: float = 1e-6
    # Load that units miss by less than this part is served, against rounding.
    load_rounding: float = 1e-9

    # --- gauc/floors.py: price floors
    # So often levels that floors prove are given back to the region.
    floor_rounds: int = 6
    # Parts of a place's least burn by which it is lowered in the argument: the more, the less U0 - V matters,
    # but the more room the recourse needs.
    lowered_shares: tuple[float, ...] = (0.02, 0.1, 0.3, 1.0)
    # A place is lowered by no more than this.
    most_lowered_mwh: float = 400.0
    # A place that is not lowered divides by this, which proves nothing.
    least_lowered_mwh: float = 1e-9
    # So many recourses that served are tried first elsewhere.
    recourses_kept: int = 12
    # Each region keeps a relaxation of UC alive; the one unused for longest goes.
    regions_kept: int = 16
    # Targets are rounded up to this part of their room to the incumbent, so that near ones share a region.
    target_rounding: float = 0.01
    # Values of two linear programs that differ by less than this part are equal.
    value_rounding: float = 1e-8

    # --- gauc/region.py: where the burn can be
    # The target enters in k$, so that its row is of the size of the others.
    usd_per_row_unit: float = 1e3
    # Bounds are widened by this, far more than the solver's tolerance moves them,
    widening_mwh: float = 0.01
    # and by this part of themselves.
    widening: float = 1e-6

    # --- gauc/recourse.py: how the gas network follows the burn
    # Supplies with less room than this are at a limit of their block.
    inside_block_mwh: float = 1e-9
    # So many supplies are tried as the source of a place.
    sources: int = 4
    # So often other paths are tried where the first have no room.
    path_retries: int = 8
    # How far pressures follow the flows, in the order of trial: all the way they may leave their limits.
    pressed: tuple[float, ...] = (1.0, 0.5)
    # A path avoids an arc without room as if it were this many arcs of ordinary room.
    path_penalty: float = 30.0
    # Along the flow an arc has the length 1 + this / (this + flow): paths follow the main lines.
    along_mwh: float = 100.0
    # Against the flow an arc has the length 1 + this / flow.
    against_mwh: float = 1000.0
    # An arc that carries no more than this cannot be gone against.
    least_against_mwh: float = 1.0
    # Room that costs more than this a day is worth a question to UC's relaxation.
    worth_asking_usd: float = 0.5
    # Where there is no solution, so is this part of the room that a column takes.
    worth_asking: float = 0.02
    # Where a column lacks room, so is this part of what it lacks: of two extents one has to give back half.
    worth_asking_of_missing: float = 0.5
    # A limit missed by more than this lacks room.
    missed: float = 1e-6

    # --- check/shortages.py: why a demand cannot be served
    # Less gas than this is not missing.
    small_mwh: float = 1e-6
    # A limit counts as a bottleneck from this price on.
    bottleneck_price: float = 1e-6
    # So many bottlenecks are named in a sentence.
    bottlenecks_named: int = 6


TUNING = MarketTuning()

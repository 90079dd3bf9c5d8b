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
    # UC at higher levels is looked for no longer than this, in seconds of the processor: price patterns find
    # more where it is hard.
    loop_seconds: float = 10.0
    # Answers this close to the incumbent need no refuting; a little less than the gap, against rounding.
    target_share_of_gap: float = 0.98
    # Where the gap asked for is out of reach these multiples of it are tried: less is to be refuted then.
    slacks: tuple[float, ...] = (1.0, 2.0, 5.0)
    # A multiple is worth trying if it would leave less than this part of the gap there is.
    worth_proving: float = 0.8
    # Gaps up to this are left to price floors, which are quick where prices hardly matter.
    near_gap: float = 0.003
    # So often levels are raised to what prices ask for before the search gives a commitment up.
    price_rounds: int = 8

    # --- gauc/deliverable.py: commitments that the gas network can serve
    # A demand that leaves more than this unbalanced, whatever plants burn, has no answer.
    missed_mwh: float = 1e-3
    # Where all commitments miss something it is bounded this coarsely: that it is more than nothing counts.
    missed_gap: float = 0.9
    # Gap of a first look: most of these commitments lead to no answer.
    coarse_gap: float = 0.002
    # Gap of a commitment without dear gas, which proves nothing.
    affordable_gap: float = 1e-4

    # --- gauc/relaxation.py: UC's relaxation beside the gas areas
    # Gas that is missing or too much costs this times what the plants' gas costs on the dearest day,
    missed_gas: float = 5.0
    # and a unit that misses its level this times a day of the largest unit at the dearest bid: more than a
    # plan saves by it, and no more than needed. These prices become coefficients of cuts, and with a million
    # beside a one HiGHS's searches over patterns end with wrong bounds.
    missed_level: float = 1.0
    # There is no answer where at least this much is missed, or levels that cost as much: far beyond rounding.
    clearly_missed_mwh: float = 1.0
    # A relaxation that is not there after so many iterations of the simplex method says nothing.
    relaxation_iterations: int = 30_000
    # Bases of so many solves are kept to start from the nearest.
    bases_kept: int = 30

    # --- gauc/patterns.py and pattern_search.py: price patterns
    # Patterns that cost less than this part less than the cheapest found are not looked for.
    pattern_precision: float = 1e-4
    # While more is open the cheapest pattern is found no closer than this,
    coarse_pattern_gap: float = 0.01
    # nor closer than this part of what is open.
    pattern_gap_share: float = 0.2
    # From a box on so many patterns are priced, each by the burn of the one before.
    explored: int = 3
    # So many searches: one more where a second opinion refutes the first.
    pattern_searches: int = 2
    # Rows of the patterns have amounts of gas beside zeros and ones.
    pattern_feasibility: float = 1e-7

    # --- gauc/cases.py: patterns by cases
    # Boxes are split by so many linear programs, the first time,
    cases_solved: int = 1500
    # and at further demands: more take longer than a search over integers.
    further_cases_solved: int = 500
    # No more splits than this are remembered: some are for demands far away.
    cases_kept: int = 300
    # So many steps are tried to split a box at.
    cases_tried: int = 8
    # Cases are looked at up to this multiple of the target: a finite limit for the proof by weak duality.
    cases_reach: float = 10.0

    # Where a cheaper day will do, patterns this near to the published one are looked at, one after another.
    classes_near: tuple[int, ...] = (1, 2)
    # in so many turns of program and relaxation together.
    turns_near: int = 30

    # So many relaxations, by power stress and network, are kept alive.
    networks_kept: int = 8

    # --- gauc/plans.py: plans for a pattern
    # So often gas is set aside for what EM burns beyond the plan,
    hold_rounds: int = 4
    # so much of it, against the next rounding to whole units;
    margin_of_over: float = 1.1
    # what is too much is given back by so many halvings.
    halvings: int = 3
    # EM takes more than planned of a fleet from this on.
    taken_mw: float = 1.0
    # So often other units are looked for, with more blocks planned full or more gas set aside,
    replans: int = 8
    # as long as the answer becomes cheaper by this part.
    worth_replanning: float = 1e-5
    # The output of given units is looked for with so many iterations: HiGHS is slow where there is none.
    output_iterations: int = 5_000
    # and for no longer than is left of the time limit, or this long where less is left.
    output_grace_seconds: float = 5.0
    # A plan is looked for this long, in seconds of the processor.
    plan_seconds: float = 4.0
    # So many patterns are planned for, the cheapest first.
    patterns_planned: int = 4
    # Units of so many earlier plans are tried,
    units_tried: int = 3
    # at so many patterns, before other units are looked for,
    patterns_for_known_units: int = 2
    # as close as these parts of the gap asked for, one after another.
    plan_shares_of_gap: tuple[float, ...] = (0.5, 0.1)
    # So many plans of a power stress are kept for other demands,
    plans_kept: int = 60
    # and so many for other processes, those of the first demands.
    plans_remembered: int = 100

    # --- gauc/pressure.py: whether pressures bind
    # So many boxes of prices are looked at before the proof is given up.
    pressure_boxes: int = 400
    # So many steps of ways along which pressure may run out.
    pressure_ways: int = 20_000

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
    # Published prices that differ by less than this share of the largest are equal.
    price_rounding: float = 1e-4

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

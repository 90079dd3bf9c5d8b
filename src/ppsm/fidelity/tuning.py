"""Every number that steers the fidelity phase, with what it is for: change it here and nowhere else.

They decide where a search looks, for how long, and from which size on a difference is more than rounding.
What the certificate allows is part of its claim and stands beside it, in ``certificate.py``.
Quantities and prices are scaled: the follower's typical bound and its largest cost are 1.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tuning:
    """The numbers, step by step; the search was measured with these (``docs/fidelity.md``)."""

    # --- what is asked (problem.py) ---
    # A price target near zero has a band of this share of the largest target's, so that it is never empty.
    price_floor: float = 0.01
    # A band of width zero is widened in steps of this share of its target.
    zero_width_step: float = 0.001

    # --- the scaled problem (scaled.py) ---
    # So exact is an interior-point answer where the objective vanishes: squares of it drown in tolerances.
    unmoved: float = 1e-6
    # Points farther away than this, in units of the follower's typical quantity, are nothing but rounding.
    too_far: float = 1e12
    # An entry this near to a public bound sits at it: its product with the price needs no chord there.
    at_bound: float = 1e-6
    # An objective of moves below this share of the typical quantity is rounding.
    negligible_move: float = 1e-7

    # --- sides that are tight together (implied.py) ---
    # A row that can reach what it must have by no more than this, relatively, forces its columns; longer rows
    # are not looked at.
    forced: float = 1e-13
    longest_forcing_row: int = 50

    # --- the LPs that stay alive (follower_lps.py) ---
    # A multiplier below this counts as zero when the support of a dual at an LP's vertex is read off.
    zero_multiplier: float = 1e-8

    # --- the convex relaxation (bounds/convex.py) ---
    # An objective that is known less exactly than this (relatively) is solved for again, in its own units.
    imprecise: float = 1e-6
    # Below this objective the moves are small beside the data as well, and are measured by their own size.
    small_objective: float = 1e-6

    # --- ranges of multipliers (bounds/multiplier_ranges.py) ---
    # Rounds over all rows, and the widest range that is worth keeping. A multiplier that is at least the
    # third number in every dual is positive, whatever rounding does. Of so few sides LPs are asked at once.
    range_rounds: int = 10
    widest_range: float = 1e4
    surely_positive: float = 1e-6
    many_forced: int = 10

    # --- the relaxation by tangents (bounds/convex.py) ---
    # The objective is counted in no smaller unit than this: with costs of 1e9 HiGHS gives up.
    least_unit: float = 1e-3
    # Tangents to begin with, as shares of the distance of the relaxed optimum.
    first_tangents: tuple[float, ...] = (-1.0, -0.3, 0.3, 1.0)
    # Rounds of tangents in one solve, and in one of a leaf; what they may miss of the gap, or of what is
    # missing to the incumbent; and the share of the mean miss from which on a column gets a tangent.
    tangent_rounds: int = 4
    leaf_rounds: int = 30
    missed: float = 0.2
    missed_far: float = 0.1
    missed_by_one: float = 0.2

    # --- the primal-dual relaxation and its penalty (bounds/primal_dual.py) ---
    # A penalty whose chords would cost this many times what is allowed proves nothing: branching has to.
    hopeless: float = 10.0
    # While the gap is open and the bound still rises, the penalty grows by the first factor that is bearable.
    penalty_leaps: tuple[float, ...] = (6.0, 2.0)
    # A first penalty that is too large is divided by this.
    penalty_retreat: float = 4.0
    # Penalties on either side of the best one are near enough at this ratio.
    penalty_ratio: float = 1.5
    # A smaller penalty stays above one at which the gap is open by this factor.
    penalty_room: float = 1.1
    # On the way to the best bound: the step while that is known on one side only, the ratio that is near
    # enough, and the share of the range that a step keeps from either end.
    best_penalty_step: float = 1.5
    best_penalty_ratio: float = 1.15
    best_penalty_room: float = 0.1

    # --- the least penalty at a point (bounds/least_penalty.py) ---
    # Sides with a slack below this are active at a point that comes from an interior-point method.
    still_active: float = 2e-6
    # An entry may miss its move by this share of the largest one for nothing, and by more at a cost that is
    # weighed against the inverse of the penalty.
    missed_move: float = 1e-6
    missed_move_cost: float = 300.0
    # The inverse of the penalty, in units of the largest move, is of use from here on and at most this.
    least_inverse: float = 1e-9
    largest_inverse: float = 1e6

    # --- price boxes (bounds/price_boxes.py) ---
    # Rounds of tightening, as long as the ranges together shrink to this share.
    box_rounds: int = 8
    box_shrunk: float = 0.9
    # Ranges narrower than this, relative to the price, are left alone.
    narrow_box: float = 0.002
    # Lines are drawn at these multiples of the kappa that suits the incumbent.
    kappa_factors: tuple[float, ...] = (1.0, 0.5, 2.0)
    # Shares of the kappa that suits the steepest difference in slope; the smaller serves as prices narrow.
    kappa_shares: tuple[float, ...] = (0.5, 0.1)
    # Numbers of entries that may share the largest price: with each of them some line is exact.
    alike: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    # No kappa is smaller than this, nor the objective it is derived from.
    least_kappa: float = 1e-9
    least_objective: float = 1e-12
    # A range narrower than this has no chord: its end is taken instead.
    least_chord: float = 1e-12
    # An end of a range that some dual comes this near to cannot be moved.
    reached_end: float = 1e-9
    # LP answers are exact to about 1e-9; this much room, relative to a price of at least ``least_price``,
    # keeps a box valid.
    box_room: float = 1e-7
    least_price: float = 1e-3

    # --- prices by levels (bounds/price_levels.py) ---
    # Costs that differ by less are one level; of more costs than this only some are levels.
    levels_apart: float = 1e-9
    most_levels: int = 20

    # --- rays (bounds/price_rays.py) ---
    # A ray, whose multipliers add up to 1, needs those that are larger than this.
    needed_by_ray: float = 1e-7
    # It misses stationarity by no more than this share of the largest term: rounding, and no tolerance.
    exact_ray: float = 1e-12

    # --- any search, best bound first (search/best_first.py, search/supports.py) ---
    # Duality gap at which a point counts as faithful, relative to the value; the certificate allows 1e-6.
    faithful: float = 1e-8
    # From one dual's support to a neighbour's, at most so many times.
    local_steps: int = 4
    # A slack or a pull below this counts as none when a neighbour is looked for.
    no_slack: float = 1e-7

    # --- the tree at one support's optimum (search/support_tree.py) ---
    # A tangent whose chords lose more than this share of the objective leads nowhere.
    lost_share: float = 0.1
    # Up to so many rows and columns the search starts from the relaxed optimum; beyond, where that takes most
    # of the time, from the released vector.
    small_market: int = 5000

    # --- strong duality in one LP (bounds/duality_lp.py, search/duality_tree.py) ---
    # Moves are limited again by an incumbent that leaves them no more than this share of their room.
    narrowed_reach: float = 0.8
    # In a tree of more nodes than this so many sides are tried both ways before one is branched on; of two
    # children that gain unevenly the lesser counts with at least this share of the other.
    small_tree: int = 30
    tried_both_ways: int = 2
    least_gain: float = 1e-3

    # --- the tree over sides (search/side_tree.py) ---
    # So many of the sides that violate complementarity most are probed before one is branched on.
    candidates: int = 4
    # So many duals are remembered, for what can vanish together.
    seen_duals: int = 500
    # Duals become incumbents at every node until there is one, then ever more rarely, by this factor.
    lifts_thin_out: int = 2

    # --- the two trees (search/two_trees.py) ---
    # Share of the allowed gap that the chords of the primal-dual relaxation may take at the first try.
    chord_share: float = 0.5
    # Penalties tried in the root (and wherever prices are split), and in other nodes.
    root_penalties: int = 5
    node_penalties: int = 2
    # Rounds of (primal-dual QP, probing) in one node, and probes in one round.
    node_rounds: int = 6
    probes: int = 8
    # A node stops probing after this many sides with two living children.
    undecided: int = 4
    # Deciding a side has to close this share of what is missing in both children.
    gain: float = 0.02
    # Prices are narrowed only in searches that have not ended after this many nodes.
    patience: int = 10
    # Each pair of turns is longer than the last by this factor.
    turn_growth: int = 2
    # No range is split below this width, relative to a price of at least ``least_split_price``.
    narrowest_box: float = 1e-7
    least_split_price: float = 1e-6
    # A price is never split closer to an end than this share of its range, so that both parts shrink.
    split_margin: float = 0.1
    # A column counts as strictly between its bounds from this slack on.
    between: float = 1e-6
    # Narrowing goes on while all ranges together shrink at least to this share.
    narrowed_share: float = 0.8
    # A product of slack and multiplier below this is no violation.
    least_product: float = 1e-15
    # A penalty is chosen for no smaller gap than this: without any there would be none.
    least_gap: float = 1e-9
    # The objective counts with at least this, and prices with at least that, when a penalty is chosen.
    least_size: float = 1e-9
    least_penalised_price: float = 1e-6
    # Beyond this the objective drowns in the penalty; the move per price is what it is measured by.
    largest_penalty: float = 30.0
    # A multiplier of an interior-point answer belongs to its support from here on.
    support: float = 1e-6

    # --- searches that take turns (search/players.py) ---
    # So many steps has the first turn; then turns double.
    first_turn: float = 60.0
    # What a search gets of its first turn while another one's bound is better, and of later ones at least.
    lagging: float = 0.4
    least_share: float = 0.1

    # --- the lower side of the value band (search/lower_side.py) ---
    # Steps from a point to its own dual's half-space, and the share that each has to gain.
    walk_steps: int = 8
    walk_gain: float = 1e-9
    # A value or a worth that misses its limit by less, relatively, meets it.
    met: float = 1e-9
    # How far above a point a higher start is looked for.
    raise_by: float = 1e3
    # A published price is a cost of the follower if it is off by no more than this share.
    at_cost: float = 1e-3
    # Slopes along which a start is raised are measured by the largest, or by this if that is smaller.
    least_slope: float = 1e-12
    # The search within a box starts with so many times the penalty of the incumbent's half-space.
    first_penalty: float = 1.5
    # Where the search within a box of prices needs more nodes than this, narrower prices pay.
    few_nodes: int = 8
    # That search has a chance where chords lose no more than this share of the objective.
    small_loss: float = 1e-3
    # Boxes are not split below this width: what is left open there is up to complementarity.
    least_width: float = 1e-6
    # Points that are better by less than this share of the gap are of no interest.
    target_share: float = 0.5
    # A search that starts late has at least so many seconds.
    least_seconds: float = 0.1
    # In l1: vectors at which entries sit at their public bounds, and from which ways lead on.
    most_corners: int = 200

    # --- the tree of price levels (search/level_tree.py) ---
    # Beyond the costs there are so many levels, each so many times the last one.
    level_growth: float = 2.0
    levels_beyond: int = 6
    # Levels of prices that are shares of the largest one.
    share_levels: tuple[float, ...] = (0.0, 1.0)
    # A node that misses the band by this much, relatively, holds no better point.
    refuted: float = 1e-7
    # A new line has to say less than the others by this share of what they leave.
    worthwhile_cut: float = 0.1
    # Lines are drawn beside so many of the last planes, at weights of the distance that are up to this
    # factor from the one that suits; the best is looked for on so many grids of so many weights.
    planes_beside: int = 6
    weights_apart: float = 8.0
    weight_rounds: int = 4
    weights_tried: int = 12
    # Half-spaces are weighed by these multiples of what suits the incumbent, or of a price of 1.
    half_space_factors: tuple[float, ...] = (0.125, 0.25, 0.5, 0.7, 0.85, 1.0, 1.2, 1.4, 2.0, 4.0, 8.0)
    # A price is divided at a level from this share on that is on the wrong side of it, and only where chords
    # lose more than this.
    mixed: float = 1e-6
    lost_worth: float = 1e-9
    # Prices alone are divided in a tree's first nodes, unless something near cannot be served; from then on
    # rays are taken out of duals.
    halves_first: int = 10
    # Followers with at most so many multipliers have ranges of prices within milliseconds; with more prices
    # than that the LP of levels is too large.
    few_sides: int = 500
    many_prices: int = 1000

    # --- widening (widening.py) ---
    # The tree over factors has this share of the time, leaves are given up at this gap, and the factor that
    # is used is larger than the least one by this share, so that there is some room to be near.
    factor_share: float = 0.4
    factor_gap: float = 1e-5
    factor_room: float = 5e-5
    # How exactly the least factor is found; and where attempts end without a verdict, so that it cannot be
    # proven, how closely.
    widening: float = 1e-3
    unproven_widening: float = 0.2
    widening_attempts: int = 120
    # The first attempt is this share above the floor.
    above_floor: float = 1e-4
    # The first step, as a share of the floor, the least one, and how much longer the next
    # one is, after a factor that is refuted and after one without a verdict.
    first_step: float = 0.01
    least_step: float = 1e-2
    stride: float = 3.0
    leap: float = 10.0
    # So many leaps beyond a vector that nothing is proven about: wider bands may give a proof, or a nearer
    # vector.
    leaps_beyond: int = 2

    # --- what LP vertices confirm (result.py) ---
    # Value and dual at LP vertices agree with the bands and with each other to this, relatively.
    agreed: float = 1e-7

    # --- the whole (restore.py) ---
    # The search may use this share of the gap; the rest is left to the polish.
    share_of_gap: float = 0.9
    # Moves below this share of the typical quantity, and gaps below it, are rounding of the solvers.
    unchanged: float = 1e-8
    # A polished point still counts as proven with a gap of so many times the one that was asked for.
    gap_room: float = 1.001
    # A gap of zero counts as this where an objective is called too small to have one.
    least_limit_of_gap: float = 1e-12
    # A search that is not over after the first share of its time starts again, unless what its bound lacks is
    # now at most a share of what it lacked at a part of that time; after the last one of the two attempts is
    # gone on with.
    restart: float = 0.15
    rises: float = 0.7
    stalls: float = 0.4
    settled: float = 0.45
    # With this gap (of squares) the first faithful point ends a search, unless it is far away.
    feasibility_gap: float = 1.0
    # Bands that can be widened have this share of the time to show a faithful point, each wider one the
    # next share but at least so many seconds, and the search in the bands found at least the last share.
    barren_share: float = 0.3
    attempt_share: float = 0.05
    attempt_seconds: float = 0.2
    last_share: float = 0.2

    # --- the textbook forms (textbook.py) ---
    # Slacks and multipliers are of the order of 1; a looser tolerance lets complementarity slip through.
    textbook_feasibility: float = 1e-9


TUNING = Tuning()

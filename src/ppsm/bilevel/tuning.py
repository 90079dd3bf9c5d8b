"""Every number that steers the search for a game's optimum; none of them decides what is true."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tuning:
    """Numbers of the engine, by the step that uses them (see :mod:`ppsm.bilevel`)."""

    # scaling
    small_cost: float = 1.0
    """Costs of either level whose largest is below this get another unit."""
    large_cost: float = 1e6
    """So do costs whose largest is above this."""
    least_in_units: float = 1e-8
    """No unit may make the smallest coefficient smaller than this: solvers drop entries of 1e-9."""
    small_row: float = 1e-4
    """A follower row whose largest coefficient is below this gets another unit."""
    large_row: float = 1e4
    """So does a row whose largest coefficient is above this."""
    least_unit_of_seen_prices: float = 2.0**-14
    """Prices in the leader's rows take the unit as a factor, which must leave coefficients a usable size."""
    largest_unit_of_seen_prices: float = 2.0**30
    """The same, from above."""

    # incumbent
    first_look_seconds: float = 10.0
    """A first incumbent is worth a short search, not a long one."""
    descent_steps: int = 30
    """So often at most a first point is improved piece by piece."""
    clearly: float = 1e-7
    """What counts as a multiplier, a slack or a fraction of an integer rather than as rounding."""

    # portfolio
    glance: float = 0.06
    """Seconds (of the processor, as all here) of a turn in which our own tree has a glance before others,"""
    few_pairs: int = 30
    """(with integers only where pairs are no more than this)"""
    peek: int = 2
    """of so many nodes,"""
    nodes_of_glance: int = 40
    """or of so many if one of the first leaves at most"""
    next_to_nothing: int = 2
    """so many pairs and integers to decide,"""
    little: float = 0.09
    """or this share of them;"""
    first_turn: float = 0.1
    """of everybody's first turn, short since any point that others then have to beat can shorten their
    searches many times; each later one is twice as long."""
    least_work: float = 0.01
    """Less than this was too little to tell how busy the machine is,"""
    most_stretch: float = 20.0
    """and turns are made longer by so much at most."""
    share_of_tree: float = 0.25
    """The share of our own tree, which is rarely the fastest,"""
    share_of_small_tree: float = 0.5
    """and its share where it looked small at a glance,"""
    share_among_integers: float = 0.125
    """and its share where the leader has integers,"""
    turns_left: float = 4.0
    """unless it is ahead and gains so much that so many turns like its last one would close the gap:"""
    promising: float = 0.5
    """then anybody's share is at least this."""
    first_steps: float = 4e-4
    """Seconds, for each integer, of steps from decision to decision before anybody else has a turn"""
    pairs_worth_steps: int = 60
    """in games of more pairs than this;"""
    share_of_steps: float = 0.15
    """their share later, while they help."""
    numbers_with_steps: int = 4
    """A leader of more numbers that are no integers has none;"""
    halvings: int = 16
    """a step of such a number is its range, halved once to so many times."""
    lagging: float = 0.25
    """Whose bound is not the best gets this part of its share."""
    turn_of_bounds: float = 3.2
    """From turns of that length on bounds are proven and HiGHS is asked,"""
    share_with_bounds: float = 0.125
    """with this share of a turn: on the games it was tuned on it was the first that was through nowhere but
    on networks, whose bounds are at hand."""
    many_pairs: int = 600
    """With more pairs than this a leader's few decisions are listed before anybody else has a turn,"""
    late_turn: float = 10.0
    """that is, before turns of that length."""
    turn_without_bound: float = 1.0
    """That long is our own tree asked about a game that no row bounds, before other methods are."""

    scip_feasibility: float = 1e-7
    """Tighter tolerances of SCIP are no use among turns: LPs fail, and its points are polished anyway."""

    # cuts
    duality_cuts: int = 3
    """So many cuts from strong duality SCIP gets,"""
    integers_worth_cuts: int = 20
    """where the leader has so many integers at least: smaller searches are over as soon as cuts are made;"""
    far_from_point: float = 0.5
    """if the bound is no farther below the best point than this share of it: else the LPs of nodes take
    longer, and trees are as large as without."""

    # branching
    first_response: int = 27
    """The follower's answer is tried at this node, or when a tree is taken up again: smaller trees are
    through before it is worth its time,"""
    responses_thin_out: int = 3
    """then after this many times as many nodes, and so on."""
    last_digits: float = 1e-13
    """What adding up leaves undecided, as a share of the terms."""
    rounding: float = 1e-9
    """A difference below this is none: a reduced cost without a bound in a proof, the gain of a first point
    as a share of it."""

    # enumeration
    assignments: int = 2_048
    """Up to so many assignments of its integers the automatic choice tries all decisions of the leader."""
    most_assignments: int = 1 << 16
    """More than this many are never listed,"""
    wide_list: int = 4
    """nor so many times as many before those are dropped that the leader's rows rule out."""
    steps_aside: tuple[float, ...] = (1e-3, 1e-6)
    """How far, as a share of its data, a follower is moved to bound all of its answers or prices."""

    earlier_answers: int = 16
    """So many answers to the last assignments are tried before the follower is solved again."""

    # bounds
    m_margin: float = 0.01
    """A proven bound is widened by this share before it becomes an M: then a multiplier that touches its M
    exposes a wrong bound instead of an honest extreme price."""
    least_margin: float = 1e-3
    """The absolute part of that margin. It stands far above the LP's tolerance, so that a bound of zero "up
    to rounding" neither cuts off a zero nor enters as a coefficient of 1e-8, which would turn the solver's
    tolerance into an error of the decisions."""
    range_margin: float = 1e-6
    """What an LP's range of a decision is widened by."""
    cutoff_margin: float = 1e-3
    """Bounds may rest on an incumbent's cost plus this share of it."""
    vertex_bases: int = 50_000
    """So many bases of the dual are looked at, at most, for the largest multiplier of a vertex."""
    columns_of_vertices: int = 60
    """A follower with more columns than this has too many vertices to look at any."""
    many_sides: int = 1_500
    """With more sides than this bounds are proven from what is known at once, without an LP for each."""
    clear_price: float = 1e-3
    """A price above this, which a column's cost asks for, makes its row tight whatever a tolerance is."""
    ill_conditioned: float = 1e10
    """A basis whose condition is above this is too close to singular to trust a verdict."""
    singular: float = 1e15
    """A basis whose condition is above this has no vertex."""
    small_rule: int = 4_000
    """Beyond this many entries an answer may react to a leader variable only near the rows that it enters."""
    largest_rule: int = 200_000
    """Beyond this many entries no such answer is sought."""
    slater_safety: float = 1e-8
    """What a slack of Slater's answer is shortened by, for the LP's tolerance."""

    limit_margin: float = 1e-6
    """What the limit of Slater's row is raised by, as a share of its terms, for the same reason."""

    # methods
    zero_bound: float = 1e-9
    """A multiplier or slack whose proven bound is below this is always zero."""
    largest_sound_m: float = 1e7
    """Beyond this a big-M row is numerically meaningless beside integrality tolerances of 1e-9."""
    improvements: int = 20
    """So often at most a better point is sought over an unbounded relaxation."""
    better: float = 1e-7
    """How much better a point must be to count there; well above the solver's tolerance."""

    # second opinion
    opinion_share: float = 1.0
    """Each of the two ways to a second opinion may take so many times as long as the search it judges,"""
    opinion_on_integers: float = 0.5
    """or so many times where the leader has integers,"""
    opinion_on_itself: float = 3.0
    """or so many times where SCIP made the claim too: on another path it may take twice as long again,"""
    nodes_of_opinion: float = 1.0
    """Our tree is asked before SCIP about a claim of SCIP if as many nodes as SCIP had, at the tree's pace,
    would take no more than so many times as long as SCIP did,"""
    quick_opinion: float = 0.005
    """or than so many seconds,"""
    opinion_seconds: float = 0.25
    """and that long in any case,"""
    opinion_among_turns: float = 0.15
    """or that long after searches that take turns, where pairs are not few."""
    claims: int = 3
    """So often is a claim that was refuted made again, on another path, before the method is given up."""

    # infeasibility
    explanation_seconds: float = 5.0
    """For each of the few games that are solved to explain why one is infeasible."""
    explanation_solves: int = 25
    """An explanation may cost a few solves of the game, not many."""
    violated: float = 1e-6
    """What counts as a violated constraint in an explanation."""


TUNING = Tuning()

"""The fidelity phase, step 3b: from a noisy vector to the nearest one that is faithful to the market.

Problem (5) of the paper: of all vectors for which the follower's value is in its band and **some** optimal
dual has its prices in theirs, the nearest to the one that was released. How it is solved, and where:

1.  *Asked and scaled.* Bands, public bounds, prior and limits are checked (``problem.py``) and become one
    minimisation in scaled arrays (``scaled.py``), without bounds that rows say already (there too).
    ``follower_lps.py`` keeps the follower's LPs alive.
2.  *Relaxed.* The QP without complementarity is a lower bound (``bounds/convex.py``). Often its optimum
    is faithful already: one LP for the value and one for the best dual in the band tell
    (``search/best_first.py``, which is also the frame of every search).
3.  *Lifted by a support.* Where the sides with a positive multiplier of some dual are held tight that dual is
    optimal: one QP gives an incumbent, its multipliers a bound (``search/supports.py``).
    Where that point is optimal LPs prove it, whatever the size of the market (``bounds/least_penalty.py``);
    ``search/support_tree.py`` does this first. What deciding one side decides with it is in ``implied.py``.
4.  *Primal and dual together.* One QP over answers, parameters and duals penalises the duality gap; its only
    product is replaced by chords over the price band (``bounds/primal_dual.py``).
5.  *Branched.* What is left is settled by complementarity pairs, a side tight or its multiplier zero, and by
    splitting prices: ``search/two_trees.py``. The plain tree over sides (``search/side_tree.py``) works on
    warm LPs, with tangents for squares (``DistanceLp`` in ``bounds/convex.py``), for any distance and band.
    Where prices are bounded and the distance is no sum of squares, as in l1, these LPs hold duals as well,
    with strong duality as a row (``bounds/duality_lp.py``, ``search/duality_tree.py``). Which multipliers are
    positive in every dual is mostly seen without an LP (``bounds/multiplier_ranges.py``).
    Searches take turns and share what they find (``search/players.py``).
6.  *The lower side of the value band* without a price band (PPSM_p) is reverse-convex. Walking from
    dual to dual finds an answer (``search/lower_side.py``). LPs over duals whose prices are split at the
    market's costs (``bounds/price_levels.py``) prove it or lead to a better one (``search/level_tree.py``),
    also where something near cannot be served, since no dual needs to hold a ray (``bounds/price_rays.py``);
    in small markets boxes of the prices that a better point could have shrink until none is left
    (``bounds/price_boxes.py``, which also says how large prices can be). In l1 the answer has moved a single
    entry, or some to their public bounds and one more: a few LPs along the axes (``search/corners.py``).
7.  *Widened.* Bands that nothing satisfies grow by the least common factor, which is itself minimised by
    branching (``widening.py``).
8.  *Proven.* LP vertices have to confirm the point (``result.py``); a certificate that shares nothing with
    the search checks it again (``certificate.py``).

``restore.py`` runs these steps and returns a ``FidelityResult`` (``result.py``). Every number that steers
them is in ``tuning.py``. ``textbook.py`` has the forms that the search replaces, in SCIP, for comparison.
"""

from ppsm.fidelity.certificate import Certificate
from ppsm.fidelity.problem import Bands, HalfSpaces, Prior, PublicVector, SearchLimits
from ppsm.fidelity.restore import Restorer, restore
from ppsm.fidelity.result import FidelityResult

__all__ = [
    "Bands",
    "Certificate",
    "FidelityResult",
    "HalfSpaces",
    "Prior",
    "PublicVector",
    "Restorer",
    "SearchLimits",
    "restore",
]

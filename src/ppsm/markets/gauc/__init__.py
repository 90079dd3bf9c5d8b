"""Gas-aware unit commitment (GAUC): the search for the best valid commitment and for a bound on it.

The leader commits (UC), EM dispatches, GM prices the gas that is burned, and a running plant's last selected
bid must cover its fuel. An answer is valid if its offers are at the **levels** that its gas prices ask for
(:mod:`ppsm.markets.model.validity`); UC at given levels is a MILP that knows nothing of the gas demand. The
search moves an incumbent down and a bound up until they meet:

1. *Refuse* (``deliverable``): a demand that the gas network cannot serve whatever plants burn.
2. *Remember* (``solver``, ``memory``): commitments and plans of this power stress, at the new demand.
3. *Search price patterns* (``by_patterns``), in large cases: the gas network as ``areas`` of one price, whose
   possible price ``patterns`` are integer points; UC's ``relaxation`` beside the areas says what a pattern
   costs, and its dual is a cut that holds for every demand; ``pattern_search`` finds the cheapest pattern
   and proves it, below a target by ``cases`` that are remembered, else by a search over integers with a
   second opinion; ``plans`` are commitments held to it by the selection of bids. Areas know no pressures: the
   bound counts where ``pressure`` proves that they bind nowhere, and is told apart where not.
   *Chase prices* (``solver`` with :mod:`ppsm.markets.model.followers`), in small cases and where no pattern
   led to an answer: UC at level 0, whose bound holds for every answer since it ignores prices, -> EM -> GM ->
   the levels that prices ask for -> UC at these, until one is valid. Where GM cannot serve the burn, UC
   beside the region of GM commits what it can (``deliverable``); the bound of that holds too.
   *Prove that there is no answer* (``have_no_answer`` in ``by_patterns``), where none was found: the same
   search with costs of nothing but missed gas and missed levels. No pattern that misses nothing, no answer.
4. *Bound by price floors* (``floors``), where little is open: all answers that would beat the incumbent
   by more than the gap have a burn in a small ``region``, found by LPs over UC's relaxation with the cost
   target as a row. On it an affine ``recourse`` of the gas network bounds GM's value from above, and one
   price vector from below; prices are subgradients, so that the two give a floor of every optimal price. The
   region is cut where the merit order of supply has its steps, because within a slice one price rules; what
   all slices prove, all answers have. Levels that the floors ask for shrink the region, and so on; UC at them
   bounds these answers. Where the gap asked for is out of reach, multiples of it are tried.
5. *Enumerate* (``enumeration``), in small cases: commitments in order of cost, each with its best valid
   selection of bids (boxes of offers, best first), until the next cannot be better.

``unaware`` tells what a commitment by bids alone comes to.

Limits and Ctrl-C end the search anywhere with incumbent, bound and gap as they are.
"""

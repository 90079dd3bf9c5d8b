"""The markets of a case as readable linopy models whose matrices are taken once.

===============  =================================================================================
``commitment``   UC, the leader's unit commitment: appendix (3a), (3b)
``validity``     bid validity, appendix (3c): what gas prices ask of the leader, as **levels**
``electricity``  EM, the electricity market: appendix (4)
``gas``          GM, the gas market: appendix (5a) to (5c)
``power``        fleets, bids and the DC network that UC and EM share
``clearing``     GM alive at a demand and a burn, with prices below caps where there are such
``followers``    all of them together: what EM and GM answer to a commitment, and which bids are invalid
===============  =================================================================================

The sensitive demand reaches the leader only through gas prices, and prices only through levels; UC and EM
therefore depend on power stress and levels alone.
"""

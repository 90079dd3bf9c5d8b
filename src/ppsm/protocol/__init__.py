"""Two parties, two machines: the five steps as an exchange of signed messages.

::

    leader                                     follower
      ask         market, day, data set   ->     step 1: charge the ledger, draw noise
                                          <-   noisy        D~ with the ledger's receipt
      step 2a, 2b
      decision    what the market feels   ->     step 3a, 3b
                                          <-   restored     D^ with prediction and proof
      checks the proof, clears the game
      commitment  what the market feels   ->     its market with D^ beside that commitment
                                          <-   outcome      as far as the policy allows

Either side may end a round (``failed``, ``abandon`` and ``closed``). Each message is signed and carries the
hash of the one before it, so that all of a round is one chain, which both sides keep.

::

    messages         what can be said: strict types, for released and public data only
    signatures       who said it: Ed25519 over canonical JSON
    identities       who is who: keys, certificates, tokens, and a helper that makes them for tests
    transcript       the chain of a round, and how it is checked with public keys alone
    round_store      rounds on the disk: what was said survives a crash, and is never said twice; their locks
    policy           what the follower allows: alpha, epsilon, who may ask, how often
    shared_market    a market with what tells it from another, and the mechanism of a round
    desk             the follower's: one message in, one reply out
    leader_round     the leader's whole round
    transport        between the two, in memory or over HTTP
    service          the desk over HTTP: its paths; who is let in, how often, with how much
    dossiers         what each side writes down, seals on it, and how the leader checks the follower's proof
    round_pages      what each side can look at
    tuning           how long to wait, and how much to take
"""

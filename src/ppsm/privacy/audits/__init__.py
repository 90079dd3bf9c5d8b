"""Evidence against a mechanism's claim.

::

    mechanism_audit  a mechanism run on neighbouring inputs, and what an audit reports
    events           events that tell outputs apart, and a sound bound on the loss that they prove
    noise_checks     whether noise is what it claims: its size, its tails, fresh and independent
"""

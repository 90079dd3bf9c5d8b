"""Evidence against a mechanism's claim.

::

    mechanism_audit  a mechanism run on neighbouring inputs, and what an audit reports
    events           events that tell outputs apart, and a sound bound on the loss that they prove
    laplace_audit    the same of Laplace noise, and whether it is what it claims: fresh, with its tails
"""

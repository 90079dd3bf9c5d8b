"""A release every day: streams with w-event privacy, any ``w`` consecutive days within one budget.

::

    promise          alpha, epsilon and the window
    policies         the menu: daily, regular, distribution, absorption
    reconstruction   what public knowledge and earlier releases say of a day (a filter)
    engine           one day after the other: forecast, question, sample, estimate
"""

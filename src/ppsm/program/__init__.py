"""Linear and bilevel programs as plain arrays: the language that all layers speak.

Sign table of the duals, the same everywhere in ppsm (and in linopy and HiGHS): the **price** of a row is
the rate at which the optimal value rises when the row's right-hand side rises.

=====================  =====================  =======================================
in a minimisation      price / reduced cost   because
=====================  =====================  =======================================
row ``a x >= b``       ``>= 0``               a larger b can only cost more
row ``a x <= b``       ``<= 0``               a larger b can only save
row ``a x == b``       free
column at its lower    reduced cost ``>= 0``  raising it further would cost
column at its upper    reduced cost ``<= 0``  raising it further would save
=====================  =====================  =======================================

With these signs stationarity reads ``c = A' prices + reduced_costs``.
"""

from ppsm.program.linear import LinearProgram
from ppsm.program.two_level import BilevelProgram, Products

__all__ = ["BilevelProgram", "LinearProgram", "Products"]

NAME          BLANKS
ROWS
 N  COST
 G  ROW ONE
 E  ROW TWO
COLUMNS
    THE X     COST               1.0   ROW ONE            1.0
    THE X     ROW TWO            1.0
    THE Y     COST               2.0   ROW ONE            1.0
    THE Y     ROW TWO           -1.0
RHS
    RHS       ROW ONE            4.0   ROW TWO            2.0
    RHS       COST              -5.0
RANGES
    RNG       ROW ONE            6.0   ROW TWO           -1.0
BOUNDS
 UP BND       THE X              9.0
 MI BND       THE Y
ENDATA

* Moore and Bard (1990), the example of the figure, with a continuous follower.
NAME          MOOREBARD
ROWS
 N  COST
 L  R1
 L  R2
 L  R3
 G  R4
COLUMNS
    X         COST                -1   R1                 -25
    X         R2                   1   R3                   2
    X         R4                   2
    Y         COST               -10   R1                  20
    Y         R2                   2   R3                  -1
    Y         R4                  10
RHS
    RHS       R1                  30   R2                  10
    RHS       R3                  15   R4                  15
ENDATA

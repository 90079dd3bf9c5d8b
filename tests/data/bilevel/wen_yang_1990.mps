* Wen and Yang (1990): binary leader, continuous follower; both maximise.
NAME          WENYANG
OBJSENSE MAX
ROWS
 N  Z
 L  C1
 L  C2
 L  C3
COLUMNS
    MARKER                 'MARKER'                 'INTORG'
    X1        Z                   20   C1                   5
    X1        C2                  20   C3                   5
    X2        Z                   60   C1                  10
    X2        C2                   5   C3                   5
    X3        Z                   30   C1                  30
    X3        C2                  10   C3                  10
    X4        Z                   50   C1                   5
    X4        C2                  10   C3                   5
    MARKER                 'MARKER'                 'INTEND'
    Y1        Z                   15   C1                   8
    Y1        C2                   4   C3                   2
    Y2        Z                   10   C1                   2
    Y2        C2                   3
    Y3        Z                    7   C1                   3
    Y3        C3                   1
RHS
    RHS       C1                 230   C2                 240
    RHS       C3                  90
BOUNDS
 BV BND       X1
 BV BND       X2
 BV BND       X3
ENDATA

* Mersha and Dempe (2006), example 2: leader rows that contain the response, in free form.
NAME mersha_dempe_2006
OBJSENSE
    MAX
ROWS
 N leader_gain
 G upper_slope
 L upper_sum
 L lower_left
 L lower_right
COLUMNS
    x leader_gain 1 upper_slope 2
    x upper_sum 1 lower_left -3
    x lower_right 3
    response leader_gain 2 upper_slope -3
    response upper_sum 1 lower_left 1
    response lower_right 1
RHS
    rhs upper_slope -12 upper_sum 14
    rhs lower_left -3 lower_right 30
BOUNDS
 FR bnd response
 FR bnd x
ENDATA

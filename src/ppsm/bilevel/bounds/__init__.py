"""Valid bounds on multipliers and slacks: what big-M and strong duality may rest on.

``finder`` proves them side by side, by LPs over the relaxation and by the vertices of the follower's dual;
``slater`` has the row that bounds prices where the follower has slack whatever the leader does, also where
the whole relaxation is unbounded; ``duality_cuts`` are rows that raise its bound.
"""

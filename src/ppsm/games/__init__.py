"""Games as people write them: a follower and a leader in linopy (or arrays), and the game of both.

``follower`` is the LP with its parameter, prices and re-solves; ``leader`` turns a linopy leader into arrays;
``stackelberg`` is the game itself. ``linopy_reader`` and ``layout`` carry labels from linopy to arrays.
"""

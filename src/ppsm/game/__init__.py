"""The game: follower, leader, solution and its independent verification."""

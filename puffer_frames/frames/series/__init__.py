"""What is read of series of states, and the steps of their times."""

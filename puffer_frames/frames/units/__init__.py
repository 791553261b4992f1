"""What is read of the rows of units, and how in the engine that has the rows."""

"""What is asked: the arguments of the verbs, checked, and the rows that they are asked of."""

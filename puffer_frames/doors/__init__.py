"""Ways in: the accessor on frames, the transformer of scikit-learn, the command line. Each hands on to the verbs."""

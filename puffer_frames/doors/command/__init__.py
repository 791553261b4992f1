"""The command `puffer`: the verbs on files. It reads options, calls what Python calls, and writes whole files."""

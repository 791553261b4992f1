"""Several releases: what they guarantee together, the file that lists them, the keys that refine one."""

"""How a column becomes private: a folder for each mechanism, and the list of them."""

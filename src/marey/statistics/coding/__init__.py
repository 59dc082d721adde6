"""Numbers in few bytes: wavelets that make most of them small, and a range coder that learns the rest."""

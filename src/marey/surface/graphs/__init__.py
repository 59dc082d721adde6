"""Which transitions are worth having: motion graph and essential graph (Boukhayma 2017, section 3.3)."""

"""How far apart two poses of a surface are (Boukhayma 2017, section 2.3)."""

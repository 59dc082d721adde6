"""The best way from one captured frame to another (Boukhayma 2017, section 2.5)."""

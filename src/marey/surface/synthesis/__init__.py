"""New animations from a graph and what the user asks for (Boukhayma 2017, sections 3.4 and 3.5)."""

"""Motion graphs over frames of clips, on pose distances and root motion alone (Boukhayma 2017)."""

"""Control of physical characters by quadratic programmes (Tournier 2011, chapters 13 to 15)."""

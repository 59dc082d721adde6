"""What rooms draw in the scene: figures, bones, lines, images."""

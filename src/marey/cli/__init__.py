"""The command line: arguments, progress and printing, no logic."""

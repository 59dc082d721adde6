"""`marey body …`: what can be done with skeleton motion, one file a verb."""

"""`marey surface …`: what can be done with captured mesh sequences, one file a verb."""

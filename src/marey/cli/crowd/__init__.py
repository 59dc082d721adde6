"""`marey crowd …`: what can be done with the motion of many people, one file a verb."""

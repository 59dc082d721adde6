"""The motion of many people."""

"""The way in: who is heard, which thread and person it is about, and what lies with the platform."""

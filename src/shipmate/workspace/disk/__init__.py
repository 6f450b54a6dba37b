"""The disk: the few system calls through which all that must last is written, and its twin in memory."""

"""What a workspace does by the clock: tasks, when they are due, and which of their times were claimed."""

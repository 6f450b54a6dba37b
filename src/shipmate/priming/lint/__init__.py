"""Find what is wrong with a script, also what reading passes over in silence, and mend what is mechanical."""

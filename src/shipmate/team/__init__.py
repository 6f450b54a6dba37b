"""Know the people of a team: who they are, how they prove it, and what each may see."""

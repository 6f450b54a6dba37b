-- Why rules chose the model of a step. Rebuilt from .ship/usage/, where older lines say nothing of it.
ALTER TABLE usage ADD COLUMN route TEXT NOT NULL DEFAULT '';

-- What colleagues used is booked to whoever asked them. Rebuilt from .ship/usage/, where older lines say nothing of it.
ALTER TABLE usage ADD COLUMN asker TEXT NOT NULL DEFAULT '';
ALTER TABLE usage ADD COLUMN payer TEXT NOT NULL DEFAULT '';
CREATE INDEX usage_payer ON usage (payer);

from __future__ import annotations

from tests.support.search import load_profile

# Before any test module is imported: decorators take over what holds then.
load_profile()

"""Spare nbgrader the program that it starts for each new gradebook, to ask what the tables are.

The version is alembic's newest one, the same for all gradebooks; the program takes two seconds.
"""

import nbgrader.api
from alembic.config import Config
from alembic.script import ScriptDirectory
from nbgrader.dbutil import _temp_alembic_ini
from sqlalchemy.orm import configure_mappers

with _temp_alembic_ini("sqlite://") as ini:
    HEAD = ScriptDirectory.from_config(Config(ini)).get_current_head()
nbgrader.api.get_alembic_version = lambda: HEAD
configure_mappers()

"""The suites of this package, one record per file; importing them makes them known.

A record is light: what its tasks run on is imported when one of them is built.
"""

# In the order in which they are listed.
from rle.tasks.suites import fourroom as fourroom  # isort: skip
from rle.tasks.suites import atari as atari  # isort: skip
from rle.tasks.suites import control as control  # isort: skip
from rle.tasks.suites import sparse as sparse  # isort: skip
from rle.tasks.suites import envpool as envpool  # isort: skip
from rle.tasks.suites import gym as gym  # isort: skip
from rle.tasks.suites import handed_over as handed_over  # isort: skip

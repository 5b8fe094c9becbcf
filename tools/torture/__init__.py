"""Torture: what is killed at random moments, damaged or fuzzed must come back, or say a sentence.

    python -m tools.torture [kills] [damage] [fuzz] --kills 200 --damages 200 --lines 10000

`docs/reliability.md` says what is promised and what came out.
"""

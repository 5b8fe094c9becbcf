"""From runs to numbers: estimates with their intervals, curves, and what agents do when watched."""

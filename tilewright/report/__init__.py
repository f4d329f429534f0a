"""Reports of runs, for people: takes a `sim.record.RunRecord`, gives a table, a Perfetto trace, a page of HTML."""

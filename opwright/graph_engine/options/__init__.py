"""Options of GE: which there are, which hold for later graphs, and the settings that follow."""

"""The engines of labs in students' browsers: each is reached over its browser's socket (`queueviz.lite.1`).

The server has no state of such a sandbox but its list of outside events (`courses.lite_runs`) and its newest tile.
"""

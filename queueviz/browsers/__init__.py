"""The engines of labs in students' browsers: each is reached over the socket that its browser holds (`queueviz.lite.1`).

The server has no state of such a sandbox but its list of outside events (`courses.lite_runs`) and its newest tile.
"""

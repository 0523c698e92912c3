"""Courses: a teacher's course, the enrolments of its students, and their work in its labs.

No person's name is required: a student has a pseudonym.  The sandboxes' journals record all actions.
"""

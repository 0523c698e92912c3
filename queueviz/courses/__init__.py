"""A class: a teacher's course, its students' places in it, and their work in its labs.

No name of a person is needed anywhere: a student has a pseudonym.  The sandboxes' journals record all actions.
"""

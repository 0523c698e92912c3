"""A class: a teacher's course, its students' places in it, and what they do in its labs.

No name of a person is needed anywhere: a student has a pseudonym.  What is done stands in the sandboxes' journals.
"""

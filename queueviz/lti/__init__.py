"""LTI 1.3: launches from a course of an LMS into a course here, and scores sent back (docs/lti.md).

`pylti1p3next` verifies the sender of a message; this package decides about its rights.  A learner is enrolled.  An
instructor can only link a course of an account, after signing in with its own password.
"""

"""LTI 1.3: a course of an LMS leads into a course here, and scores lead back (docs/lti.md).

`pylti1p3next` verifies the sender of a message; its rights are decided here.  A learner gets a place.  An instructor
only gets the offer to link a course of an account that signs in with its own password.
"""

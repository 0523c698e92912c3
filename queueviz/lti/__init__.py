"""LTI 1.3: a course of an LMS leads into a course here, and scores lead back (docs/lti.md).

Who says what is checked by `pylti1p3next`; what it is worth here is decided here: a learner gets a place, an
instructor gets nothing but the offer to link a course of an account that signs in with its own password.
"""

"""Runs with planted troubles whose cause is known: are they found, how soon, and is nothing else found?"""

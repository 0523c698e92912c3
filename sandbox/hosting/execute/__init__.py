"""Typed actions, carried out."""

"""Bit-exact integer models of Weir's policy units, written from docs/modules, and a floating-point oracle."""

"""pytest-episem: does an LLM agent act only on evidence it has, and still get the work done?"""

__version__ = "0.1.0"

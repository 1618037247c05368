"""The plugin: importing it before the model runs is all that a program does."""

import step4_meta  # noqa: F401
import step6_converter  # noqa: F401

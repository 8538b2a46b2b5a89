"""The version of the distribution, said once: the build reads it here, so that nothing has to look for metadata at start."""

VERSION = "0.1.0"

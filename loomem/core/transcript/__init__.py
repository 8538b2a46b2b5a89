"""Conversations, taken apart: who said what, when, and where it stands in the text. Pure.

    values   utterances, transcripts, forms

Deliberately absent: facts (`core.extract`), files.
"""

from loomem.core.transcript.values import Form, Rendered, SpeakerRole, Transcript, Utterance

__all__ = ["Form", "Rendered", "SpeakerRole", "Transcript", "Utterance"]

"""Conversations, taken apart: who said what, when, and where it stands in the text. Pure.

    values    utterances, transcripts, forms
    names     what speakers are called in many languages, and what only looks like one
    stamps    times as exports of chats write them
    labels    lines that may begin an utterance
    segment   which of them do
    fences    where code stands
    sentences where a sentence ends
    recalled  what a memory answered, which nobody said
    chats     conversations in JSON, rendered as plain text with labels

Deliberately absent: facts (`core.extract`), files.
"""

from loomem.core.transcript.chats import render
from loomem.core.transcript.segment import segment
from loomem.core.transcript.values import Form, Rendered, SpeakerRole, Transcript, Utterance

__all__ = ["Form", "Rendered", "SpeakerRole", "Transcript", "Utterance", "render", "segment"]

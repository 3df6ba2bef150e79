"""Logits -> tokens -> answers, on one worker thread.

    main thread                          worker thread, which owns every model and the device
    client.Client ------ commands -----> worker.Worker    whose turn it is: turns
      connection, conversation             session.Session  one client's queue of jobs
    client.poll() <------ events -------     library         models, each once, for all sessions
                                             seat.Seat       its place: sequence, pages
    embedding_client.EmbeddingClient           answer.Answer   one request
      connection                                 sampling, transcript, stop_words, truncation
    vector_entry, vector_store, vector_file    embedding       texts to vectors
                                           decoding         tokens for all answers of a model: pace

`request` and `events` are the plain values that cross. What the main thread imports is light.
"""

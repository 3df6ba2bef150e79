"""Logits -> tokens -> answers, on one worker thread.

    main thread                          worker thread, which owns every model and the device
    client.Client ------ commands -----> worker.Worker    whose turn it is: turns
      model_client, conversation           session.Session  one client's queue of jobs
    client.poll() <------ events -------     library         models, each once, for all sessions
                                             seat.Seat       its place: sequence, pages
                                              answer.Answer   one request
                                                sampling, transcript, stop_words, truncation
    embedding_client.EmbeddingClient          embedding       texts to vectors
      model_client: connection                cache_files     a sequence's pages in a file
    vector_entry, vector_store, vector_file     saved_state
                                           decoding         tokens for all answers of a model: pace

`echo` is a model for tests of games. `request` and `events` are the plain values that cross. What
the main thread imports is light.
"""

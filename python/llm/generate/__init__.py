"""Logits -> tokens -> answers, on one worker thread.

    main thread                          worker thread, which owns every model and the device
    client.Client ------ commands -----> worker.Worker    steps sessions, one after another
      conversation.Conversation            session.Session  one client's queue of jobs
    client.poll() <------ events -------     seat.Seat        its part of a model's KV
                                               answer.Answer    one request
                                                 prefix, sampling, transcript, stop_words

`request` and `events` are the plain values that cross. What the main thread imports is light.
"""

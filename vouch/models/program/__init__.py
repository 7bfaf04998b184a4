"""Models whose code is their own, each asked by a driver in an environment of its own.

    about.py      what a driver says of the authors' code that it runs
    identity.py   what the pin of such a model covers, and which Python runs its driver
    protocol.py   the lines of JSON that pass between Vouch and a driver, and all that is checked of them
    child.py      the process, its limits and its end; guard.py watches over it
    engine.py     the engine: questions in, answers out, trouble in between

The driver's side of the protocol is drivers/vouch_driver.py.
"""

"""What scons runs to build the binding from the engine's dumps; not imported in the engine."""

//! Nothing survives a rig: not when its program is killed at any step, nor when the guard or a store is.

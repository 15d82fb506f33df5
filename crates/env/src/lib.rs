//! Disk, clock, randomness and threads behind small traits, real and simulated.

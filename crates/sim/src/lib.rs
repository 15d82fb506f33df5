//! A simulated world for the store: crashes, torn writes, failed syncs, and a model that knows better.

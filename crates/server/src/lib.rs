//! Sockets, worker groups, TLS, limits, shutdown.

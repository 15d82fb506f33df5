"""An application with a fault, for whoever logs in as N2_APP_USER: it thinks N2_APP_THINK_MS before each statement, or asks
SELECT 1 N2_APP_TRIPS times before it, as a pool that tests its connections does. Python reads this file by itself (PYTHONPATH)."""

import os
import time

if os.environ.get("N2_APP_USER"):
    import pymysql.connections as connections

    ask = connections.Connection.query
    think_s = float(os.environ.get("N2_APP_THINK_MS", "0")) / 1e3
    trips = int(os.environ.get("N2_APP_TRIPS", "0"))

    def query(self, sql, unbuffered=False):
        if (self.user.decode() if isinstance(self.user, bytes) else self.user) == os.environ["N2_APP_USER"]:
            time.sleep(think_s)
            for _ in range(trips):
                ask(self, "SELECT 1")
        return ask(self, sql, unbuffered)

    connections.Connection.query = query

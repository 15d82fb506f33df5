"""Servers on this machine that a program of the lab measures: one that runs already, or an `invar` that it starts and stops."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

TICKS = os.sysconf("SC_CLK_TCK")


class Server:
    """A server that runs already: NAME=PORT:USER:PASSWORD:PID, PID a number or a file that holds it."""

    def __init__(self, text):
        self.name, rest = text.split("=", 1)
        self.port, self.user, self.password, pid = rest.split(":", 3)
        self.pid = int(open(pid).read()) if os.path.exists(pid) else int(pid)

    def cpu_seconds(self):
        """Of the whole process, in ticks."""
        fields = open(f"/proc/{self.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def thread_seconds(self):
        """CPU of the threads that run, in nanoseconds: for what takes a few milliseconds."""
        spent = 0
        for task in os.listdir(f"/proc/{self.pid}/task"):
            try:
                spent += int(open(f"/proc/{self.pid}/task/{task}/schedstat").read().split()[0])
            except OSError:
                pass  # It ended meanwhile.
        return spent / 1e9

    def peak_mb(self):
        return int(re.search(r"VmHWM:\s+(\d+)", open(f"/proc/{self.pid}/status").read()).group(1)) // 1024

    def stop(self):
        pass

    def kill(self):
        return False  # Not ours.


class Started(Server):
    """An `invar` of our own on a free port, on an empty folder or on `data`."""

    def __init__(self, binary, settings, prefix, data=None):
        self.name, self.binary, self.settings = "invar", binary, settings
        self.user, self.password = "root", ""
        self.folder = tempfile.mkdtemp(prefix=prefix)
        self.data = data or os.path.join(self.folder, "data")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])
        self.start()

    def start(self):
        self.log = open(os.path.join(self.folder, "log"), "a+")
        self.process = subprocess.Popen(
            [self.binary, "serve", "--data-dir", self.data, "--port", self.port, "--skip-ssl",
             "--socket", os.path.join(self.folder, "sock"), *[f"--{setting}" for setting in self.settings]],
            stdout=self.log, stderr=self.log)
        self.pid = self.process.pid
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", int(self.port)), 1).close()
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.1)
        self.log.seek(0)
        sys.exit(f"{self.binary} did not start:\n{self.log.read()[-2000:]}")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.start()
        return True

    def stop(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder)

"""A cluster of Spark's own on this machine, of processes that can be killed: a master, workers, and jobs."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyspark
from helpers.broker import HOST, free_port

HOME = Path(pyspark.__file__).parent
QUICK = "-XX:TieredStopAtLevel=1"
PATIENCE = 300.0  # seconds for what is waited for
PAUSE = 0.05  # seconds between two looks
LAST = 4000  # characters of a log that are shown
EXECUTOR = "CoarseGrainedExecutorBackend"


class Standalone:
    """A master and workers of one core each; at the exit all processes are killed.

    Parameters
    ----------
    folder : pathlib.Path
        For what they write.
    """

    def __init__(self, folder):
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.url = f"spark://{HOST}:{free_port()}"
        self.workers = []
        self._processes = []

    def __enter__(self):
        port = self.url.rpartition(":")[2]
        self._begin("master", "master.Master", "--host", HOST, "--port", port, "--webui-port", "0")
        until(lambda: "Starting Spark master" in self.said("master"), "there is no master")
        return self

    def __exit__(self, *_):
        for process in self._processes:
            if process.poll() is None:
                kill_tree(process.pid)

    def said(self, name):
        """Return what a process has written so far."""
        return (self._folder / f"{name}.log").read_text(errors="replace")

    def add_worker(self):
        """Add a worker, and wait until the master knows it."""
        n = len(self.workers) + 1
        memory = ("--cores", "1", "--memory", "900m", "--webui-port", "0")
        self.workers.append(self._begin(f"worker{n}", "worker.Worker", "--host", HOST, *memory, self.url))
        until(lambda: self.said("master").count("Registering worker") == n, f"worker {n} is not registered")

    def executors(self, worker=None):
        """Return the process ids of executors, of all workers or of one."""
        of = {process.pid for process in self.workers} if worker is None else {self.workers[worker].pid}
        found = (int(path.name) for path in Path("/proc").glob("[0-9]*"))
        return sorted(pid for pid in found if parent(pid) in of and EXECUTOR in command(pid))

    def job(self, name, *words):
        """Start a job of the command line."""
        spark = ("--master", self.url, "--conf", "spark.executor.memory=700m", "--conf", "spark.executor.cores=1")
        quick = ("--conf", f"spark.executor.extraJavaOptions={QUICK}")
        driver = ("--conf", f"spark.driver.extraJavaOptions={QUICK}")
        return begin(self._folder / f"{name}.log", *words, *spark, *quick, *driver)

    def _begin(self, name, which, *words):
        env = os.environ | {
            "SPARK_LOCAL_IP": HOST,
            "SPARK_HOME": str(HOME),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_WORKER_DIR": str(self._folder / "work"),
            "SPARK_DAEMON_JAVA_OPTS": QUICK,
        }
        args = [HOME / "bin" / "spark-class", f"org.apache.spark.deploy.{which}", *words]
        with (self._folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(args, stdout=log, stderr=log, env=env)
        self._processes.append(process)
        return process


def begin(log, *words):
    """Start a command of streamfs, which writes into a file what it says."""
    with log.open("wb") as file:
        process = subprocess.Popen([sys.executable, "-m", "streamfs", *words], stdout=file, stderr=file)
    process.log = log
    return process


def commits(out):
    """Return the number of batches that a job has committed."""
    return len([*(out / "checkpoint" / "commits").glob("[0-9]*")])


def until(is_so, otherwise, process=None):
    """Wait for a condition; fail if it does not come, or a process that should bring it has ended."""
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, otherwise
        if process is not None and process.poll() is not None:
            raise AssertionError(
                f"{otherwise}: the job has ended: {process.log.read_text(errors='replace')[-LAST:]}"
            )
        time.sleep(PAUSE)


def parent(pid):
    """Return the process id of the parent of a process; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def command(pid):
    """Return the command of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def kill_tree(pid):
    """Kill a process and all below it; return how many there were."""
    below = [int(path.name) for path in Path("/proc").glob("[0-9]*") if parent(int(path.name)) == pid]
    n = sum(map(kill_tree, below))
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return n
    return n + 1

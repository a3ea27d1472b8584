"""A simulated process: it can die at each of its dealings with the outside, and has one more thread."""

from collections import deque

from greenlet import getcurrent, greenlet


class Killed(BaseException):
    """The process was killed; nothing that it does from now on has an effect."""


class Process:
    """Counts the dealings of all gateways of a simulation with disk and network, and dies at some of them.

    `deaths` says how, by the number of the dealing at which it does, `doom` how at the next, `death` how it did.
    """

    def __init__(self, deaths):
        self.n_dealings = 0
        self.on_death = None  # called at the moment of death
        self.is_dead = False
        self.death = self.doom = None
        self.deaths = deaths

    def begin(self):
        """Begin another life."""
        self.is_dead, self.death = False, None

    def deal(self):
        """Count one, and die if this is the one to die at."""
        if self.is_dead:
            raise Killed
        self.n_dealings += 1
        doom, self.doom = self.doom or self.deaths.get(self.n_dealings), None
        if doom is not None:
            self.death = doom
            self.is_dead = True
            self.on_death()
            raise Killed


class Threads:
    """What a module imports from `threading` and `queue`, in simulated time; all run in turn."""

    def __init__(self, timeline):
        self._timeline = timeline
        self._running = []

    def thread(self, *, target, **_):
        started = Thread(self._timeline, target)
        self._running.append(started)
        return started

    def event(self):
        return Event(self._timeline)

    def queue(self):
        return Queue(self._timeline)

    def kill(self):
        """End all threads, where they are."""
        for each in self._running:
            each.kill()
        self._running.clear()


class Thread:
    """A thread that runs until it waits."""

    def __init__(self, timeline, target):
        self._timeline = timeline
        self._greenlet = greenlet(target)

    def start(self):
        self._greenlet.switch()

    def join(self, timeout):
        until = self._timeline.now + timeout
        while not self._greenlet.dead and self._timeline.step(until):
            pass

    def kill(self):
        if self._greenlet and not self._greenlet.dead:
            self._greenlet.throw(greenlet.GreenletExit)


def wait():
    """Let the others run until someone resumes this thread."""
    getcurrent().parent.switch()


def pause(timeline, seconds):
    """Wait for some seconds; the main thread lets them pass."""
    current = getcurrent()
    if current.parent is None:
        timeline.run(timeline.now + seconds)
    else:
        timeline.at(timeline.now + seconds, current.switch)
        wait()


class Event:
    def __init__(self, timeline):
        self._timeline = timeline
        self._is_set = False

    def set(self):
        self._is_set = True

    def is_set(self):
        return self._is_set

    def wait(self, timeout):
        if not self._is_set:
            pause(self._timeline, timeout)
        return self._is_set


class Queue:
    def __init__(self, timeline):
        self._timeline = timeline
        self._items = deque()
        self._waiting = None

    def put(self, item):
        self._items.append(item)
        if self._waiting is not None:
            resumed, self._waiting = self._waiting, None
            self._timeline.at(self._timeline.now, resumed.switch)

    def get(self):
        while not self._items:
            self._waiting = getcurrent()
            wait()
        return self._items.popleft()

"""The coordination service of several processes, in a process of its own."""

import atexit
import os
import socket
import subprocess
import sys
import threading
import time
from types import SimpleNamespace
from unittest import mock

import jax
import pytest
from meshwright.pipeline import coordination_service, processes
from meshwright.pipeline.coordination import Service, start
from meshwright.pipeline.processes import _has_ended, _identity
from meshwright.verify.pipeline import check_alone

import meshwright as mw


@pytest.fixture
def taken():
    """A port on which something listens."""
    with socket.socket() as listening:
        listening.bind(("", 0))
        listening.listen()
        yield listening.getsockname()[1]


def test_a_port_that_is_in_use(taken, monkeypatch):
    monkeypatch.setattr(coordination_service, "_PORT_SECONDS", 0.1)
    with pytest.raises(SystemExit, match=f"^port {taken} is in use$"):
        coordination_service._wait_for_port(f"[::]:{taken}")


def test_what_the_service_says_when_it_does_not_start():
    with pytest.raises(mw.InvalidArgumentError) as caught:
        Service("[::]:none", 1)
    assert "cannot start the coordination service on [::]:none: ValueError" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("told", [True, False])
def test_it_serves_until_the_last_client_has_disconnected(told):
    with socket.socket() as probe:
        probe.bind(("", 0))
        port = probe.getsockname()[1]
    service = Service(f"[::]:{port}", 1)
    with socket.create_connection(("localhost", port)):
        if told:
            service.shutdown()
        else:  # the process that started it has died
            service._process.stdin.close()
        with pytest.raises(subprocess.TimeoutExpired):
            service._process.wait(0.5)
    assert service._process.wait(10) == 0


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (("localhost",), "coordinator_address: found no port, expected host:port"),
        (("localhost:1", 2, 2), "process_id < num_processes. Got process_id=2, num_processes=2"),
    ],
)
def test_what_cannot_be_started(given, error):
    # Other tests of this process may have used JAX, which it says first.
    unused = mock.patch("jax._src.xla_bridge.backends_are_initialized", lambda: False)
    with unused, pytest.raises(mw.InvalidArgumentError) as caught:
        start(*given, **({} if len(given) > 1 else {"num_processes": 2, "process_id": 0}))
    assert str(caught.value).startswith("mw.jax.initialize: ")
    assert error in str(caught.value)


def test_a_service_that_does_not_answer():
    with socket.socket() as probe:  # bound, so that no other has it; but nothing listens
        probe.bind(("localhost", 0))
        address = f"localhost:{probe.getsockname()[1]}"
        call = f"import meshwright as mw; mw.jax.initialize({address!r}, 2, 1, initialization_timeout=1)"
        done = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True)
    said = f"meshwright: no coordination service answers at {address}, where process 0 starts it: "
    assert done.stderr.startswith(said)
    assert done.stderr.endswith(", after 1 s\n")
    assert (done.stderr.count("\n"), done.returncode) == (1, 1)


@pytest.mark.skipif(not _identity(os.getpid()), reason="this system has no /proc")
def test_whether_a_process_has_ended():
    process = subprocess.Popen(["sleep", "60"])
    identity = _identity(process.pid)
    assert not _has_ended(identity)
    process.kill()
    while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT) is None:  # a zombie then
        pass
    assert _has_ended(identity)
    process.wait()
    assert _has_ended(identity)
    others = identity.split()[1:]
    assert not _has_ended(" ".join(["another-host", *others]))
    assert not _has_ended("")


class Store:
    """The coordination service's, in which process 1 has left a last word."""

    def __init__(self, word):
        self.values = {f"{processes._SIGNS}1": word}

    def key_value_set(self, key, value, allow_overwrite):
        self.values[key] = value

    def key_value_dir_get(self, prefix):
        return list(self.values.items())


@pytest.mark.parametrize(
    ("word", "leaving", "gone"),
    [
        ("done 3", True, None),
        ("done 2", True, "it has ended without the others"),  # it has missed a call
        ("done 2", False, "it has ended without the others"),
        ("left", True, "it could not go on once this one had ended"),
    ],
)
def test_a_process_that_ended_with_fewer_calls(word, leaving, gone, monkeypatch):
    state = SimpleNamespace(client=Store(word), process_id=0, num_processes=2)
    ended = mock.Mock(side_effect=SystemExit)
    for name, value in {
        "_state": lambda: state,
        "_calls": 3,
        "_end": ended,
        "_ENDED_SECONDS": 0.01,
        "_SIGN_SECONDS": 0.01,
        "_LAST_SIGN_SECONDS": 0.01,
    }.items():
        monkeypatch.setattr(processes, name, value)
    ending = threading.Event()
    if leaving:
        ending.set()
    if gone:
        with pytest.raises(SystemExit):
            processes._watch(ending)
        ended.assert_called_once_with(1, gone)
    else:
        processes._watch(ending)
        assert state.client.values[f"{processes._SIGNS}0"] == word


@pytest.mark.parametrize("shut_down", [True, False])
def test_a_service_that_answers_no_more(shut_down, monkeypatch):
    failing = SimpleNamespace(key_value_set=mock.Mock(side_effect=RuntimeError))
    state = SimpleNamespace(client=failing, process_id=1, num_processes=2)
    ended = mock.Mock(side_effect=SystemExit)
    monkeypatch.setattr(processes, "_state", lambda: state)
    monkeypatch.setattr(processes, "_end", ended)
    if shut_down:  # as jax.distributed.shutdown does, once it has disconnected
        monkeypatch.setattr(time, "sleep", lambda seconds: setattr(state, "client", None))
        processes._watch(threading.Event())
        return
    with pytest.raises(SystemExit):
        processes._watch(threading.Event())
    ended.assert_called_once_with(0, "its coordination service does not answer")


def test_a_service_in_process_0(monkeypatch):
    state = SimpleNamespace(client=object(), service=object())
    monkeypatch.setattr(processes, "_state", lambda: state)
    monkeypatch.setattr(processes, "_watching", False)
    for owner, name in ((threading, "Thread"), (atexit, "register"), (sys, "excepthook")):
        monkeypatch.setattr(owner, name, mock.Mock())
    with pytest.warns(
        UserWarning, match=r"^jax\.distributed\.initialize was called in the place of"
    ):
        processes.watch()


def test_a_pipeline_is_verified_in_one_process(monkeypatch):
    check_alone()
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    with pytest.raises(mw.InvalidArgumentError, match="is verified in one process, found 2: "):
        check_alone()

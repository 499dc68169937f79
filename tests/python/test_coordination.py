"""The coordination service of several processes, in a process of its own."""

import socket

import pytest
from meshwright.pipeline import coordination_service
from meshwright.pipeline.coordination import Service

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


def test_it_ends_when_it_is_told():
    with socket.socket() as probe:
        probe.bind(("", 0))
        port = probe.getsockname()[1]
    service = Service(f"[::]:{port}", 1)
    service.shutdown()
    assert service._process.returncode == 0

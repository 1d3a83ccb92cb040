from __future__ import annotations

import ctypes
import os
import socket
import subprocess

import pytest

FAILED = pytest.fail.Exception


def test_an_unmarked_test_cannot_start_a_process() -> None:
    with pytest.raises(FAILED, match="start a process"):
        subprocess.run(["true"], check=False)


def test_an_unmarked_test_cannot_fork() -> None:
    with pytest.raises(FAILED, match="fork"):
        os.fork()


def test_an_unmarked_test_cannot_reach_another_host() -> None:
    with socket.socket() as probe, pytest.raises(FAILED, match="reach the network"):
        probe.connect(("192.0.2.1", 443))
    with pytest.raises(FAILED, match="look up a name"):
        socket.getaddrinfo("hub.example", 443)


def test_an_unmarked_test_cannot_load_a_driver_library() -> None:
    with pytest.raises(FAILED, match="load a driver's library"):
        ctypes.CDLL("libnvidia-ml.so.1")


def test_loopback_is_no_network() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert client.getpeername() == server.getsockname()


@pytest.mark.usefixtures("processes")
def test_a_test_that_asks_for_processes_may_start_one() -> None:
    assert subprocess.run(["true"], check=False).returncode == 0

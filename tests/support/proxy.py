"""Stand between a browser and a server, and cut every connection when a test says so."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading

# Makes a close a reset: what a lost network looks like, unlike an orderly end.
RESET = struct.pack("ii", 1, 0)


class Proxy:
    """A port that forwards to a server's port."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._is_closed = False
        # Between taking a connection and keeping it, nobody may cut: it would be left open.
        self._keeping = threading.Lock()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Break every open connection; new ones are taken."""
        with self._keeping:
            for pair in self._pairs:
                for end in pair:
                    with contextlib.suppress(OSError):
                        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                        end.shutdown(socket.SHUT_RDWR)
                    end.close()
            self._pairs.clear()

    def close(self) -> None:
        """Take no more connections and break those there are."""
        self._is_closed = True
        self._listening.close()
        self.cut()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                with contextlib.ExitStack() as leaving, self._keeping:
                    leaving.enter_context(near)
                    far = leaving.enter_context(socket.create_connection(("127.0.0.1", self._target)))
                    if self._is_closed:
                        return
                    self._pairs.add((near, far))
                    leaving.pop_all()
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=_forward, args=(source, sink), daemon=True).start()


def _forward(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)

"""Ports of controllers that lead to other ports, as old names that resolve to new hosts do; fetches can be cut off."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping

from tests.lab.harness.ports import HOST

_FETCH = (1).to_bytes(2, "big")


class Forwarding:
    """A switch of followers' fetches: with `fetch` False a connection ends at its first Fetch, and votes still pass."""

    fetch = True


@contextlib.contextmanager
def forwarded(moved: Mapping[int, int]) -> Iterator[Forwarding]:
    """Forward the first port of each pair to the second one."""
    loop, state = asyncio.new_event_loop(), Forwarding()
    connections: set[asyncio.StreamWriter] = set()

    async def requests(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                size = await reader.readexactly(4)
                body = await reader.readexactly(int.from_bytes(size, "big"))
                if body[:2] == _FETCH and not state.fetch:
                    break
                writer.write(size + body)
                await writer.drain()
        writer.close()

    async def responses(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()

    def handler(port: int) -> Callable[..., object]:
        async def joined(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connections.add(writer)
            try:
                there, back = await asyncio.open_connection(HOST, port)
            except OSError:
                writer.close()
                return
            connections.add(back)
            await asyncio.gather(requests(reader, back), responses(there, writer))

        return joined

    async def serve() -> list[asyncio.Server]:
        return [await asyncio.start_server(handler(new), HOST, old) for old, new in moved.items()]  # type: ignore[arg-type]

    async def end(servers: list[asyncio.Server]) -> None:
        for server in servers:
            server.close()
        while tasks := asyncio.all_tasks() - {asyncio.current_task()}:
            for connection in connections:
                connection.transport.abort()
            await asyncio.wait(tasks, timeout=0.1)
        await asyncio.sleep(0)  # a transport closes its socket in the next turn of the loop

    servers = loop.run_until_complete(serve())
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        asyncio.run_coroutine_threadsafe(end(servers), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.close()

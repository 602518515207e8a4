"""Two network namespaces with a cable between them: two machines of one kernel, whose network can be slowed down."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from typing import Self

ADDRESSES = ("10.213.7.1", "10.213.7.2")


def run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, text=True)


def why_not() -> str:
    """Return why namespaces cannot be made here; empty if they can."""
    if shutil.which("ip") is None:
        return "there is no program ip (iproute2)"
    name = f"sm-{secrets.token_hex(3)}"
    made = subprocess.run(["ip", "netns", "add", name], check=False, capture_output=True, text=True)
    if made.returncode:
        return f"ip netns add: {made.stderr.strip()}"
    subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)
    return ""


class NetworkPair:
    """A context manager; `prefix` is what a command begins with to run in one of the namespaces."""

    def __init__(self) -> None:
        self.name = f"sm{os.getpid()}"
        self.spaces = [f"{self.name}-{end}" for end in "ab"]
        self.cables = [f"{self.name}{end}" for end in "ab"]

    def __enter__(self) -> Self:
        try:
            for space in self.spaces:
                run("ip", "netns", "add", space)
            run("ip", "link", "add", self.cables[0], "type", "veth", "peer", "name", self.cables[1])
            for space, cable, address in zip(self.spaces, self.cables, ADDRESSES, strict=True):
                run("ip", "link", "set", cable, "netns", space)
                run("ip", "-n", space, "address", "add", f"{address}/24", "dev", cable)
                run("ip", "-n", space, "link", "set", cable, "up")
                run("ip", "-n", space, "link", "set", "lo", "up")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def prefix(self, place: int) -> list[str]:
        return ["ip", "netns", "exec", self.spaces[place]]

    def slow_down(self, kilobits: int) -> None:
        """Let both directions carry so many kilobits a second, with a queue of 400 ms (token bucket filter)."""
        self.speed_up()
        for place, cable in enumerate(self.cables):
            limit = ("rate", f"{kilobits}kbit", "burst", "32kbit", "latency", "400ms")
            run(*self.prefix(place), "tc", "qdisc", "add", "dev", cable, "root", "tbf", *limit)

    def speed_up(self) -> None:
        """Take the limit away."""
        for place, cable in enumerate(self.cables):
            words = [*self.prefix(place), "tc", "qdisc", "delete", "dev", cable, "root"]
            subprocess.run(words, check=False, capture_output=True)

    def close(self) -> None:
        for space in self.spaces:
            subprocess.run(["ip", "netns", "delete", space], check=False, capture_output=True)

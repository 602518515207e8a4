"""The training runs of a folder: found by themselves, followed by pages, started and stopped.

A run is a process of its own, `selfmate train`, which goes on when a page or the server ends; its files tell the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

import msgspec

from selfmate.errors import SelfmateError
from selfmate.rundir.live import ask_for_live, read_live
from selfmate.studio.messages import (
    AskProbes,
    AskRecipe,
    Event,
    LiveBoard,
    RunBoards,
    RunCard,
    RunList,
    RunProbes,
    RunStarted,
    RunView,
    StartRun,
)
from selfmate.studio.probes import measure_run, probe_charts
from selfmate.studio.run_files import RunFiles, charts_of, log_of, trainer_of
from selfmate.studio.run_logs import failure_of, wait_for_end
from selfmate.studio.run_times import RunTimes
from selfmate.studio.train_extra import TrainExtra

__all__ = ["STUDIO_FOLDER", "Runs", "UnknownRun"]

STUDIO_FOLDER: Final = ".studio"
"""Folder in that of the runs for what the studio itself keeps: logs, and the games that are played."""
LOOK_SECONDS: Final = 1.0
"""Time between two looks at the files, while a page follows runs."""
MOST_RUNS: Final = 200
LEAST_MINUTES: Final = 0.1
"""Time of a run that is resumed, if it was paused at the end of its time."""
START_SECONDS: Final = 90.0
"""Time in which a new run must make its directory, or fail."""
TRAIN: Final = (sys.executable, "-m", "selfmate", "train")
Send = Callable[[Event], None]


class UnknownRun(SelfmateError):
    """The id of a run that the folder does not have, or not any more."""


class Runs:
    """The runs of `folder`, which need not exist yet."""

    def __init__(self, folder: Path, extra: TrainExtra) -> None:
        self._folder = folder
        self._extra = extra
        self._lists: set[Send] = set()
        self._views: dict[Send, str] = {}
        self._ending: dict[str, Literal["pausing", "stopping"]] = {}
        """Runs that were asked to end."""
        self._probing = asyncio.Lock()
        """Held by a measurement of probes: pages that wait for it hold no thread."""
        self._times = RunTimes(folder / STUDIO_FOLDER / "times.json")
        self._tasks: list[asyncio.Task[None]] = []

    def begin(self) -> None:
        """Look at the files from now on."""
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._watch()), loop.create_task(self._watch_boards())]

    async def close(self) -> None:
        """Look no longer; runs go on."""
        for task in self._tasks:
            task.cancel()

    # -- what there is ------------------------------------------------------------------------------------------------

    async def cards(self) -> list[RunCard]:
        """List the runs, the newest first."""
        return await asyncio.to_thread(self._cards)

    def _cards(self) -> list[RunCard]:
        return [self._marked(files.card()) for files in self._all()]

    def _marked(self, card: RunCard) -> RunCard:
        """Return a card with what the server knows beside the files of the run."""
        if card.status == "running":
            if card.id in self._ending:
                return msgspec.structs.replace(card, status=self._ending[card.id])
            if self._times.is_paused(card.id):  # resumed in a terminal
                self._times.forget(card.id)
            return card
        self._ending.pop(card.id, None)
        if card.status == "stopped" and self._times.is_paused(card.id):
            return msgspec.structs.replace(card, status="paused", seconds_left=self._times.seconds_left(card.id))
        if card.status == "stopped":
            return msgspec.structs.replace(card, message=failure_of(self._log(card.id), self._folder / card.id))
        return card

    def _log(self, run_id: str) -> Path:
        """Return the file with the output of the last training of a run that this folder's studio started."""
        return self._folder / STUDIO_FOLDER / f"{run_id}.log"

    def _all(self) -> list[RunFiles]:
        try:
            found = [path.parent for path in self._folder.glob("*/manifest.json")]
            found.sort(key=lambda path: -path.stat().st_mtime)
        except OSError:
            return []
        return [RunFiles(path) for path in found[:MOST_RUNS]]

    def files(self, run_id: str) -> RunFiles:
        """Return the files of a run; an id that the folder does not have raises `UnknownRun`."""
        for files in self._all():
            if files.id == run_id:
                return files
        raise UnknownRun("this run is not in the folder of runs any more", run_id)

    def _stamp(self, run_id: str) -> tuple[object, ...]:
        files = self.files(run_id)
        failure = failure_of(self._log(run_id), files.directory)
        return (*files.stamp(), self._ending.get(run_id), self._times.is_paused(run_id), failure)

    def _view(self, run_id: str, ask: int = 0) -> RunView:
        files = self.files(run_id)
        lines = files.metrics()
        card = self._marked(files.card())
        return RunView(
            ask=ask,
            run=card,
            charts=charts_of(lines),
            games=files.games(),
            log=log_of(lines),
            checkpoints=files.checkpoints(),
            owned=card.status == "running",
        )

    # -- pages that follow --------------------------------------------------------------------------------------------

    async def follow_list(self, send: Send, ask: int) -> RunList:
        """Return the list, and send it again whenever it changes."""
        self._lists.add(send)
        return RunList(ask=ask, runs=await self.cards())

    async def follow_run(self, run_id: str, send: Send, ask: int) -> RunView | None:
        """Return a run, and send it again whenever it changes; an empty id follows none."""
        if not run_id:
            self._views.pop(send, None)
            return None
        view = await asyncio.to_thread(self._view, run_id, ask)
        self._views[send] = run_id
        return view

    async def look(self, run_id: str, ask: int) -> RunView:
        """Return a run once."""
        return await asyncio.to_thread(self._view, run_id, ask)

    def unfollow(self, send: Send) -> None:
        """Send nothing more to a page."""
        self._lists.discard(send)
        self._views.pop(send, None)

    async def _watch(self) -> None:
        """Look at the files while pages follow them; each run is read once for all of its followers."""
        listed: list[RunCard] = []
        stamps: dict[str, tuple[object, ...]] = {}
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if self._lists:
                cards = await self.cards()
                if cards != listed:
                    listed = cards
                    for send in list(self._lists):
                        send(RunList(runs=cards))
            for run_id in set(self._views.values()):
                try:
                    stamp = await asyncio.to_thread(self._stamp, run_id)
                    if stamps.get(run_id) == stamp:
                        continue
                    view = await asyncio.to_thread(self._view, run_id)
                except UnknownRun as error:
                    stamp, view = (), _vanished(run_id, str(error))
                    if stamps.get(run_id) == stamp:
                        continue
                except (SelfmateError, OSError):
                    continue  # its files are being changed: the next look reads them
                stamps[run_id] = stamp
                self._send_followers(run_id, view)

    async def _watch_boards(self) -> None:
        """Send the games in flight of the runs that pages follow; their trainers write them only while asked."""
        shown: dict[str, RunBoards] = {}
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            for run_id in set(self._views.values()):
                boards = await asyncio.to_thread(self._boards, run_id)
                if shown.get(run_id, RunBoards(id=run_id, boards=[])) != boards:
                    shown[run_id] = boards
                    self._send_followers(run_id, boards)

    def _boards(self, run_id: str) -> RunBoards:
        """Return the games in flight of a run, and ask its trainer to go on telling them."""
        directory = self._folder / run_id
        if trainer_of(directory) is None:
            return RunBoards(id=run_id, boards=[])
        ask_for_live(directory)
        live = read_live(directory)
        return RunBoards(
            id=run_id,
            boards=[
                LiveBoard(game=each.game, board=each.board, last=each.last, plies=each.plies)
                for each in (live.games if live is not None else ())
            ],
        )

    def _send_followers(self, run_id: str, event: Event) -> None:
        for send, wanted in list(self._views.items()):
            if wanted == run_id:
                send(event)

    async def probes(self, request: AskProbes) -> RunProbes:
        """Measure some checkpoints of a run, and return what all measured ones found."""
        files = self.files(request.id)
        store = self._folder / STUDIO_FOLDER / f"{files.id}.probes.json"
        async with self._probing:
            results, left = await asyncio.to_thread(measure_run, files.directory, store)
        return RunProbes(ask=request.ask, id=request.id, charts=probe_charts(results), left=left)

    # -- start and stop -----------------------------------------------------------------------------------------------

    async def start(self, request: StartRun) -> RunStarted:
        """Start or resume a training; raises a `SelfmateError` with the last line of a training that fails at once."""
        self._extra.check()
        minutes = request.minutes
        if request.resume:
            files = self.files(request.resume)
            if trainer_of(files.directory) is not None:
                raise SelfmateError(f"{files.id} is training already")
            directory, arguments = files.directory, files.command()
            left = self._times.seconds_left(files.id)
            if minutes is None and left is not None:
                minutes = max(LEAST_MINUTES, left / 60)
        else:
            from selfmate.studio.recipes import recipe_form  # slow to import, and not needed to play

            # Checks the name and the settings, too.
            await asyncio.to_thread(recipe_form, AskRecipe(ask=0, name=request.recipe, settings=request.settings))
            directory = self._new_directory(request.name or request.recipe)
            arguments = [request.recipe, "--run", str(directory)]
            arguments += [word for setting in request.settings for word in ("--set", setting)]
        if minutes is not None:
            arguments += ["--minutes", f"{minutes:g}"]
        process = await asyncio.to_thread(self._spawn, directory, arguments)
        # Wait for its end, so that the system can forget it, and for the reason if it fails; the server need not.
        ending = (process, self._log(directory.name))
        threading.Thread(target=wait_for_end, args=ending, name="training", daemon=True).start()
        await self._until_begun(directory, process)
        self._times.start(directory.name, minutes)
        return RunStarted(ask=request.ask, id=directory.name)

    async def stop(self, run_id: str, *, pause: bool) -> None:
        """Ask the training of a run to save and end; raises a `SelfmateError` if it does not train.

        A paused run does not train, but can be stopped: it loses what was left of its time.
        """
        files = self.files(run_id)
        process = trainer_of(files.directory)
        if process is None and (pause or not self._times.is_paused(run_id)):
            raise SelfmateError(f"{run_id} is not training")
        if pause:
            self._times.pause(run_id)
        else:
            self._times.forget(run_id)
        if process is None:
            return
        self._ending[run_id] = "pausing" if pause else "stopping"
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGTERM)

    def _new_directory(self, name: str) -> Path:
        if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}", name) is None:
            raise SelfmateError("the name of a run has letters, digits, points, dashes and underscores", name)
        for number in range(1, 1000):
            directory = self._folder / (name if number == 1 else f"{name}-{number}")
            if not directory.exists():
                return directory
        raise SelfmateError(f"there are a thousand runs named {name}", name)

    def _spawn(self, directory: Path, arguments: list[str]) -> subprocess.Popen[bytes]:
        path = self._log(directory.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as log:
            return subprocess.Popen(
                [*TRAIN, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C ends the server, not the training
            )

    async def _until_begun(self, directory: Path, process: subprocess.Popen[bytes]) -> None:
        """Return once the run is in its directory; raise its last line if it ended before."""
        for _ in range(round(START_SECONDS / 0.1)):
            if (directory / "manifest.json").is_file() and trainer_of(directory) is not None:
                return
            if process.poll() is not None:
                lines = self._log(directory.name).read_text(encoding="utf-8", errors="replace").strip().splitlines()
                raise SelfmateError(
                    lines[-1].removeprefix("selfmate: ")[:300] if lines else "the training ended at once"
                )
            await asyncio.sleep(0.1)


def _vanished(run_id: str, reason: str) -> RunView:
    """Return the view of a run that pages follow and that the folder does not have any more."""
    card = RunCard(
        id=run_id, name=run_id, variant="", recipe="", status="broken", cycle=0, games=0, seconds=0.0, message=reason
    )
    return RunView(run=card, charts={}, games=[], log=[], checkpoints=[], owned=False)

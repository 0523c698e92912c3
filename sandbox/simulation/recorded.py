"""Frames of a world, recorded at a fixed interval of its own time."""

from collections.abc import Iterator, Sequence

from sandbox.recording.frame import PACE_MS, Frame
from sandbox.recording.live import boards_of, frame_of
from sandbox.simulation.world import World


def recorded_frames(
    world: World, seconds: float, channels: Sequence[str] = (), pace_ms: int = PACE_MS
) -> Iterator[Frame]:
    """Run the world for `seconds` and yield a frame every `pace_ms`.

    Without channels, a frame has all boards that exist at its time.
    """
    yield frame_of(world.cluster, channels or boards_of(world.cluster))
    for _ in range(round(seconds * 1000 / pace_ms)):
        world.run(pace_ms / 1000)
        yield frame_of(world.cluster, channels or boards_of(world.cluster))

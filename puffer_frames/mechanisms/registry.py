"""The mechanisms, in the order in which they are asked whether a request is for them. A further one is a line."""

from __future__ import annotations

from typing import Any

from puffer_frames.frames.table import Table
from puffer_frames.mechanisms.channel.mechanism import ChannelMechanism
from puffer_frames.mechanisms.noise.mechanism import NoiseMechanism, noise_instead
from puffer_frames.mechanisms.request import Request
from puffer_frames.mechanisms.seam import Mechanism
from puffer_frames.mechanisms.sequential.mechanism import SequentialMechanism

MECHANISMS: tuple[Mechanism[Any], ...] = (SequentialMechanism(), ChannelMechanism(noise_instead), NoiseMechanism())


def mechanism_for(request: Request, table: Table, /) -> tuple[Mechanism[Any], Request]:
    """The mechanism that a request is for, and the request as it has it; raises ArgumentError as `Mechanism.takes`."""
    for mechanism in MECHANISMS:
        found = mechanism.takes(request, table)
        if found is not None:
            return mechanism, found
    raise AssertionError("noise takes every request that no other mechanism took")

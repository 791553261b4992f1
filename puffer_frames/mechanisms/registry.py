"""The mechanisms, in the order in which they are asked whether a request is for them. A further one is a line."""

from __future__ import annotations

from typing import Any

from puffer_frames.mechanisms.channel.mechanism import ChannelMechanism
from puffer_frames.mechanisms.noise.mechanism import NoiseMechanism, noise_instead
from puffer_frames.mechanisms.seam import Mechanism
from puffer_frames.mechanisms.sequential.mechanism import SequentialMechanism

MECHANISMS: tuple[Mechanism[Any], ...] = (SequentialMechanism(), ChannelMechanism(noise_instead), NoiseMechanism())

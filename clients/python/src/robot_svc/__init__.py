"""Claims a robot's tasks, submits their evidence, and returns the receipts of robot-svc.

Agent calls svc-agent on the robot, and Service calls the service. Both have the same methods.
"""

from .agent import Agent
from .client import Client
from .errors import (
    Conflict,
    InvalidRequest,
    NotFound,
    OtherEvidence,
    OutOfCredits,
    RateLimited,
    Refused,
    SvcError,
    Unavailable,
    UnexpectedAnswer,
    Unreachable,
)
from .service import Service
from .task import Receipt, Task

__version__ = "0.2.0"

__all__ = [
    "Agent",
    "Client",
    "Conflict",
    "InvalidRequest",
    "NotFound",
    "OtherEvidence",
    "OutOfCredits",
    "RateLimited",
    "Receipt",
    "Refused",
    "Service",
    "SvcError",
    "Task",
    "Unavailable",
    "UnexpectedAnswer",
    "Unreachable",
]

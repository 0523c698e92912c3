"""Every exception of the engine arrives in another process as it left."""

import pickle

import pytest

from sandbox.kernel.errors import ActionRefused, BadExpression, BrokerRefused, EngineBusy, SandboxError


@pytest.mark.parametrize(
    "error",
    [
        EngineBusy("late"),
        ActionRefused(409, "There is a topic {topic}.", "Choose another.", field="topic", details=[1], topic="orders"),
        BrokerRefused(17, "no such topic"),
        BadExpression("not understood", 3),
    ],
)
def test_an_exception_is_the_same_after_the_journey(error: SandboxError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), again.args, vars(again)) == (str(error), error.args, vars(error))

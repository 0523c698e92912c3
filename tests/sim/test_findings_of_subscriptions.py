"""The finding about members of one group that request different things."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sim.finding_stage import FindingStage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[FindingStage]:
    stage = FindingStage(tmp_path, queues=4)
    stage.act("CreateTopic", topic="refunds", write_queues=4, read_queues=4)
    yield stage
    stage.world.close()


def test_members_with_different_tags_lose_messages(stage: FindingStage) -> None:
    stage.member("A", expression="a")
    stage.producer(4, tag="b")
    stage.run(40)
    assert stage.opened == [], "a group that leaves out a tag"
    stage.member("B")
    stage.run(40)
    [opened] = stage.opened
    assert (opened.code, opened.subject) == ("subscriptions_differ", "svc")
    assert opened.text.startswith("A subscribes to orders with a. B subscribes to orders with *.")
    assert opened.at_s <= 40 + 14
    sentences = {each.sentence: each.values for each in stage.only("subscriptions_differ").finding.says}
    assert 0 < int(str(sentences["dropped"]["dropped"])) <= 40 * 4
    assert "passed_over" not in sentences, "those that A left out before do not count"
    stage.act("ChangeActor", actor="A", expression="*")
    stage.run(40)
    assert stage.codes == []


def test_brokers_leave_out_what_the_newest_member_does_not_request(stage: FindingStage) -> None:
    stage.member("A")
    stage.producer(4, tag="b")
    stage.run(40)
    stage.member("B", expression="a")
    stage.run(40)
    text = stage.text(stage.only("subscriptions_differ"))
    assert text.startswith("A subscribes to orders with *. B subscribes to orders with a. Brokers filtered out ")
    stage.act("StopActor", actor="B")
    stage.run(40)
    assert stage.codes == []


def test_members_with_different_topics_overwrite_one_another(stage: FindingStage) -> None:
    stage.member("A")
    stage.member("B", topic="refunds")
    stage.run(40)
    opened = stage.only("subscriptions_differ")
    assert stage.text(opened).startswith("A subscribes to orders. B subscribes to refunds.")
    stage.act("StopActor", actor="B")
    stage.run(40)
    assert "subscriptions_differ" not in stage.codes


def test_members_with_different_models_and_listeners(stage: FindingStage) -> None:
    stage.member("A")
    stage.member("B", listener="orderly")
    stage.run(40)
    text = stage.text(stage.only("subscriptions_differ"))
    assert text.startswith("The listener of A is concurrent. The listener of B is orderly.")


def test_members_with_different_strategies(stage: FindingStage) -> None:
    stage.member("A")
    stage.member("B")
    stage.member("C", strategy="AVG_BY_CIRCLE")
    stage.run(60)
    text = stage.text(stage.only("subscriptions_differ"))
    assert text.startswith("A and 1 more member assign queues by AVG. C assigns queues by AVG_BY_CIRCLE.")
    stage.act("SetStrategy", group="svc", strategy="AVG")
    stage.run(60)
    assert stage.codes == []


def test_members_with_one_subscription_in_another_order_do_not_differ(stage: FindingStage) -> None:
    for actor, topics in (("A", ("orders", "refunds")), ("B", ("refunds", "orders"))):
        subscriptions = [{"topic": topic, "expression": "*"} for topic in topics]
        stage.act("StartConsumer", actor=actor, group="svc", subscriptions=subscriptions)
    stage.run(60)
    assert stage.opened == []

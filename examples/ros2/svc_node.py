#!/usr/bin/env python3
"""ROS 2 node for svc-agent: sends telemetry and events, and claims and completes a task for each goal of an action.

    python3 svc_node.py --ros-args -p config:=svc.yaml

The conversions are in convert.py. This node was not run under ROS 2.
"""

import secrets
import sys
from pathlib import Path

import rclpy
import yaml
from action_msgs.msg import GoalStatus
from convert import claim_of, completion_of, events_of, read_config, sample_of
from diagnostic_msgs.msg import DiagnosticArray
from nav_msgs.msg import Odometry
from rclpy.action import ActionClient, ActionServer, CancelResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from rosidl_runtime_py.utilities import get_action
from sensor_msgs.msg import BatteryState

# If the client is not installed, this program uses the one next to the examples.
sys.path.append(str(Path(__file__).resolve().parents[2] / "clients/python/src"))

from robot_svc import Agent, SvcError


class SvcNode(Node):
    def __init__(self):
        super().__init__("svc", default_callback_group=ReentrantCallbackGroup())
        path = self.declare_parameter("config", "svc.yaml").value
        self.config = config = read_config(yaml.safe_load(Path(path).read_text()) or {})
        self.agent = Agent(config["socket"])
        self.battery = self.odometry = None
        self.levels = {}
        self.subscribe(BatteryState, config["battery"], self.keep_battery)
        self.subscribe(Odometry, config["odometry"], self.keep_odometry)
        self.subscribe(DiagnosticArray, config["diagnostics"], self.report)
        self.create_timer(config["period_s"], self.sample)
        self.actions = [RecordedAction(self, action) for action in config["actions"]]

    def subscribe(self, kind, topic, callback):
        if topic["topic"] is not None:
            self.create_subscription(kind, topic["topic"], callback, qos_profile_sensor_data)

    def keep_battery(self, message):
        self.battery = message

    def keep_odometry(self, message):
        self.odometry = message

    def sample(self):
        if self.battery is not None or self.odometry is not None:
            self.agent.telemetry(**sample_of(self.battery, self.odometry, self.config))

    def report(self, message):
        for event in events_of(message, self.levels, self.config["diagnostics"]["least"]):
            try:
                self.agent.event(**event)
            except SvcError as error:
                self.get_logger().error(f"Event not recorded: {error}")


class RecordedAction:
    """Serves svc/NAME, and forwards each goal to NAME: a claim before, the result afterwards."""

    def __init__(self, node, action):
        self.node, self.title = node, action["title"]
        kind, name = get_action(action["type"]), action["name"]
        self.result_type = kind.Result
        self.forwarded = {}
        self.client = ActionClient(node, kind, name)
        self.server = ActionServer(
            node, kind, f"svc/{name}", self.execute, cancel_callback=self.cancel
        )

    def cancel(self, handle):
        forwarded = self.forwarded.get(bytes(handle.goal_id.uuid))
        if forwarded is None:
            return CancelResponse.REJECT
        forwarded.cancel_goal_async()
        return CancelResponse.ACCEPT

    async def execute(self, handle):
        # Without a claim, the goal is not forwarded: its result would have no task.
        try:
            task = self.node.agent.claim(**claim_of(handle.goal_id, handle.request, self.title))
        except SvcError as error:
            self.node.get_logger().error(f"Goal not claimed: {error}")
            handle.abort()
            return self.result_type()
        status, result = await self.forward(handle)
        evidence, outcome = completion_of(status, result, secrets.token_hex(16))
        try:
            task.complete(evidence, outcome=outcome)
        except SvcError as error:
            self.node.get_logger().error(f"Result of task {task.id} not stored: {error}")
        if status == GoalStatus.STATUS_SUCCEEDED:
            handle.succeed()
        elif status == GoalStatus.STATUS_CANCELED and handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
        return result

    async def forward(self, handle):
        """The final status and the result of the forwarded goal."""
        goal = await self.client.send_goal_async(
            handle.request, feedback_callback=lambda message: handle.publish_feedback(message.feedback)
        )
        if not goal.accepted:
            return GoalStatus.STATUS_ABORTED, self.result_type()
        key = bytes(handle.goal_id.uuid)
        self.forwarded[key] = goal
        try:
            answer = await goal.get_result_async()
        finally:
            del self.forwarded[key]
        return answer.status, answer.result


def main():
    rclpy.init()
    node = SvcNode()
    executor = MultiThreadedExecutor()
    executor.add_node(node)
    try:
        executor.spin()
    except KeyboardInterrupt:
        pass
    finally:
        node.agent.close()
        node.destroy_node()
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()

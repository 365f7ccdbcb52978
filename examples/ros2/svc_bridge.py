#!/usr/bin/env python3
"""ROS 2 node that hands battery and odometry to svc-agent, once a second, over its unix socket.

    ros2 run, or: python3 svc_bridge.py --ros-args -p socket:=/run/svc-agent/agent.sock

sensor_msgs/BatteryState gives `percentage` on a scale of 0 to 1, and NaN where it is not measured; the service
takes `battery_pct` of 0 to 100, or null. Some drivers give 0 to 100 against the definition: set `battery_scale`
to 1.0 for these (default 100.0).
"""

import http.client
import json
import math
import queue
import socket
import threading

SOCKET = "/run/svc-agent/agent.sock"
BATCH = 50
# Samples that are kept while the agent restarts.
KEPT = 600


def battery_pct(percentage, scale=100.0):
    """Per cent, or None where the driver does not measure or gives another scale than was said."""
    if not math.isfinite(percentage):
        return None
    value = percentage * scale
    return round(value, 1) if 0 <= value <= 100 else None


def make_sample(percentage, scale, charging, pose, speed):
    """Body of one telemetry sample; without recorded_at its time is when the agent takes it."""
    moving = speed is not None and abs(speed) > 0.01
    metrics = {}
    if pose is not None:
        metrics["x_m"], metrics["y_m"] = pose
    if speed is not None:
        metrics["speed_m_s"] = speed
    # JSON has no NaN and no infinity; some drivers send them.
    metrics = {name: value for name, value in metrics.items() if math.isfinite(value)}
    return {
        "battery_pct": None if percentage is None else battery_pct(percentage, scale),
        "state": "charging" if charging else "busy" if moving else "idle",
        "metrics": metrics,
    }


class AgentConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=10)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def post_samples(path, samples):
    """Status and body of the agent's answer; OSError or HTTPException where there is none."""
    connection = AgentConnection(path)
    try:
        body = json.dumps({"samples": samples}, allow_nan=False)
        headers = {"content-type": "application/json"}
        connection.request("POST", "/api/v1/telemetry", body, headers)
        response = connection.getresponse()
        return response.status, json.load(response)
    finally:
        connection.close()


def deliver(path, waiting, stopping, warn):
    """Hands over what waits, in a thread of its own: a callback of ROS must not wait for a socket."""
    batch = []
    while not stopping.is_set():
        try:
            batch.append(waiting.get(timeout=0.5))
            while len(batch) < BATCH:
                batch.append(waiting.get_nowait())
        except queue.Empty:
            pass
        if not batch:
            continue
        try:
            status, body = post_samples(path, batch)
            if status >= 500:
                warn(f"svc-agent cannot take samples now: {body.get('message')}")
                stopping.wait(1)
                continue
            if status != 201:
                warn(f"svc-agent refused samples: {body.get('message')}")
            batch = []
        except (OSError, http.client.HTTPException, ValueError) as error:
            warn(f"svc-agent cannot be reached: {error}")
            stopping.wait(1)


def main():
    # Here, so that what is above can be used and tested without ROS.
    import rclpy
    from nav_msgs.msg import Odometry
    from rclpy.node import Node
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import BatteryState

    class Bridge(Node):
        def __init__(self):
            super().__init__("svc_bridge")
            path = self.declare_parameter("socket", SOCKET).value
            self.scale = self.declare_parameter("battery_scale", 100.0).value
            self.battery = None
            self.odometry = None
            self.waiting = queue.Queue(KEPT)
            self.stopping = threading.Event()
            warn = lambda text: self.get_logger().warning(text, throttle_duration_sec=60.0)
            self.thread = threading.Thread(
                target=deliver, args=(path, self.waiting, self.stopping, warn), daemon=True
            )
            self.thread.start()
            self.create_subscription(
                BatteryState, "battery_state", self.keep_battery, qos_profile_sensor_data
            )
            self.create_subscription(Odometry, "odom", self.keep_odometry, qos_profile_sensor_data)
            self.create_timer(1.0, self.sample)

        def keep_battery(self, message):
            self.battery = message

        def keep_odometry(self, message):
            self.odometry = message

        def sample(self):
            battery, odometry = self.battery, self.odometry
            if battery is None and odometry is None:
                return
            charging = BatteryState.POWER_SUPPLY_STATUS_CHARGING
            position = odometry and odometry.pose.pose.position
            one = make_sample(
                battery.percentage if battery else None,
                self.scale,
                battery is not None and battery.power_supply_status == charging,
                (position.x, position.y) if odometry else None,
                odometry.twist.twist.linear.x if odometry else None,
            )
            try:
                self.waiting.put_nowait(one)
            except queue.Full:
                self.get_logger().warning("samples are lost: svc-agent takes none")

    rclpy.init()
    bridge = Bridge()
    try:
        rclpy.spin(bridge)
    except KeyboardInterrupt:
        pass
    finally:
        bridge.stopping.set()
        bridge.destroy_node()
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()

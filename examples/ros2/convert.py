"""Conversions between ROS 2 messages and robot_svc, as pure functions. They need no ROS.

Messages are objects with the fields of their interface, as rclpy passes them.
"""

import hashlib
import json
import math
import uuid

#: Arrays with more items are replaced by their hash, because evidence has at most 256 KiB.
LONGEST_ARRAY = 1000
LONGEST_TITLE = 200
LONGEST_EVENT_MESSAGE = 2000

#: sensor_msgs/BatteryState: POWER_SUPPLY_STATUS_CHARGING
CHARGING = 1
#: diagnostic_msgs/DiagnosticStatus: OK, WARN, ERROR, STALE
SEVERITIES = ("info", "warn", "error", "error")
#: action_msgs/GoalStatus: STATUS_SUCCEEDED, STATUS_CANCELED. All other final states are failures.
OUTCOMES = {4: "succeeded", 5: "aborted"}

#: What the YAML file may have, with the defaults.
DEFAULTS = {
    "socket": None,
    "period_s": 1.0,
    "battery": {"topic": None, "scale": 100.0},
    "odometry": {"topic": None, "moving_m_s": 0.01},
    "diagnostics": {"topic": None, "least": "warn"},
    "actions": [],
}
ACTION = {"name", "type", "title"}


def read_config(given):
    """The configuration with its defaults. Raises ValueError for an unknown or missing name."""
    config = {}
    require_known("the file", given, DEFAULTS)
    for name, default in DEFAULTS.items():
        value = given.get(name, default)
        if isinstance(default, dict):
            require_known(name, value, default)
            value = {**default, **value}
        config[name] = value
    for action in config["actions"]:
        require_known("an action", action, ACTION)
        missing = sorted(ACTION - set(action))
        if missing:
            raise ValueError(f"An action needs {', '.join(missing)}.")
    if config["diagnostics"]["least"] not in SEVERITIES:
        raise ValueError("diagnostics.least must be info, warn or error.")
    return config


def require_known(place, given, known):
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise ValueError(f"Unknown in {place}: {', '.join(unknown)}. Known: {', '.join(sorted(known))}.")


def to_json(value):
    """A message as JSON. NaN and infinity become null. A long array becomes the number and the hash of its items."""
    if hasattr(value, "get_fields_and_field_types"):
        return {name: to_json(getattr(value, name)) for name in value.get_fields_and_field_types()}
    if isinstance(value, bytes):
        # The type `byte` is bytes of length 1.
        return value[0] if len(value) == 1 else to_json(list(value))
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if hasattr(value, "tolist"):
        return to_json(value.tolist())
    if isinstance(value, (list, tuple)):
        items = [to_json(item) for item in value]
        return items if len(items) <= LONGEST_ARRAY else hashed(items)
    return value


def hashed(items):
    text = json.dumps(items, separators=(",", ":"))
    return {"items": len(items), "sha256": hashlib.sha256(text.encode()).hexdigest()}


def sample_of(battery, odometry, config):
    """Arguments of telemetry(), of the last sensor_msgs/BatteryState and nav_msgs/Odometry; each may be None."""
    metrics, battery_pct, state = {}, None, None
    if odometry is not None:
        position, twist = odometry.pose.pose.position, odometry.twist.twist
        speed = math.hypot(twist.linear.x, twist.linear.y)
        metrics.update(x_m=position.x, y_m=position.y, speed_m_s=speed)
        metrics["yaw_rad"] = yaw_of(odometry.pose.pose.orientation)
        is_moving = speed > config["odometry"]["moving_m_s"] or abs(twist.angular.z) > 0.01
        state = "busy" if is_moving else "idle"
    if battery is not None:
        battery_pct = percent_of(battery.percentage, config["battery"]["scale"])
        metrics.update(voltage_v=battery.voltage, current_a=battery.current)
        metrics["battery_c"] = battery.temperature
        if battery.power_supply_status == CHARGING:
            state = "charging"
    # JSON has no NaN and no infinity. Drivers send NaN for what they do not measure.
    metrics = {name: value for name, value in metrics.items() if math.isfinite(value)}
    return {"battery_pct": battery_pct, "state": state, "metrics": metrics}


def percent_of(percentage, scale):
    """BatteryState.percentage is 0 to 1 by its definition; some drivers send 0 to 100. None outside of that."""
    value = percentage * scale
    return round(value, 1) if 0 <= value <= 100 else None


def yaw_of(q):
    return math.atan2(2 * (q.w * q.z + q.x * q.y), 1 - 2 * (q.y * q.y + q.z * q.z))


def events_of(diagnostics, levels, least="warn"):
    """Arguments of event(), for each status of a diagnostic_msgs/DiagnosticArray whose level changed.

    ``levels`` has the last level by name, and is updated. A component that was never reported counts as OK. A return to
    OK is an event with the severity info.
    """
    events = []
    for status in diagnostics.status:
        level = to_json(status.level)
        before = levels.get(status.name, 0)
        levels[status.name] = level
        severity = SEVERITIES[min(level, 3)]
        highest = max(min(level, 3), min(before, 3))
        if level == before or highest < SEVERITIES.index(least):
            continue
        payload = {
            "hardware_id": status.hardware_id,
            "level": level,
            "values": {each.key: each.value for each in status.values},
        }
        message = f"{status.name}: {status.message}"[:LONGEST_EVENT_MESSAGE]
        events.append(
            {"event_type": "diagnostic", "severity": severity, "message": message, "payload": payload}
        )
    return events


def claim_of(goal_id, goal, title):
    """Arguments of claim(), of an action's goal. The id of the goal is the id of the task, so a task is claimed once.

    ``title`` is a format string, for example ``Drive to {goal.pose.pose.position.x:.1f}``.
    """
    return {
        "title": title.format(goal=goal)[:LONGEST_TITLE],
        "id": str(uuid.UUID(bytes=bytes(bytearray(goal_id.uuid)))),
        "expected_result": {"goal": to_json(goal)},
    }


def completion_of(status, result, nonce):
    """Evidence and outcome for complete(), of the final status and the result of an action's goal."""
    evidence = {"nonce": nonce, "status": status, "result": to_json(result)}
    return evidence, OUTCOMES.get(status, "failed")

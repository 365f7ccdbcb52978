"""The conversions of examples/ros2, without ROS."""

import array
import json
import math
import unittest
import uuid
from pathlib import Path

import convert
from interfaces import Message, diagnostics, goal, odometry

try:
    import yaml
except ImportError:
    yaml = None

CONFIG = convert.read_config({})
NAN = float("nan")


def battery(percentage, **values):
    return Message("sensor_msgs/BatteryState", percentage=percentage, **values)


class Telemetry(unittest.TestCase):
    def test_combines_battery_and_odometry(self):
        state = battery(0.424, voltage=24.5, current=-1.5, temperature=NAN)

        sample = convert.sample_of(state, odometry(1.5, -2.0, 0.3), CONFIG)

        self.assertEqual(sample["battery_pct"], 42.4)
        self.assertEqual(sample["state"], "busy")
        yaw = sample["metrics"].pop("yaw_rad")
        self.assertAlmostEqual(yaw, math.pi / 2)
        expected = {"x_m": 1.5, "y_m": -2.0, "speed_m_s": 0.3, "voltage_v": 24.5, "current_a": -1.5}
        self.assertEqual(sample["metrics"], expected)

    def test_is_idle_or_charging_if_it_does_not_move(self):
        charging = battery(0.5, power_supply_status=1)

        self.assertEqual(convert.sample_of(None, odometry(), CONFIG)["state"], "idle")
        self.assertEqual(convert.sample_of(charging, odometry(), CONFIG)["state"], "charging")
        self.assertIsNone(convert.sample_of(battery(0.5), None, CONFIG)["state"])

    def test_sends_null_for_a_battery_that_is_not_measured_or_out_of_range(self):
        for percentage, scale, expected in ((NAN, 100, None), (42, 100, None), (42, 1, 42), (-0.1, 100, None)):
            config = convert.read_config({"battery": {"scale": scale}})
            sample = convert.sample_of(battery(percentage), None, config)
            self.assertEqual(sample["battery_pct"], expected)


class Diagnostics(unittest.TestCase):
    def test_reports_a_change_of_level_once(self):
        levels = {}

        first = convert.events_of(diagnostics(motor=1, lidar=0, arm=2, hand=3), levels)
        same = convert.events_of(diagnostics(motor=1, lidar=0, arm=2, hand=3), levels)
        better = convert.events_of(diagnostics(motor=0), levels)

        self.assertEqual([each["severity"] for each in first], ["warn", "error", "error"])
        self.assertEqual(first[0]["message"], "motor: Hot")
        self.assertEqual(first[0]["payload"], {"hardware_id": "", "level": 1, "values": {"celsius": "81"}})
        self.assertEqual(same, [])
        self.assertEqual([each["severity"] for each in better], ["info"])

    def test_leaves_out_what_is_below_the_least_severity(self):
        events = convert.events_of(diagnostics(motor=1, arm=2), {}, least="error")

        self.assertEqual([each["payload"]["level"] for each in events], [2])


class Actions(unittest.TestCase):
    def test_claims_a_goal_with_its_id(self):
        goal_id = Message("unique_identifier_msgs/UUID", uuid=array.array("B", range(16)))

        claim = convert.claim_of(goal_id, goal(1.5, -2.0), "Drive to {goal.pose.pose.position.x:.1f}")

        self.assertEqual(claim["title"], "Drive to 1.5")
        self.assertEqual(claim["id"], str(uuid.UUID(bytes=bytes(range(16)))))
        self.assertEqual(claim["expected_result"]["goal"]["pose"]["pose"]["position"], {"x": 1.5, "y": -2.0, "z": 0.0})

    def test_completes_by_the_final_status(self):
        result = Message("nav2_msgs/NavigateToPose_Result", error_code=9003)
        outcomes = [convert.completion_of(status, result, "00")[1] for status in (4, 5, 6, 0)]

        self.assertEqual(outcomes, ["succeeded", "aborted", "failed", "failed"])
        evidence, _ = convert.completion_of(6, result, "00")
        expected = {"nonce": "00", "status": 6, "result": {"error_code": 9003, "error_msg": ""}}
        self.assertEqual(evidence, expected)


class Json(unittest.TestCase):
    def test_has_every_field_of_a_message(self):
        message = odometry(1.0, NAN)
        message.pose.covariance[0] = math.inf

        value = convert.to_json(message)

        json.dumps(value, allow_nan=False)
        self.assertEqual(value["header"], {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": ""})
        self.assertIsNone(value["pose"]["pose"]["position"]["y"])
        self.assertEqual(len(value["pose"]["covariance"]), 36)
        self.assertIsNone(value["pose"]["covariance"][0])

    def test_replaces_a_long_array_by_its_hash(self):
        scan = convert.to_json(array.array("f", [0.5] * 1001))

        self.assertEqual(scan["items"], 1001)
        self.assertRegex(scan["sha256"], "^[0-9a-f]{64}$")


class Config(unittest.TestCase):
    def test_names_what_is_unknown_or_missing(self):
        for given, message in (
            ({"sockett": "x"}, "Unknown in the file: sockett"),
            ({"battery": {"topics": "x"}}, "Unknown in battery: topics"),
            ({"actions": [{"name": "dock"}]}, "An action needs title, type"),
            ({"diagnostics": {"least": "fatal"}}, "diagnostics.least"),
        ):
            with self.assertRaisesRegex(ValueError, message):
                convert.read_config(given)

    @unittest.skipIf(yaml is None, "NOT CHECKED: PyYAML is not on this machine")
    def test_reads_the_file_of_the_example(self):
        text = (Path(convert.__file__).parent / "svc.yaml").read_text()

        config = convert.read_config(yaml.safe_load(text))

        self.assertEqual(config["battery"]["topic"], "battery_state")
        self.assertEqual(config["actions"][0]["name"], "navigate_to_pose")


if __name__ == "__main__":
    unittest.main()

"""Classes like those that ROS 2 generates, from the fields of the interface definitions (common_interfaces, nav2_msgs)."""

import array

FIELDS = {
    "builtin_interfaces/Time": "int32 sec, uint32 nanosec",
    "std_msgs/Header": "builtin_interfaces/Time stamp, string frame_id",
    "unique_identifier_msgs/UUID": "uint8[16] uuid",
    "geometry_msgs/Point": "float64 x, float64 y, float64 z",
    "geometry_msgs/Quaternion": "float64 x, float64 y, float64 z, float64 w",
    "geometry_msgs/Vector3": "float64 x, float64 y, float64 z",
    "geometry_msgs/Pose": "geometry_msgs/Point position, geometry_msgs/Quaternion orientation",
    "geometry_msgs/PoseStamped": "std_msgs/Header header, geometry_msgs/Pose pose",
    "geometry_msgs/PoseWithCovariance": "geometry_msgs/Pose pose, float64[36] covariance",
    "geometry_msgs/Twist": "geometry_msgs/Vector3 linear, geometry_msgs/Vector3 angular",
    "geometry_msgs/TwistWithCovariance": "geometry_msgs/Twist twist, float64[36] covariance",
    "nav_msgs/Odometry": "std_msgs/Header header, string child_frame_id, "
    "geometry_msgs/PoseWithCovariance pose, geometry_msgs/TwistWithCovariance twist",
    "sensor_msgs/BatteryState": "std_msgs/Header header, float32 voltage, float32 temperature, float32 current, "
    "float32 charge, float32 capacity, float32 design_capacity, float32 percentage, uint8 power_supply_status, "
    "uint8 power_supply_health, uint8 power_supply_technology, bool present, float32[] cell_voltage, "
    "float32[] cell_temperature, string location, string serial_number",
    "diagnostic_msgs/KeyValue": "string key, string value",
    "diagnostic_msgs/DiagnosticStatus": "byte level, string name, string message, string hardware_id, "
    "diagnostic_msgs/KeyValue[] values",
    "diagnostic_msgs/DiagnosticArray": "std_msgs/Header header, diagnostic_msgs/DiagnosticStatus[] status",
    "nav2_msgs/NavigateToPose_Goal": "geometry_msgs/PoseStamped pose, string behavior_tree",
    "nav2_msgs/NavigateToPose_Result": "uint16 error_code, string error_msg",
}
SIMPLE = {"string": "", "bool": False, "byte": b"\0"}
ARRAYS = {"float32": "f", "float64": "d", "uint8": "B"}


class Message:
    """A message with the default of each field. Attributes are set by name."""

    def __init__(self, interface, **values):
        self._fields = dict(reversed(field.split(" ")) for field in FIELDS[interface].split(", "))
        for name, kind in self._fields.items():
            setattr(self, name, default_of(kind))
        for name, value in values.items():
            assert name in self._fields, name
            setattr(self, name, value)

    def get_fields_and_field_types(self):
        return dict(self._fields)


def default_of(kind):
    base, _, length = kind.partition("[")
    if length:
        items = [0] * int(length.rstrip("]") or 0)
        return array.array(ARRAYS[base], items) if base in ARRAYS else items
    if base in FIELDS:
        return Message(base)
    return SIMPLE.get(base, 0.0 if base.startswith("float") else 0)


def odometry(x=0.0, y=0.0, speed=0.0):
    message = Message("nav_msgs/Odometry")
    message.pose.pose.position.x, message.pose.pose.position.y = x, y
    message.pose.pose.orientation.z, message.pose.pose.orientation.w = 0.5**0.5, 0.5**0.5
    message.twist.twist.linear.x = speed
    return message


def diagnostics(**levels):
    status = [
        Message(
            "diagnostic_msgs/DiagnosticStatus",
            name=name,
            level=bytes([level]),
            message="Hot",
            values=[Message("diagnostic_msgs/KeyValue", key="celsius", value="81")],
        )
        for name, level in levels.items()
    ]
    return Message("diagnostic_msgs/DiagnosticArray", status=status)


def goal(x, y):
    message = Message("nav2_msgs/NavigateToPose_Goal")
    message.pose.pose.position.x, message.pose.pose.position.y = x, y
    return message

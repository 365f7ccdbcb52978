// A row of the robot table.
import { Checkbox, Table, Text } from '@mantine/core';
import { Link } from 'wouter';
import type { Robot } from '../../../protocol/resources.ts';
import { StateBadge } from '../../ui/badge.tsx';
import { Ago } from '../../ui/time.tsx';

interface RobotRowProps {
  robot: Robot;
  /** Name of the robot's fleet. */
  fleet: string | undefined;
  isOnline: boolean;
  isChosen: boolean;
  onChoose: (on: boolean) => void;
}

/** On a narrow screen, battery, fleet and time are below the name. */
export function RobotRow({ robot, fleet, isOnline, isChosen, onChoose }: RobotRowProps) {
  const seen =
    robot.last_seen_at === null ? (
      <Text span size="sm" c="dimmed">
        never
      </Text>
    ) : (
      <Ago at={robot.last_seen_at} />
    );
  return (
    <Table.Tr data-old={!isOnline || undefined} data-chosen={isChosen || undefined}>
      <Table.Td>
        <Checkbox
          aria-label={`Select ${robot.name}`}
          checked={isChosen}
          onChange={({ currentTarget }) => onChoose(currentTarget.checked)}
        />
      </Table.Td>
      <Table.Th scope="row" className="row-name">
        <Link href={`/robots/${robot.id}`}>{robot.name}</Link>
        <div className="narrow-only">
          {fleet && `${fleet} · `}
          {robot.battery_pct !== null && `${Math.round(robot.battery_pct)} % · `}
          {seen}
        </div>
      </Table.Th>
      <Table.Td className="reading">
        {robot.state === null ? <Dash /> : <StateBadge state={robot.state} />}
      </Table.Td>
      <Table.Td className="reading wide-only">
        {robot.battery_pct === null ? <Dash /> : <Battery percent={robot.battery_pct} />}
      </Table.Td>
      <Table.Td className="wide-only">
        {fleet === undefined ? <Dash /> : <span className="clipped">{fleet}</span>}
      </Table.Td>
      <Table.Td className="wide-only">{seen}</Table.Td>
    </Table.Tr>
  );
}

/** Percentage below which a robot should go to a dock. */
const LOW_PERCENT = 20;

function Battery({ percent }: { percent: number }) {
  return (
    <span className="battery" data-low={percent < LOW_PERCENT || undefined}>
      <span className="battery-bar" aria-hidden>
        <span style={{ width: `${percent}%` }} />
      </span>
      {Math.round(percent)} %
    </span>
  );
}

/** Shown without a value. */
function Dash() {
  return <span className="dash">–</span>;
}

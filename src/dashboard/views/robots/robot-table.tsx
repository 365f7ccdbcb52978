import { Checkbox, NativeSelect, Table, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'wouter';
import type { Fleet } from '../../../protocol/fleets.ts';
import type { Robot } from '../../../protocol/resources.ts';
import { StateBadge } from '../../ui/robot-state.tsx';
import { ScrollTable } from '../../ui/scroll-table.tsx';
import { Empty } from '../../ui/states.tsx';
import { Ago, useNow } from '../../ui/time.tsx';
import { AssignBar } from './assign-bar.tsx';
import { type Column, isOnline, pickRobots, type Sorting } from './pick-robots.ts';

const columns: [Column, string][] = [
  ['name', 'Name'],
  ['state', 'State'],
  ['battery', 'Battery'],
  ['fleet', 'Fleet'],
  ['seen', 'Last seen'],
];

interface RobotTableProps {
  robots: Robot[];
  fleets: Fleet[];
}

export function RobotTable({ robots, fleets }: RobotTableProps) {
  const [search, setSearch] = useState('');
  const [fleetId, setFleetId] = useState('any');
  const [state, setState] = useState('any');
  const [sorting, setSorting] = useState<Sorting>({ by: 'name', down: false });
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const now = useNow(10_000);
  const shown = pickRobots(robots, { search, fleetId, state, sorting, fleets });
  const selected = shown.filter(({ id }) => chosen.has(id));
  const states = [...new Set(robots.map((robot) => robot.state).filter((one) => one !== null))];
  const choose = (ids: string[], on: boolean) => {
    const next = new Set(chosen);
    for (const id of ids) on ? next.add(id) : next.delete(id);
    setChosen(next);
  };
  return (
    <>
      <div className="filters">
        <TextInput
          aria-label="Search robots"
          placeholder="Search by name or description"
          type="search"
          value={search}
          onChange={({ currentTarget }) => setSearch(currentTarget.value)}
        />
        <NativeSelect
          aria-label="Fleet"
          value={fleetId}
          onChange={({ currentTarget }) => setFleetId(currentTarget.value)}
          data={[
            { value: 'any', label: 'Any fleet' },
            { value: 'none', label: 'In no fleet' },
            ...fleets.map(({ id, name }) => ({ value: id, label: name })),
          ]}
        />
        <NativeSelect
          aria-label="State"
          value={state}
          onChange={({ currentTarget }) => setState(currentTarget.value)}
          data={[{ value: 'any', label: 'Any state' }, ...states.sort()]}
        />
      </div>
      <AssignBar robots={selected} fleets={fleets} onDone={() => setChosen(new Set())} />
      {shown.length === 0 ? (
        <Empty title="No robot matches">Change the search or the filters.</Empty>
      ) : (
        <ScrollTable label="Robots" minWidth={680} className="card table-card">
          <Table.Thead>
            <Table.Tr>
              <Table.Th w={40}>
                <Checkbox
                  aria-label="Select all that are shown"
                  checked={selected.length === shown.length}
                  indeterminate={selected.length > 0 && selected.length < shown.length}
                  onChange={({ currentTarget }) =>
                    choose(
                      shown.map(({ id }) => id),
                      currentTarget.checked,
                    )
                  }
                />
              </Table.Th>
              {columns.map(([column, label]) => (
                <SortHeader
                  key={column}
                  label={label}
                  sorted={
                    sorting.by === column ? (sorting.down ? 'descending' : 'ascending') : 'none'
                  }
                  onSort={() =>
                    setSorting({ by: column, down: sorting.by === column && !sorting.down })
                  }
                />
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {shown.map((robot) => (
              <Table.Tr key={robot.id} data-old={!isOnline(robot, now) || undefined}>
                <Table.Td>
                  <Checkbox
                    aria-label={`Select ${robot.name}`}
                    checked={chosen.has(robot.id)}
                    onChange={({ currentTarget }) => choose([robot.id], currentTarget.checked)}
                  />
                </Table.Td>
                <Table.Th scope="row" fw={600}>
                  <Link href={`/robots/${robot.id}`}>{robot.name}</Link>
                </Table.Th>
                <Table.Td className="reading">
                  {robot.state === null ? <Dash /> : <StateBadge state={robot.state} />}
                </Table.Td>
                <Table.Td className="reading">
                  {robot.battery_pct === null ? <Dash /> : `${Math.round(robot.battery_pct)} %`}
                </Table.Td>
                <Table.Td>
                  {fleets.find(({ id }) => id === robot.fleet_id)?.name ?? <Dash />}
                </Table.Td>
                <Table.Td>
                  {robot.last_seen_at === null ? (
                    <Text size="sm" c="dimmed">
                      never
                    </Text>
                  ) : (
                    <Ago at={robot.last_seen_at} />
                  )}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </ScrollTable>
      )}
    </>
  );
}

interface SortHeaderProps {
  label: string;
  sorted: 'ascending' | 'descending' | 'none';
  onSort: () => void;
}

function SortHeader({ label, sorted, onSort }: SortHeaderProps) {
  return (
    <Table.Th aria-sort={sorted}>
      <button type="button" className="sort" onClick={onSort}>
        {label}
        <span aria-hidden>{{ ascending: ' ↑', descending: ' ↓', none: '' }[sorted]}</span>
      </button>
    </Table.Th>
  );
}

/** Where there is nothing to show. */
function Dash() {
  return <span className="dash">–</span>;
}

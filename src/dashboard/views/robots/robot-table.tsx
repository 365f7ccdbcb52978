// The robot table with search, filters, sorting and selection.
import { Checkbox, Table, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { Fleet } from '../../../protocol/fleets.ts';
import type { Robot } from '../../../protocol/resources.ts';
import { Choice, optionsOf, useSearchParam } from '../../ui/fields.tsx';
import { ScrollTable } from '../../ui/scroll-table.tsx';
import { Empty } from '../../ui/states.tsx';
import { useTenSeconds } from '../../ui/time.tsx';
import { AssignBar } from './assign-bar.tsx';
import { columns, isOnline, pickRobots, sortingFrom, sortingText } from './pick-robots.ts';
import { RobotRow } from './robot-row.tsx';
import '../../lists/lists.css';
import './robots.css';

interface RobotTableProps {
  robots: Robot[];
  fleets: Fleet[];
}

export function RobotTable({ robots, fleets }: RobotTableProps) {
  const [search, setSearch] = useSearchParam('search');
  const [fleetId, setFleetId] = useSearchParam('fleet');
  const [state, setState] = useSearchParam('state');
  const [sort, setSort] = useSearchParam('sort');
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const now = useTenSeconds();
  const sorting = sortingFrom(sort);
  const shown = pickRobots(robots, { search, fleetId, state, sorting, fleets });
  const selected = shown.filter(({ id }) => chosen.has(id));
  const fleetNames = new Map(fleets.map(({ id, name }) => [id, name]));
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
        <Choice
          label="Fleet"
          options={[
            { value: '', label: 'Any fleet' },
            { value: 'none', label: 'In no fleet' },
            ...optionsOf(fleets),
          ]}
          value={fleetId}
          onChange={setFleetId}
        />
        <Choice
          label="State"
          options={[{ value: '', label: 'Any state' }, ...stateOptions(robots)]}
          value={state}
          onChange={setState}
        />
      </div>
      <AssignBar robots={selected} fleets={fleets} onDone={() => setChosen(new Set())} />
      {shown.length === 0 ? (
        <Empty title="No robot matches">Change the search or the filters.</Empty>
      ) : (
        <ScrollTable label="Robots" className="card table-card">
          <Table.Thead>
            <Table.Tr>
              <Table.Th w={40}>
                <Checkbox
                  aria-label="Select all shown robots"
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
              {columns.map(({ column, label, isWide }) => (
                <SortHeader
                  key={column}
                  label={label}
                  isWide={isWide}
                  sorted={
                    sorting.by === column ? (sorting.down ? 'descending' : 'ascending') : 'none'
                  }
                  onSort={() =>
                    setSort(
                      sortingText({ by: column, down: sorting.by === column && !sorting.down }),
                    )
                  }
                />
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {shown.map((robot) => (
              <RobotRow
                key={robot.id}
                robot={robot}
                fleet={fleetNames.get(robot.fleet_id ?? '')}
                isOnline={isOnline(robot, now)}
                isChosen={chosen.has(robot.id)}
                onChoose={(on) => choose([robot.id], on)}
              />
            ))}
          </Table.Tbody>
        </ScrollTable>
      )}
    </>
  );
}

function stateOptions(robots: Robot[]) {
  const states = new Set(robots.map(({ state }) => state).filter((state) => state !== null));
  return [...states].sort().map((state) => ({ value: state, label: state }));
}

interface SortHeaderProps {
  label: string;
  isWide: boolean;
  sorted: 'ascending' | 'descending' | 'none';
  onSort: () => void;
}

function SortHeader({ label, isWide, sorted, onSort }: SortHeaderProps) {
  return (
    <Table.Th aria-sort={sorted} {...(isWide && { className: 'wide-only' })}>
      <button type="button" className="sort" onClick={onSort}>
        {label}
        <span aria-hidden>{{ ascending: ' ↑', descending: ' ↓', none: '' }[sorted]}</span>
      </button>
    </Table.Th>
  );
}

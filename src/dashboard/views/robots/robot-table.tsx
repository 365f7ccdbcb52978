// The robot table with search, filters, sorting and selection.
import { lazy, Suspense, useDeferredValue, useState } from 'react';
import { Link } from 'wouter';
import type { Fleet } from '../../../protocol/fleets.ts';
import type { Robot } from '../../../protocol/resources.ts';
import { RobotBadge, stateOf } from '../../ui/badge.tsx';
import { EventTime } from '../../ui/event-time.tsx';
import { AddressChoice, optionsOf, TextField, useSearchParam } from '../../ui/fields.tsx';
import { Empty } from '../../ui/states.tsx';
import { Ago, useTenSeconds } from '../../ui/time.tsx';
import { VirtualTable } from '../../ui/virtual-table.tsx';
import { Battery } from './battery.tsx';
import { pickRobots, type Sorting, sortingFrom } from './pick-robots.ts';
import '../../lists/lists.css';
import './robots.css';

const MoveBar = lazy(() => import('./move-bar.tsx'));

interface RobotTableProps {
  robots: Robot[];
  fleets: Fleet[];
  /** False while there may be more robots. */
  isWhole: boolean;
}

export function RobotTable({ robots, fleets, isWhole }: RobotTableProps) {
  const [search, setSearch] = useSearchParam('search');
  const [fleetId] = useSearchParam('fleet');
  const [state] = useSearchParam('state');
  const [battery] = useSearchParam('battery');
  const [sort, setSort] = useSearchParam('sort');
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const now = useTenSeconds();
  const sorting = sortingFrom(sort);
  const sought = useDeferredValue(search);
  const choice = { search: sought, fleetId, state, battery, sorting, fleets, now };
  const shown = pickRobots(robots, choice);
  const selected = shown.filter(({ id }) => chosen.has(id));
  const fleetNames = new Map(fleets.map(({ id, name }) => [id, name]));
  const fleetOf = ({ fleet_id }: Robot) => fleetNames.get(fleet_id ?? '');
  const choose = (some: Robot[], on: boolean) => {
    const next = new Set(chosen);
    for (const { id } of some) on ? next.add(id) : next.delete(id);
    setChosen(next);
  };
  /** The header of a column that sorts. */
  const sorted = (by: Sorting['by'], label: string) => {
    const isSorted = sorting.by === by;
    const next = isSorted && !sorting.down ? `-${by}` : by;
    const order = sorting.down ? ('descending' as const) : ('ascending' as const);
    return {
      sorted: isSorted ? order : ('none' as const),
      title: (
        <button type="button" className="sort" onClick={() => setSort(next)}>
          {label}
          {isSorted && <span aria-hidden>{sorting.down ? ' ↓' : ' ↑'}</span>}
        </button>
      ),
    };
  };
  return (
    <>
      <div className="filters">
        <TextField
          aria-label="Search robots"
          placeholder="Search by name or description"
          type="search"
          value={search}
          onChange={setSearch}
        />
        <AddressChoice
          name="fleet"
          aria-label="Fleet"
          options={optionsOf('Any fleet', [{ id: 'none', name: 'In no fleet' }, ...fleets])}
        />
        <AddressChoice name="state" aria-label="State" options={stateOptions(robots, state, now)} />
        <AddressChoice name="battery" aria-label="Battery" options={batteries} />
      </div>
      {shown.length === 0 ? (
        <Empty title="No robot matches">Change the search or the filters.</Empty>
      ) : (
        <div className="card table-card">
          <VirtualTable
            key={JSON.stringify([sought, fleetId, state, battery, sort])}
            label="Robots"
            items={shown}
            onEnd={isWhole ? undefined : () => {}}
            isMarked={({ id }) => chosen.has(id)}
            columns={[
              {
                title: (
                  <input
                    type="checkbox"
                    aria-label="Select all shown robots"
                    checked={selected.length === shown.length}
                    ref={(box) => {
                      if (box)
                        box.indeterminate = selected.length > 0 && selected.length < shown.length;
                    }}
                    onChange={({ currentTarget }) => choose(shown, currentTarget.checked)}
                  />
                ),
                width: '2.75rem',
                cell: (robot) => (
                  <input
                    type="checkbox"
                    aria-label={`Select ${robot.name}`}
                    checked={chosen.has(robot.id)}
                    onChange={({ currentTarget }) => choose([robot], currentTarget.checked)}
                  />
                ),
              },
              {
                ...sorted('name', 'Name'),
                isName: true,
                cell: (robot) => (
                  <>
                    <Link href={`/robots/${robot.id}`}>{robot.name}</Link>
                    <div className="narrow-only">
                      {fleetOf(robot) && `${fleetOf(robot)} · `}
                      {robot.battery_pct !== null && `${Math.round(robot.battery_pct)} % · `}
                      <Seen robot={robot} />
                    </div>
                  </>
                ),
              },
              {
                ...sorted('state', 'State'),
                width: '7.5rem',
                cell: (robot) => <RobotBadge robot={robot} />,
              },
              {
                ...sorted('battery', 'Battery'),
                isWide: true,
                isNumber: true,
                width: '8rem',
                cell: (robot) => <Battery percent={robot.battery_pct} />,
              },
              {
                title: 'Task',
                isWide: true,
                cell: ({ current_task: task }) =>
                  task ? <Link href={`/tasks/${task.id}`}>{task.title}</Link> : <Dash />,
              },
              {
                title: 'Last error',
                isWide: true,
                cell: ({ last_error: error }) =>
                  error ? (
                    <>
                      {error.message.slice(0, 60) || error.event_type}
                      <div className="dash">
                        <EventTime event={error} />
                      </div>
                    </>
                  ) : (
                    <Dash />
                  ),
              },
              {
                ...sorted('fleet', 'Fleet'),
                isWide: true,
                cell: (robot) => fleetOf(robot) ?? <span className="dash">–</span>,
              },
              {
                ...sorted('seen', 'Last seen'),
                isWide: true,
                width: '8rem',
                cell: (robot) => <Seen robot={robot} />,
              },
            ]}
          />
        </div>
      )}
      <Suspense>
        <MoveBar robots={selected} fleets={fleets} onDone={() => setChosen(new Set())} />
      </Suspense>
    </>
  );
}

const batteries = optionsOf('Any battery', [
  ...Array.from({ length: 10 }, (_, ten) => ({
    id: String(ten),
    name: `Battery ${ten * 10}–${ten * 10 + 10} %`,
  })),
  { id: 'none', name: 'Battery unknown' },
]);

/** The states that robots have, and the one that is chosen. */
function stateOptions(robots: Robot[], chosen: string, now: number) {
  const states = new Set(robots.map((robot) => stateOf(robot, now) ?? 'none'));
  if (chosen !== '') states.add(chosen);
  const named = [...states].sort().map((state) => ({
    id: state,
    name: state === 'none' ? 'No state' : state,
  }));
  return optionsOf('Any state', named);
}

function Seen({ robot: { last_seen_at: at } }: { robot: Robot }) {
  return at === null ? <span className="dash">never</span> : <Ago at={at} />;
}

function Dash() {
  return <span className="dash">–</span>;
}

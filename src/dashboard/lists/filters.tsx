// A list of tasks or events with its filters, which the address keeps.
import { useQuery } from '@tanstack/react-query';
import type { ComponentType } from 'react';
import { useSearchParams } from 'wouter';
import { fleetsQuery, robotsQuery } from '../queries.ts';
import { CsvButton, type CsvButtonProps } from '../ui/csv-button.tsx';
import { Choice, type Option, optionsOf, TextField, useSearchParam } from '../ui/fields.tsx';
import { fromField, toField } from '../ui/time-zone.ts';
import type { ListProps } from './paged-list.tsx';
import './lists.css';

interface Filter {
  /** Its parameter in the address and in the query. */
  name: string;
  label: string;
  /** The first is no filter. Without options the filter is a text. */
  options?: readonly Option[];
}

/** Parameters that every list has: in the address, and in the query. */
const shared = { robot: 'robot_id', fleet: 'fleet_id', from: 'from', to: 'to' } as const;

/** The filters of the address as a query. Values that a filter does not have are left out. */
function useFilters(filters: readonly Filter[]): Record<string, string> {
  const [search] = useSearchParams();
  const known = filters.filter(({ name, options }) =>
    options ? options.some(({ value }) => value === search.get(name)) : true,
  );
  const names = [...Object.entries(shared), ...known.map(({ name }) => [name, name] as const)];
  const given = names.map(([name, parameter]) => [parameter, search.get(name) ?? ''] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== ''));
}

interface FilteredListProps {
  filters: readonly Filter[];
  list: ComponentType<ListProps>;
  /** Where to read all items of the list as CSV, and the name of the file. */
  csv?: Pick<CsvButtonProps, 'path' | 'name'>;
}

/** A list, after the fields of its filters. */
export function FilteredList({ filters, list: List, csv }: FilteredListProps) {
  const filter = useFilters(filters);
  const { data: robots } = useQuery(robotsQuery);
  const { data: fleets } = useQuery(fleetsQuery);
  const ofRobots = { name: 'robot', label: 'Robot', options: optionsOf('Any robot', robots) };
  const ofFleets = { name: 'fleet', label: 'Fleet', options: optionsOf('Any fleet', fleets) };
  return (
    <>
      <div className="filters">
        {[...filters, ofRobots, ofFleets].map((filter) => (
          <FilterField key={filter.name} {...filter} />
        ))}
      </div>
      <div className="filters filters-wide">
        <TimeField name="from" label="From" />
        <TimeField name="to" label="To" />
        {csv && <CsvButton {...csv} query={filter} className="filters-end" />}
      </div>
      <div className="card">
        <List filter={filter} />
      </div>
    </>
  );
}

function FilterField({ name, label, options }: Filter) {
  const [value, setValue] = useSearchParam(name);
  const field = { label, value, onChange: setValue };
  if (options) return <Choice {...field} options={options} />;
  return <TextField {...field} placeholder="Any" />;
}

function TimeField({ name, label }: { name: string; label: string }) {
  const [value, setValue] = useSearchParam(name);
  return (
    <TextField
      type="datetime-local"
      label={label}
      value={toField(value)}
      onChange={(text) => setValue(fromField(text))}
    />
  );
}

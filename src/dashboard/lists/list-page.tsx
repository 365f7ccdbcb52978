// The page around a list of tasks or events, with its filters.
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { robotsQuery } from '../queries.ts';
import { Choice, type Option, optionsOf, useSearchParam } from '../ui/fields.tsx';
import { Page } from '../ui/page.tsx';
import './lists.css';

interface ListPageProps {
  title: string;
  lead: string;
  /** The second filter; `name` is its parameter in the address. */
  filter: { name: string; label: string; options: readonly Option[] };
  /** `''` is no filter. */
  children: (chosen: string, robotId: string) => ReactNode;
}

/** A list of all robots' work, filtered by the parameters of the address. */
export function ListPage({ title, lead, filter, children }: ListPageProps) {
  const { data: robots } = useQuery(robotsQuery);
  const [robotId, setRobotId] = useSearchParam('robot');
  const [chosen, setChosen] = useSearchParam(filter.name);
  const isKnown = filter.options.some(({ value }) => value === chosen);
  return (
    <Page title={title} lead={lead}>
      <div className="filters">
        <Choice
          label="Robot"
          options={[{ value: '', label: 'Any robot' }, ...optionsOf(robots)]}
          value={robotId}
          onChange={setRobotId}
        />
        <Choice
          label={filter.label}
          options={filter.options}
          value={isKnown ? chosen : ''}
          onChange={setChosen}
        />
      </div>
      <section className="card" aria-label={title}>
        {children(isKnown ? chosen : '', robotId)}
      </section>
    </Page>
  );
}

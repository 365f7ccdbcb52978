// The metrics that the charts of robots show: in the address, and remembered in this browser.
import { Group } from '@mantine/core';
import { useMemo } from 'react';
import { useSearchParams } from 'wouter';
import { AddressChoice, choices, useSearchParam } from '../../ui/fields.tsx';

const REMEMBERED = 'svc-metrics';

/** Metrics to choose from, besides the chosen ones: a browser takes a minute to show 100 000. */
const OFFERED = 100;

/** Metrics that are a place: the path shows them. */
const PLACES = ['x', 'y', 'x_m', 'y_m'];

/** The chosen metrics of those that the robot has: of the address, else the remembered ones, else the first two. */
export function useMetrics(names: readonly string[]): [string[], (chosen: string[]) => void] {
  const [search, setSearch] = useSearchParams();
  const inAddress = search.has('metric') ? search.getAll('metric').join('\n') : null;
  const shown = useMemo(() => {
    const text = inAddress ?? localStorage.getItem(REMEMBERED);
    if (text === null) return names.filter((name) => !PLACES.includes(name)).slice(0, 2);
    return text.split('\n').filter((name) => names.includes(name));
  }, [inAddress, names]);
  const choose = (chosen: string[]) => {
    localStorage.setItem(REMEMBERED, chosen.join('\n'));
    const next = new URLSearchParams(window.location.search);
    next.delete('metric');
    // An empty name: no metric was chosen.
    for (const name of chosen.length > 0 ? chosen : ['']) next.append('metric', name);
    setSearch(next, { replace: true });
  };
  return [shown, choose];
}

interface MetricChoiceProps {
  names: readonly string[];
  shown: string[];
  onChange: (shown: string[]) => void;
}

/** The metrics with a chart, and the two that are a place. */
export function MetricChoice({ names, shown, onChange }: MetricChoiceProps) {
  const [[x], [y]] = [useSearchParam('x'), useSearchParam('y')];
  const chosen = new Set([...shown, x, y]);
  const offered = names.filter((name, place) => place < OFFERED || chosen.has(name));
  const options = [
    ...choices('Automatic', { none: 'No path' }),
    ...offered.map((name) => ({ value: name, label: name })),
  ];
  return (
    <>
      <fieldset className="metrics">
        <legend>Metrics</legend>
        {offered.map((name) => (
          <label key={name}>
            <input
              type="checkbox"
              checked={shown.includes(name)}
              onChange={({ currentTarget: { checked } }) =>
                onChange(offered.filter((one) => (one === name ? checked : shown.includes(one))))
              }
            />
            {name}
          </label>
        ))}
      </fieldset>
      {offered.length < names.length && (
        <p className="hint">
          {names.length - offered.length} more metrics. To show one, add metric=NAME to the address.
        </p>
      )}
      <Group gap="md">
        <AddressChoice name="x" label="Path: x" options={options} />
        <AddressChoice name="y" label="Path: y" options={options} />
      </Group>
    </>
  );
}

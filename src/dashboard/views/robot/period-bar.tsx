// Chooses the period of a robot's charts, and saves its samples.
import '@mantine/core/styles/FloatingIndicator.css';
import '@mantine/core/styles/SegmentedControl.css';
import { ActionIcon, Button, Group, SegmentedControl } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { CsvButton } from '../../ui/csv-button.tsx';
import { TextField } from '../../ui/fields.tsx';
import { Icon } from '../../ui/icon.tsx';
import { fromField, timeZone, toField } from '../../ui/time-zone.ts';
import { type Period, type Range, ranges } from './period.ts';

interface PeriodBarProps {
  robotId: string;
  period: Period;
  onChoose: (chosen: Range | { from: number; to: number }) => void;
}

const CUSTOM = 'Custom';

const steps = [
  { label: 'Previous period', icon: 'back', by: -1 },
  { label: 'Next period', icon: 'forward', by: 1 },
] as const;

export function PeriodBar({ robotId, period, onChoose }: PeriodBarProps) {
  const { range, from, to } = period;
  const [isCustom, setIsCustom] = useState(false);
  return (
    <>
      <div className="period">
        <SegmentedControl
          size="xs"
          aria-label="Period"
          data={[...Object.keys(ranges), CUSTOM]}
          value={isCustom ? CUSTOM : (range ?? CUSTOM)}
          onChange={(value) => {
            setIsCustom(value === CUSTOM);
            if (value !== CUSTOM) onChoose(value as Range);
          }}
        />
        <Group gap="xs">
          {steps.map(({ label, icon, by }) => (
            <ActionIcon
              key={label}
              size={30}
              aria-label={label}
              disabled={by > 0 && to >= Date.now()}
              onClick={() => onChoose({ from: from + by * (to - from), to: to + by * (to - from) })}
            >
              <Icon name={icon} size={16} />
            </ActionIcon>
          ))}
          <CsvButton
            size="xs"
            path={`/api/v1/robots/${robotId}/telemetry`}
            query={{ from: new Date(from).toISOString(), to: new Date(to).toISOString() }}
            name={`telemetry-${robotId}`}
          />
        </Group>
      </div>
      {(isCustom || range === null) && (
        <Custom key={`${from} ${to}`} period={period} onChoose={onChoose} />
      )}
    </>
  );
}

function Custom({ period, onChoose }: Omit<PeriodBarProps, 'robotId'>) {
  const [fields, setFields] = useState(() =>
    [period.from, period.to].map((at) => toField(new Date(at).toISOString())),
  );
  const [from = 0, to = 0] = fields.map((field) => Date.parse(fromField(field)));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onChoose({ from, to });
  };
  return (
    <form onSubmit={submit} className="period-custom">
      {['From', 'To'].map((label, i) => (
        <TextField
          key={label}
          size="xs"
          type="datetime-local"
          label={timeZone() === 'UTC' ? `${label} (UTC)` : label}
          value={fields[i]}
          onChange={(text) => setFields(fields.with(i, text))}
        />
      ))}
      <Button size="xs" variant="filled" type="submit" disabled={!(from < to)}>
        Show
      </Button>
    </form>
  );
}

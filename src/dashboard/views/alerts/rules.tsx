// The rules of the account's alerts: one of each kind, with its threshold.
import { Button, Checkbox, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import type { AlertKind, AlertRule } from '../../../protocol/alerts.ts';
import { ask } from '../../api.ts';
import { reading } from '../../queries.ts';
import { Card } from '../../ui/card.tsx';
import { TextField, useField } from '../../ui/fields.tsx';
import { Loaded, Problem } from '../../ui/states.tsx';
import { kinds } from './kinds.ts';
import './alerts.css';

interface Change {
  kind: AlertKind;
  threshold: number | null;
}

export function Rules() {
  const rules = useQuery(reading(['alert-rules'], 'GET /api/v1/alert-rules'));
  const change = useMutation({
    /** Without a threshold, the rule ends. */
    mutationFn: ({ kind, threshold }: Change): Promise<unknown> =>
      threshold === null
        ? ask('DELETE /api/v1/alert-rules/:kind', { params: { kind } })
        : ask('POST /api/v1/alert-rules', { body: { kind, threshold } }),
  });
  return (
    <Card title="Rules">
      <Problem of={change} mb="sm" />
      <Loaded query={rules} what="rules">
        {(found) => (
          <ul className="rules">
            {(Object.keys(kinds) as AlertKind[]).map((kind) => {
              const rule = found.rules.find((one) => one.kind === kind);
              return (
                <Rule
                  key={`${kind} ${rule?.threshold}`}
                  kind={kind}
                  rule={rule}
                  onChange={(threshold) => change.mutate({ kind, threshold })}
                />
              );
            })}
          </ul>
        )}
      </Loaded>
    </Card>
  );
}

interface RuleProps {
  kind: AlertKind;
  rule: AlertRule | undefined;
  onChange: (threshold: number | null) => void;
}

function Rule({ kind, rule, onChange }: RuleProps) {
  const { title, condition, usual } = kinds[kind];
  const [before, after] = condition;
  const [typed, field] = useField(String(rule?.threshold ?? usual));
  const threshold = Number(typed);
  const save = (event: FormEvent) => {
    event.preventDefault();
    onChange(threshold);
  };
  return (
    <li>
      <Checkbox
        label={title}
        checked={rule !== undefined}
        onChange={({ currentTarget }) => onChange(currentTarget.checked ? threshold : null)}
      />
      <form onSubmit={save}>
        <Text>{before}</Text>
        {after !== '' && (
          <TextField
            aria-label={`${title}: ${before} N ${after}`}
            type="number"
            min={1}
            max={kind === 'battery_low' ? 100 : 10_080}
            size="xs"
            w="5rem"
            {...field}
          />
        )}
        <Text>{after}</Text>
        {rule !== undefined && threshold !== rule.threshold && (
          <Button size="xs" variant="filled" type="submit">
            Save
          </Button>
        )}
      </form>
    </li>
  );
}

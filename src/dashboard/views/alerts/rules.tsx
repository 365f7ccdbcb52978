// The rules of the account's alerts: one of each kind, with its threshold.
import '@mantine/core/styles/InlineInput.css';
import '@mantine/core/styles/Checkbox.css';
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

type Change = AlertRule | { kind: AlertKind; threshold: null };

export function Rules() {
  const rules = useQuery(reading(['alert-rules'], 'GET /api/v1/alert-rules'));
  const change = useMutation({
    /** Without a threshold, the rule ends. */
    mutationFn: (rule: Change): Promise<unknown> =>
      rule.threshold === null
        ? ask('DELETE /api/v1/alert-rules/:kind', { params: { kind: rule.kind } })
        : ask('POST /api/v1/alert-rules', { body: rule }),
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
                  key={JSON.stringify([kind, rule])}
                  kind={kind}
                  rule={rule}
                  onChange={change.mutate}
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
  onChange: (change: Change) => void;
}

function Rule({ kind, rule, onChange }: RuleProps) {
  const { title, condition, usual } = kinds[kind];
  const [before, after] = condition;
  const [typed, field] = useField(String(rule?.threshold ?? usual));
  const [named, statesField] = useField(rule?.states?.join(', ') ?? 'error');
  const states = named.split(',').flatMap((state) => state.trim() || []);
  const wanted: AlertRule = {
    kind,
    threshold: Number(typed),
    ...(kind === 'robot_state' && { states }),
  };
  const save = (event: FormEvent) => {
    event.preventDefault();
    onChange(wanted);
  };
  return (
    <li>
      <Checkbox
        label={title}
        checked={rule !== undefined}
        onChange={({ currentTarget }) =>
          onChange(currentTarget.checked ? wanted : { kind, threshold: null })
        }
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
        {wanted.states && (
          <TextField
            aria-label={`${title}: states, separated by commas`}
            size="xs"
            w="10rem"
            {...statesField}
          />
        )}
        {rule !== undefined && JSON.stringify(wanted) !== JSON.stringify(rule) && (
          <Button size="xs" variant="filled" type="submit">
            Save
          </Button>
        )}
      </form>
    </li>
  );
}

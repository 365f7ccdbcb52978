// A warning before a second robot or token gets the same name.
import { Alert, Checkbox, Stack, Text } from '@mantine/core';
import { useState } from 'react';

/** `isFree`: nothing else has the name, or the person allowed it. `warning`: what to show otherwise. */
export function useNameCheck(name: string, others: readonly { id: string; name: string }[] = []) {
  const [allowed, setAllowed] = useState<string | null>(null);
  const same = others.find((other) => other.name === name);
  return {
    isFree: same === undefined || allowed === name,
    warning: same && (
      <Alert color="yellow" role="alert" title="This name is already in use">
        <Stack gap="xs">
          <Text>{same.id} has this name. Commands with this name will match both.</Text>
          <Checkbox
            label="Use the name again"
            checked={allowed === name}
            onChange={({ currentTarget }) => setAllowed(currentTarget.checked ? name : null)}
          />
        </Stack>
      </Alert>
    ),
  };
}

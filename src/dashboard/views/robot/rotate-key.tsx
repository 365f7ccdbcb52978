import { Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Robot } from '../../../protocol/resources.ts';
import { ask, type Reply } from '../../api.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { KeyDialog } from '../robots/key-dialog.tsx';

interface RotateKeyProps {
  robot: Robot;
  onClose: () => void;
}

/** Gives a robot a new key, which is shown once, in the place of the old one. */
export function RotateKey({ robot, onClose }: RotateKeyProps) {
  const queries = useQueryClient();
  const [made, setMade] = useState<Reply<'POST /api/v1/robots/:id/rotate-key'>>();
  if (made) return <KeyDialog robot={robot.name} apiKey={made.api_key} onClose={onClose} />;
  const rotate = async () => {
    const reply = await ask('POST /api/v1/robots/:id/rotate-key', { params: { id: robot.id } });
    // The robot may be read later than its key is shown.
    queries.invalidateQueries({ queryKey: ['robots'] });
    return reply;
  };
  const hasKey = robot.key_hint !== null;
  return (
    <FormDialog
      title={hasKey ? `Rotate the key of ${robot.name}` : `Give ${robot.name} a key`}
      submit={hasKey ? 'Rotate key' : 'Give a key'}
      onSubmit={rotate}
      onDone={setMade}
      onClose={onClose}
    >
      <Text>
        {hasKey
          ? 'The robot gets a new key, and the one that it has ends at once: until the new one is on it, its calls are refused.'
          : 'The robot has no key: its calls are refused until it has the new one.'}
      </Text>
    </FormDialog>
  );
}

// The dialogs that rotate and revoke a robot's key.
import { Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import type { Robot } from '../../../protocol/resources.ts';
import { ask } from '../../api.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { showSecret } from '../../ui/secret-dialog.tsx';

/** Replaces a robot's key by a new one, which is shown once. */
export function RotateKey({ robot, onClose }: { robot: Robot; onClose: () => void }) {
  const queries = useQueryClient();
  const rotate = async () => {
    const params = { id: robot.id };
    const { api_key: value } = await ask('POST /api/v1/robots/:id/rotate-key', { params });
    showSecret(queries, { what: 'key', of: robot.name, value });
  };
  const hasKey = robot.key_hint !== null;
  return (
    <FormDialog
      title={hasKey ? `Rotate the key of ${robot.name}` : `Create a key for ${robot.name}`}
      submit={hasKey ? 'Rotate key' : 'Create a key'}
      onSubmit={rotate}
      onClose={onClose}
    >
      <Text size="md">
        {hasKey
          ? 'The current key stops working immediately. The robot cannot call the service until it has the new key.'
          : 'The robot cannot call the service until it has the new key.'}
      </Text>
    </FormDialog>
  );
}

/** Ends a robot's key, for instance after a leak. The robot's data stays. */
export function RevokeKey({ robot, onClose }: { robot: Robot; onClose: () => void }) {
  return (
    <FormDialog
      title={`Revoke the key of ${robot.name}`}
      submit="Revoke key"
      isDangerous
      onSubmit={() => ask('DELETE /api/v1/robots/:id/key', { params: { id: robot.id } })}
      onClose={onClose}
    >
      <Text size="md">
        The key stops working immediately. The robot cannot call the service until you create a new
        key. Its tasks, proofs and telemetry remain.
      </Text>
    </FormDialog>
  );
}

import { Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import type { Robot } from '../../../protocol/resources.ts';
import { ask } from '../../api.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';

interface RevokeKeyProps {
  robot: Robot;
  onClose: () => void;
}

/** Ends a robot's key, for one that leaked; everything that the robot did stays. */
export function RevokeKey({ robot, onClose }: RevokeKeyProps) {
  const queries = useQueryClient();
  return (
    <FormDialog
      title={`Revoke the key of ${robot.name}`}
      submit="Revoke key"
      isDangerous
      onSubmit={async () => {
        await ask('DELETE /api/v1/robots/:id/key', { params: { id: robot.id } });
        await queries.invalidateQueries({ queryKey: ['robots'] });
      }}
      onDone={onClose}
      onClose={onClose}
    >
      <Text>
        Its key ends at once, and no other takes its place: every call of the robot is refused until
        you give it a new key. Its tasks, proofs and telemetry stay.
      </Text>
    </FormDialog>
  );
}

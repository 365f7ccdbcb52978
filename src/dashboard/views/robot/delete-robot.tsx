import { Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useLocation } from 'wouter';
import type { Robot } from '../../../protocol/resources.ts';
import { ask } from '../../api.ts';
import { ConfirmDeletion } from '../../ui/confirm-deletion.tsx';

interface DeleteRobotProps {
  robot: Robot;
  onClose: () => void;
}

export function DeleteRobot({ robot, onClose }: DeleteRobotProps) {
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  return (
    <ConfirmDeletion
      word={robot.name}
      title={`Delete ${robot.name}`}
      onClose={onClose}
      onDelete={async () => {
        await ask('DELETE /api/v1/robots/:id', { params: { id: robot.id } });
        navigate('/robots');
        queries.removeQueries({ queryKey: ['robots', robot.id] });
        await queries.invalidateQueries();
      }}
    >
      <Text size="sm">
        Its tasks, telemetry and events go with it, and its key ends at once. Proofs that wait to be
        signed are cancelled; those that are signed already are anchored and charged. Its proofs can
        no longer be looked up here, but bundles that were saved stay valid.
      </Text>
    </ConfirmDeletion>
  );
}

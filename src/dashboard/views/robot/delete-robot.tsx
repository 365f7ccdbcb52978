// The dialog that deletes a robot.
import { Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useLocation } from 'wouter';
import type { Robot } from '../../../protocol/resources.ts';
import { ask } from '../../api.ts';
import { ConfirmDeletion } from '../../ui/dialog.tsx';

export function DeleteRobot({ robot, onClose }: { robot: Robot; onClose: () => void }) {
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  return (
    <ConfirmDeletion
      word={robot.name}
      title={`Delete ${robot.name}`}
      onClose={onClose}
      onSubmit={async () => {
        await ask('DELETE /api/v1/robots/:id', { params: { id: robot.id } });
        navigate('/robots');
        queries.removeQueries({ queryKey: ['robots', robot.id] });
      }}
    >
      <Text>
        This deletes its tasks, telemetry and events, and its key stops working immediately. Queued
        proofs are cancelled; signed ones are still anchored and charged. Its proofs can no longer
        be looked up here, but saved bundles stay valid.
      </Text>
    </ConfirmDeletion>
  );
}

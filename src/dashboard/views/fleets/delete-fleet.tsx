import { Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import type { Fleet } from '../../../protocol/fleets.ts';
import { ask } from '../../api.ts';
import { ConfirmDeletion } from '../../ui/confirm-deletion.tsx';

interface DeleteFleetProps {
  fleet: Fleet;
  onClose: () => void;
}

export function DeleteFleet({ fleet, onClose }: DeleteFleetProps) {
  const queries = useQueryClient();
  return (
    <ConfirmDeletion
      word={fleet.name}
      title={`Delete ${fleet.name}`}
      onClose={onClose}
      onDelete={async () => {
        await ask('DELETE /api/v1/fleets/:id', { params: { id: fleet.id } });
        await queries.invalidateQueries();
      }}
    >
      <Text size="sm">
        Its robots stay, with their keys and tasks; they are in no fleet afterwards.
      </Text>
    </ConfirmDeletion>
  );
}

import { Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { ask } from '../../api.ts';
import { ConfirmDeletion } from '../../ui/confirm-deletion.tsx';

interface EraseEvidenceProps {
  taskId: string;
  onClose: () => void;
}

/** Erases what a robot handed in; its hash stays, so that who has kept it can still prove it. */
export function EraseEvidence({ taskId, onClose }: EraseEvidenceProps) {
  const queries = useQueryClient();
  return (
    <ConfirmDeletion
      word="erase"
      title="Erase the evidence"
      submit="Erase for good"
      onClose={onClose}
      onDelete={async () => {
        await ask('DELETE /api/v1/tasks/:id/proof', { params: { id: taskId } });
        await queries.invalidateQueries({ queryKey: ['proof', taskId] });
      }}
    >
      <Text size="sm">
        The service forgets what the robot handed in, for good. The hash, the anchor and the receipt
        stay, and whoever has the evidence in a file can still prove it. Download it first if you
        may need it.
      </Text>
    </ConfirmDeletion>
  );
}

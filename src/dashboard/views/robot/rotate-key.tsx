import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Robot } from '../../../protocol/resources.ts';
import { ask } from '../../api.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { NewKey } from '../robots/new-key.tsx';

interface RotateKeyProps {
  robot: Robot;
  onClose: () => void;
}

/** Gives a robot a new key, which is shown once, in the place of the old one. */
export function RotateKey({ robot, onClose }: RotateKeyProps) {
  const queries = useQueryClient();
  const rotate = useMutation({
    mutationFn: () => ask('POST /api/v1/robots/:id/rotate-key', { params: { id: robot.id } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['robots'] }),
  });
  const made = rotate.data;
  return (
    <Dialog
      onClose={onClose}
      title={made ? `Key of ${robot.name}` : `Rotate the key of ${robot.name}`}
      locked={made !== undefined}
      size="lg"
    >
      {made ? (
        <NewKey apiKey={made.api_key} onClose={onClose} />
      ) : (
        <Stack>
          <Text>
            The robot gets a new key, and the one that it has ends at once: until the new one is on
            it, its calls are refused.
          </Text>
          {rotate.isError && (
            <Alert color="red" role="alert">
              {rotate.error.message}
            </Alert>
          )}
          <Group justify="flex-end">
            <Button variant="default" data-autofocus onClick={onClose}>
              Cancel
            </Button>
            <Button loading={rotate.isPending} onClick={() => rotate.mutate()}>
              Rotate key
            </Button>
          </Group>
        </Stack>
      )}
    </Dialog>
  );
}

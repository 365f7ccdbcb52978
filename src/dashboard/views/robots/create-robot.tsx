import { Alert, Button, Group, Modal, Stack, Textarea, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import type { limits } from '../../../protocol/limits.ts';
import { ask } from '../../api.ts';
import { NewKey } from './new-key.tsx';

const NAME_LENGTH: typeof limits.nameLength = 80;
const DESCRIPTION_LENGTH: typeof limits.descriptionLength = 2000;

interface CreateRobotProps {
  opened: boolean;
  onClose: () => void;
}

/** Registers a robot, then shows its key, once. */
export function CreateRobot({ opened, onClose }: CreateRobotProps) {
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const create = useMutation({
    mutationFn: () =>
      ask('POST /api/v1/robots', {
        body: { name, ...(description !== '' && { description }) },
      }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['robots'] }),
  });
  const finish = () => {
    create.reset();
    setName('');
    setDescription('');
    onClose();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  const made = create.data;
  return (
    <Modal
      opened={opened}
      onClose={finish}
      title={made ? `Key of ${made.robot.name}` : 'Add robot'}
      closeButtonProps={{ 'aria-label': 'Close' }}
      // The key is gone for good with the dialog: nobody may close it by a slip.
      closeOnClickOutside={!made}
      closeOnEscape={!made}
      size="lg"
    >
      {made ? (
        <NewKey apiKey={made.api_key} onClose={finish} />
      ) : (
        <form onSubmit={submit}>
          <Stack>
            <TextInput
              label="Name"
              required
              data-autofocus
              maxLength={NAME_LENGTH}
              value={name}
              onChange={({ currentTarget }) => setName(currentTarget.value)}
            />
            <Textarea
              label="Description"
              maxLength={DESCRIPTION_LENGTH}
              value={description}
              onChange={({ currentTarget }) => setDescription(currentTarget.value)}
            />
            {create.isError && (
              <Alert color="red" role="alert">
                {create.error.message}
              </Alert>
            )}
            <Group justify="flex-end">
              <Button variant="default" onClick={finish}>
                Cancel
              </Button>
              <Button type="submit" loading={create.isPending} disabled={name.trim() === ''}>
                Add robot
              </Button>
            </Group>
          </Stack>
        </form>
      )}
    </Modal>
  );
}

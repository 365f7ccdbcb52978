import { Alert, Button, Group, Stack, Textarea, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import type { Fleet } from '../../../protocol/fleets.ts';
import type { limits } from '../../../protocol/limits.ts';
import { ask } from '../../api.ts';

const NAME_LENGTH: typeof limits.nameLength = 80;
const TEXT_LENGTH: typeof limits.locationLength & typeof limits.shiftLength = 200;
const DESCRIPTION_LENGTH: typeof limits.descriptionLength = 2000;
const TAG_LENGTH: typeof limits.tagLength = 32;
const TAGS: typeof limits.tagsPerFleet = 20;

import { Dialog } from '../../ui/dialog.tsx';

interface FleetFormProps {
  /** Null to make one. */
  fleet: Fleet | null;
  onClose: () => void;
}

export function FleetForm({ fleet, onClose }: FleetFormProps) {
  const queries = useQueryClient();
  const [name, setName] = useState(fleet?.name ?? '');
  const [description, setDescription] = useState(fleet?.description ?? '');
  const [location, setLocation] = useState(fleet?.location ?? '');
  const [shift, setShift] = useState(fleet?.shift ?? '');
  const [tagText, setTagText] = useState(fleet?.tags.join(', ') ?? '');
  const tags = tagsIn(tagText);
  const tagFault = faultOf(tags);
  const save = useMutation({
    mutationFn: () => {
      const texts = { description, location, shift };
      if (fleet === null) {
        const given = Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ''));
        return ask('POST /api/v1/fleets', { body: { name, tags, ...given } });
      }
      const emptied = Object.fromEntries(
        Object.entries(texts).map(([field, text]) => [field, text || null]),
      );
      return ask('PATCH /api/v1/fleets/:id', {
        params: { id: fleet.id },
        body: { name, tags, ...emptied },
      });
    },
    async onSuccess() {
      await queries.invalidateQueries({ queryKey: ['fleets'] });
      onClose();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <Dialog onClose={onClose} title={fleet === null ? 'Add fleet' : `Edit ${fleet.name}`}>
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
          <Group grow align="flex-start">
            <TextInput
              label="Location"
              maxLength={TEXT_LENGTH}
              value={location}
              onChange={({ currentTarget }) => setLocation(currentTarget.value)}
            />
            <TextInput
              label="Shift"
              placeholder="06:00–14:00"
              maxLength={TEXT_LENGTH}
              value={shift}
              onChange={({ currentTarget }) => setShift(currentTarget.value)}
            />
          </Group>
          <TextInput
            label="Tags"
            description="Separated by commas"
            value={tagText}
            error={tagFault}
            onChange={({ currentTarget }) => setTagText(currentTarget.value)}
          />
          <Textarea
            label="Description"
            maxLength={DESCRIPTION_LENGTH}
            value={description}
            onChange={({ currentTarget }) => setDescription(currentTarget.value)}
          />
          {save.isError && (
            <Alert color="red" role="alert">
              {save.error.message}
            </Alert>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button
              type="submit"
              loading={save.isPending}
              disabled={name.trim() === '' || tagFault !== null}
            >
              {fleet === null ? 'Add fleet' : 'Save'}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}

function tagsIn(text: string): string[] {
  const tags = text.split(',').map((tag) => tag.trim());
  return [...new Set(tags.filter((tag) => tag !== ''))];
}

function faultOf(tags: string[]): string | null {
  if (tags.length > TAGS) return `At most ${TAGS} tags`;
  if (tags.some((tag) => [...tag].length > TAG_LENGTH))
    return `At most ${TAG_LENGTH} characters each`;
  return null;
}

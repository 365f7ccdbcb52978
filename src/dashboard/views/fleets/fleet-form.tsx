// The form that creates or changes a fleet.
import { Group } from '@mantine/core';
import { useState } from 'react';
import type { Fleet } from '../../../protocol/fleets.ts';
import type { limits } from '../../../protocol/limits.ts';
import { ask } from '../../api.ts';
import { DescriptionField } from '../../ui/description-field.tsx';
import { FormDialog } from '../../ui/dialog.tsx';
import { changesOf, NameField, TextField, useField } from '../../ui/fields.tsx';

const TEXT_LENGTH: typeof limits.locationLength & typeof limits.shiftLength = 200;
const TAG_LENGTH: typeof limits.tagLength = 32;
const TAGS: typeof limits.tagsPerFleet = 20;

interface FleetFormProps {
  /** None for a new fleet. */
  fleet?: Fleet;
  onClose: () => void;
}

export function FleetForm({ fleet: current, onClose }: FleetFormProps) {
  // As the fields began: the stream may change the fleet meanwhile.
  const [fleet] = useState(current);
  const [name, nameField] = useField(fleet?.name);
  const [description, descriptionField] = useField(fleet?.description ?? '');
  const [location, locationField] = useField(fleet?.location ?? '');
  const [shift, shiftField] = useField(fleet?.shift ?? '');
  const [tagText, tagField] = useField(fleet?.tags.join(', '));
  const tags = tagsIn(tagText);
  const tagError = errorOf(tags);
  const save = async () => {
    const texts = Object.entries({ description, location, shift });
    if (fleet === undefined) {
      const given = Object.fromEntries(texts.filter(([, text]) => text !== ''));
      await ask('POST /api/v1/fleets', { body: { name, tags, ...given } });
    } else {
      // An empty text clears the field.
      const given = Object.fromEntries(texts.map(([field, text]) => [field, text || null]));
      const body = changesOf<object>(fleet, { name, tags, ...given });
      if (Object.keys(body).length === 0) return;
      await ask('PATCH /api/v1/fleets/:id', { params: { id: fleet.id }, body });
    }
  };
  return (
    <FormDialog
      title={fleet === undefined ? 'Add fleet' : `Edit ${fleet.name}`}
      submit={fleet === undefined ? 'Add fleet' : 'Save'}
      canSubmit={name.trim() !== '' && tagError === null}
      onSubmit={save}
      onClose={onClose}
    >
      <NameField {...nameField} />
      <Group grow align="flex-start">
        <TextField label="Location" maxLength={TEXT_LENGTH} {...locationField} />
        <TextField
          label="Shift"
          placeholder="06:00–14:00"
          maxLength={TEXT_LENGTH}
          {...shiftField}
        />
      </Group>
      <TextField label="Tags" description="Separated by commas" error={tagError} {...tagField} />
      <DescriptionField {...descriptionField} />
    </FormDialog>
  );
}

function tagsIn(text: string): string[] {
  const tags = text.split(',').map((tag) => tag.trim());
  return [...new Set(tags.filter((tag) => tag !== ''))];
}

function errorOf(tags: string[]): string | null {
  if (tags.length > TAGS) return `At most ${TAGS} tags`;
  if (tags.some((tag) => [...tag].length > TAG_LENGTH))
    return `At most ${TAG_LENGTH} characters each`;
  return null;
}

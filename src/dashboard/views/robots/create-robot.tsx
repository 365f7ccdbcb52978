import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ask, type Reply } from '../../api.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { DescriptionField, NameField } from '../../ui/text-fields.tsx';
import { KeyDialog } from './key-dialog.tsx';

/** Registers a robot, then shows its key, once. */
export function CreateRobot({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const [made, setMade] = useState<Reply<'POST /api/v1/robots'>>();
  if (made) {
    return <KeyDialog robot={made.robot.name} apiKey={made.api_key} onClose={onClose} />;
  }
  const create = async () => {
    const body = { name, ...(description !== '' && { description }) };
    const reply = await ask('POST /api/v1/robots', { body });
    // The list may come later than the key.
    queries.invalidateQueries({ queryKey: ['robots'] });
    return reply;
  };
  return (
    <FormDialog
      title="Add robot"
      submit="Add robot"
      canSubmit={name.trim() !== ''}
      onSubmit={create}
      onDone={setMade}
      onClose={onClose}
    >
      <NameField value={name} onChange={setName} />
      <DescriptionField value={description} onChange={setDescription} />
    </FormDialog>
  );
}

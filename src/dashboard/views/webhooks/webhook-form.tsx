// The form that creates or changes a webhook.
import { Checkbox } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Webhook } from '../../../protocol/webhooks.ts';
import { ask } from '../../api.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { changesOf, TextField, useField } from '../../ui/fields.tsx';
import { showSecret } from '../../ui/secret-dialog.tsx';

/** What a webhook can subscribe to. */
const labels: Record<Webhook['events'][number], string> = {
  'task.verified': 'Task verified',
  'task.failed': 'Task failed',
  'task.refused': 'Task refused for lack of credit',
  'event.created': 'Event reported',
  'alert.opened': 'Alert opened',
  'alert.closed': 'Alert closed',
};

interface WebhookFormProps {
  /** None for a new webhook. */
  webhook?: Webhook;
  onClose: () => void;
}

export function WebhookForm({ webhook: current, onClose }: WebhookFormProps) {
  // As the fields began: the stream may change the webhook meanwhile.
  const [webhook] = useState(current);
  const queries = useQueryClient();
  const [url, urlField] = useField(webhook?.url ?? 'https://');
  const [events, setEvents] = useState<string[]>(webhook?.events ?? ['alert.opened']);
  const save = async () => {
    const body = { url, events: events as Webhook['events'] };
    if (webhook === undefined) {
      const { secret: value } = await ask('POST /api/v1/webhooks', { body });
      showSecret(queries, { what: 'secret', of: url, value });
    } else {
      const changes = changesOf<typeof body>(webhook, body);
      if (Object.keys(changes).length === 0) return;
      await ask('PATCH /api/v1/webhooks/:id', { params: { id: webhook.id }, body: changes });
    }
  };
  return (
    <FormDialog
      title={webhook === undefined ? 'Create webhook' : 'Edit webhook'}
      submit={webhook === undefined ? 'Create webhook' : 'Save'}
      canSubmit={URL.canParse(url) && events.length > 0}
      onSubmit={save}
      onClose={onClose}
    >
      <TextField
        label="URL"
        description="A public https address that accepts POST"
        type="url"
        required
        data-autofocus
        {...urlField}
      />
      <Checkbox.Group label="Messages" value={events} onChange={setEvents}>
        {Object.entries(labels).map(([type, label]) => (
          <Checkbox key={type} mt="xs" value={type} label={label} />
        ))}
      </Checkbox.Group>
    </FormDialog>
  );
}

// A webhook: its state, what can be done with it, and its messages of the last 7 days.
import { Button, Group, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Webhook, WebhookDelivery } from '../../../protocol/webhooks.ts';
import { ask } from '../../api.ts';
import { PagedList } from '../../lists/paged-list.tsx';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Card } from '../../ui/card.tsx';
import { ConfirmDeletion, FormDialog } from '../../ui/dialog.tsx';
import { showSecret } from '../../ui/secret-dialog.tsx';
import { Empty, Problem } from '../../ui/states.tsx';
import { Ago } from '../../ui/time.tsx';
import { counted } from '../../ui/values.tsx';
import { WebhookForm } from './webhook-form.tsx';

const reasons = {
  owner: 'disabled',
  failures: 'disabled after 3 days of failures',
  backlog: 'disabled: too many messages waited',
};

interface Action {
  run: () => Promise<unknown>;
  /** What the page says after it. */
  done?: string;
}

export function WebhookCard({ webhook }: { webhook: Webhook }) {
  const { id, url, events, disabled_for, disabled_at, failing_since } = webhook;
  const queries = useQueryClient();
  const [dialog, setDialog] = useState<'edit' | 'rotate' | 'delete' | null>(null);
  const params = { id };
  const host = URL.canParse(url) ? new URL(url).host : url;
  const act = useMutation({
    mutationFn: ({ run }: Action) => run(),
    // Also the messages of which older ones are shown.
    onSettled: () => queries.invalidateQueries({ queryKey: ['webhooks', id] }),
  });
  const test: Action = {
    run: () => ask('POST /api/v1/webhooks/:id/test', { params }),
    done: `The test is on its way to ${host}. The list shows the answer.`,
  };
  const enabled = disabled_at !== null;
  const toggle = () => ask('PATCH /api/v1/webhooks/:id', { params, body: { enabled } });
  const replay = (message: string): Action => ({
    run: () => ask('POST /api/v1/webhook-deliveries/:id/replay', { params: { id: message } }),
    done: `The message is on its way to ${host} again. The list shows the answer.`,
  });
  const close = () => setDialog(null);
  const button = (label: string, onClick: () => void) => (
    <Button size="xs" aria-label={`${label}: ${host}`} onClick={onClick}>
      {label}
    </Button>
  );
  return (
    <Card
      title={url}
      actions={
        <Group gap="xs">
          {disabled_at === null && button('Send test', () => act.mutate(test))}
          {button(disabled_at === null ? 'Disable' : 'Enable', () => act.mutate({ run: toggle }))}
          {button('Edit', () => setDialog('edit'))}
          {button('Rotate secret', () => setDialog('rotate'))}
          {button('Delete', () => setDialog('delete'))}
        </Group>
      }
    >
      <div className="chips">
        {disabled_for !== null && <Badge tone="bad">{reasons[disabled_for]}</Badge>}
        {disabled_for === null && failing_since === null && <Badge tone="good">enabled</Badge>}
        {failing_since !== null && (
          <span className="danger">
            failing, first <Ago at={failing_since} />
          </span>
        )}
        {events.map((type) => (
          <Badge key={type} tone="plain">
            {type}
          </Badge>
        ))}
      </div>
      <Problem of={act} mt="sm" />
      <Text role="status" mt="xs">
        {act.isSuccess && act.variables.done}
      </Text>
      <Deliveries webhookId={id} host={host} onReplay={(message) => act.mutate(replay(message))} />
      {dialog === 'edit' && <WebhookForm webhook={webhook} onClose={close} />}
      {dialog === 'rotate' && (
        <FormDialog
          title={`Rotate the secret of ${host}`}
          submit="Rotate secret"
          onSubmit={async () => {
            const reply = await ask('POST /api/v1/webhooks/:id/rotate-secret', { params });
            showSecret(queries, { what: 'secret', of: url, value: reply.secret });
          }}
          onClose={close}
        >
          <Text size="md">
            For 24 hours, messages have signatures of the old and the new secret.
          </Text>
        </FormDialog>
      )}
      {dialog === 'delete' && (
        <ConfirmDeletion
          word={host}
          title="Delete webhook"
          onSubmit={() => ask('DELETE /api/v1/webhooks/:id', { params })}
          onClose={close}
        >
          Messages that wait are not sent any more.
        </ConfirmDeletion>
      )}
    </Card>
  );
}

const tones: Record<WebhookDelivery['state'], Tone> = {
  pending: 'busy',
  delivered: 'good',
  abandoned: 'plain',
};

interface DeliveriesProps {
  webhookId: string;
  host: string;
  onReplay: (message: string) => void;
}

function Deliveries({ webhookId, host, onReplay }: DeliveriesProps) {
  return (
    <PagedList
      what={`messages to ${host}`}
      isPart
      queryKey={['webhooks', webhookId]}
      read={(query, signal) =>
        ask('GET /api/v1/webhooks/:id/deliveries', { params: { id: webhookId }, query, signal })
      }
      empty={<Empty title="No messages in the last 7 days" />}
      columns={[
        {
          title: 'Message',
          cell: ({ type, created_at }) => (
            <>
              {type}
              <div className="dash">
                <Ago at={created_at} />
              </div>
            </>
          ),
        },
        {
          title: 'State',
          width: '6.5rem',
          cell: ({ state }) => <Badge tone={tones[state]}>{state}</Badge>,
        },
        {
          title: 'Last answer',
          isWide: true,
          cell: ({ last_status, last_error, attempts }) =>
            [
              last_status !== null && `HTTP ${last_status}`,
              last_error,
              counted(attempts, 'attempt'),
            ]
              .filter(Boolean)
              .join(', '),
        },
        {
          title: 'Action',
          width: '5.5rem',
          cell: ({ id, type }) => (
            <Button size="compact-xs" aria-label={`Replay ${type}`} onClick={() => onReplay(id)}>
              Replay
            </Button>
          ),
        },
      ]}
    />
  );
}

// Webhooks: list, creation, and the messages of each.
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { reading } from '../queries.ts';
import { Page } from '../ui/page.tsx';
import { Empty, Loaded } from '../ui/states.tsx';
import { Freshness } from '../ui/time.tsx';
import { WebhookCard } from './webhooks/webhook-card.tsx';
import { WebhookForm } from './webhooks/webhook-form.tsx';

export default function Webhooks() {
  const [isCreating, setIsCreating] = useState(false);
  const query = { limit: '50' };
  const webhooks = useQuery(reading(['webhooks'], 'GET /api/v1/webhooks', { query }));
  return (
    <Page
      title="Webhooks"
      lead={<Freshness query={webhooks} />}
      actions={
        <Button variant="filled" onClick={() => setIsCreating(true)}>
          Create webhook
        </Button>
      }
    >
      <Loaded query={webhooks} what="webhooks">
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="No webhooks">
              A webhook sends signed messages about tasks, events and alerts to your server.
            </Empty>
          ) : (
            items.map((webhook) => <WebhookCard key={webhook.id} webhook={webhook} />)
          )
        }
      </Loaded>
      {isCreating && <WebhookForm webhook={null} onClose={() => setIsCreating(false)} />}
    </Page>
  );
}

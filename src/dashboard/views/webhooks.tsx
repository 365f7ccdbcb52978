// Webhooks: list, creation, and the messages of each.
import { useQuery } from '@tanstack/react-query';
import { reading } from '../queries.ts';
import { DialogButton } from '../ui/dialog-button.tsx';
import { Page } from '../ui/page.tsx';
import { Empty, Loaded } from '../ui/states.tsx';
import { Freshness } from '../ui/time.tsx';
import { WebhookCard } from './webhooks/webhook-card.tsx';
import { WebhookForm } from './webhooks/webhook-form.tsx';

export default function Webhooks() {
  const query = { limit: '50' };
  const webhooks = useQuery(reading(['webhooks'], 'GET /api/v1/webhooks', { query }));
  return (
    <Page
      title="Webhooks"
      lead={<Freshness query={webhooks} />}
      actions={<DialogButton label="Create webhook" dialog={WebhookForm} />}
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
    </Page>
  );
}

// Fleets: list, order, form and deletion.
import { Button, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Fleet } from '../../protocol/fleets.ts';
import { ask } from '../api.ts';
import { fleetsQuery } from '../queries.ts';
import { ConfirmDeletion } from '../ui/dialog.tsx';
import { FirstCall } from '../ui/first-call.tsx';
import { Page } from '../ui/page.tsx';
import { Empty, Loaded, Problem } from '../ui/states.tsx';
import { Freshness } from '../ui/time.tsx';
import { FleetForm } from './fleets/fleet-form.tsx';
import { FleetRows } from './fleets/fleet-rows.tsx';

type Dialog = { form: Fleet | null } | { deletion: Fleet };

export default function Fleets() {
  const queries = useQueryClient();
  const fleets = useQuery(fleetsQuery);
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const close = () => setDialog(null);
  const reorder = useMutation({
    mutationFn: (order: Fleet[]) =>
      ask('POST /api/v1/fleets/reorder', { body: { order: order.map(({ id }) => id) } }),
    async onMutate(order) {
      await queries.cancelQueries({ queryKey: fleetsQuery.queryKey });
      queries.setQueryData(fleetsQuery.queryKey, order);
    },
  });
  return (
    <Page
      title="Fleets"
      lead={<Freshness query={fleets} />}
      actions={
        <Button variant="filled" onClick={() => setDialog({ form: null })}>
          Add fleet
        </Button>
      }
    >
      <Problem of={reorder} title="Could not save the order" />
      <Loaded query={fleets} what="fleets">
        {(items) =>
          items.length === 0 ? (
            <Empty title="No fleets yet">
              Group robots by location, shift or work, and filter the overview by fleet.
              <FirstCall call="POST /api/v1/fleets" body={{ name: 'Hall 1' }} by="SVC_TOKEN" />
            </Empty>
          ) : (
            <FleetRows
              fleets={items}
              onReorder={(order) => reorder.mutate(order)}
              onEdit={(fleet) => setDialog({ form: fleet })}
              onDelete={(fleet) => setDialog({ deletion: fleet })}
            />
          )
        }
      </Loaded>
      {dialog && 'form' in dialog && <FleetForm fleet={dialog.form} onClose={close} />}
      {dialog && 'deletion' in dialog && <DeleteFleet fleet={dialog.deletion} onClose={close} />}
    </Page>
  );
}

function DeleteFleet({ fleet, onClose }: { fleet: Fleet; onClose: () => void }) {
  return (
    <ConfirmDeletion
      word={fleet.name}
      title={`Delete ${fleet.name}`}
      onClose={onClose}
      onSubmit={() => ask('DELETE /api/v1/fleets/:id', { params: { id: fleet.id } })}
    >
      <Text>Its robots become ungrouped. They keep their keys and tasks.</Text>
    </ConfirmDeletion>
  );
}
